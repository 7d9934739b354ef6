"""Weights are drawn by the number of inputs that a unit really has, so that deep sparse networks start alive."""

import itertools

import numpy as np
import pytest
import torch

import weft

from .cases import EXECUTIONS, OPTIONS, STRUCTURES, network, pairs, read_all

CHAIN = weft.graph.chain(400)
TORCH = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh}


def spread(net):
    """Return the root mean square, over outputs, of the deviation over 200 normal inputs."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(200, 400, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        return net(x).std(dim=0).square().mean().sqrt().item()


def dense_spread(hidden, activation, seed):
    """Return the spread of a plain network of torch."""
    torch.manual_seed(seed)
    sizes = [400, *hidden, 400]
    layers = []
    for below, above in itertools.pairwise(sizes):
        layers += [torch.nn.Linear(below, above, dtype=torch.float64), TORCH[activation]()]
    return spread(torch.nn.Sequential(*layers[:-1]))


def scale_to_width(net):
    """Make the weights what they would be if they were drawn by the width of the layer below."""
    for mask, layer in zip(net.expanded_masks(), net.layers, strict=True):
        fan_in = np.diff(mask.indptr)
        scale = np.sqrt(np.repeat(fan_in, fan_in) / mask.shape[1])
        weights, bias = layer.read()
        layer.write(weights * torch.from_numpy(scale), bias)


@pytest.mark.parametrize("activation", TORCH)
@pytest.mark.parametrize("hidden", [(800,), (800, 800), (400, 1200, 800), (800,) * 4], ids=str)
@pytest.mark.parametrize("method", ["greedy", "grouped", "zuko"])
def test_a_long_chain_starts_as_wide_as_a_dense_network(method, hidden, activation):
    """Within a factor of 3 for each of four seeds; drawn by the width, outputs would differ by 5 per layer and more."""
    factorization = weft.factorize(CHAIN, hidden, method)
    for seed in range(4):
        torch.manual_seed(seed)
        net = weft.StrNN(CHAIN, factorization=factorization, activation=activation, dtype=torch.float64)
        expected = dense_spread(hidden, activation, seed)
        assert expected / 3 < spread(net) < expected * 3
        scale_to_width(net)
        assert spread(net) < expected / 5 ** len(hidden)


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize(("method", "name"), pairs(STRUCTURES))
def test_every_weight_is_within_the_bound_of_its_unit(method, name, execution):
    net = network(method, name, execution=execution)
    for mask, layer in zip(net.expanded_masks(), net.layers, strict=True):
        fan_in = np.diff(mask.indptr)
        weights, bias = (piece.detach().numpy() for piece in layer.read())
        bounds = np.where(fan_in > 0, 1 / np.sqrt(np.maximum(fan_in, 1)), 0.0)
        assert np.all(np.abs(weights) <= np.repeat(bounds, fan_in))
        assert np.all(np.abs(bias) <= bounds)
        assert np.all((bias == 0) == (fan_in == 0))
        assert np.all(weights != 0)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_weights_fill_their_bounds_evenly(execution):
    """Of n uniform draws the mean is within 5/sqrt(3n) of 0, and that of squares within 5 sqrt(4/45n) of 1/3."""
    net = network("greedy", execution=execution, inputs=40, outputs=40)
    for mask, layer in zip(net.expanded_masks(), net.layers, strict=True):
        fan_in = np.diff(mask.indptr)
        weights, bias = (piece.detach().numpy() for piece in layer.read())
        scaled = weights * np.sqrt(np.repeat(fan_in, fan_in))
        shifts = (bias * np.sqrt(fan_in))[fan_in > 0]
        for drawn in (scaled, shifts):
            assert abs(drawn.mean()) < 5 / np.sqrt(3 * len(drawn))
            assert abs((drawn**2).mean() - 1 / 3) < 5 * np.sqrt(4 / 45 / len(drawn))
            assert len(np.unique(drawn)) == len(drawn)


def test_a_context_and_several_inputs_count():
    net = weft.StrNN([[1, 1]], (4,), inputs=[3, 2], context=4, execution="dense")
    assert [np.diff(mask.indptr).tolist() for mask in net.expanded_masks()] == [[9] * 4, [4]]
    torch.manual_seed(0)
    drawn = []
    for _ in range(50):
        net.reset_parameters()
        drawn.append(net.layers[0].weight.abs().max().item())
    assert 0.95 / 3 < max(drawn) <= 1 / 3


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_reset_is_reproducible(execution, options):
    net = network("greedy", execution=execution, seed=3, **options)
    first = [piece.detach().clone() for piece in read_all(net)]
    net.reset_parameters()
    assert not all(torch.equal(a, b) for a, b in zip(first, read_all(net), strict=True))
    identities = [id(parameter) for parameter in net.parameters()]
    torch.manual_seed(3)
    net.reset_parameters()
    assert all(torch.equal(a, b) for a, b in zip(first, read_all(net), strict=True))
    assert [id(parameter) for parameter in net.parameters()] == identities
    assert all(parameter.requires_grad and parameter.grad is None for parameter in net.parameters())


def test_reset_leaves_what_the_activation_learned():
    net = network("greedy", activation="prelu")
    with torch.no_grad():
        net.activations[0].weight.fill_(0.7)
    net.reset_parameters()
    assert [module.weight.item() for module in net.activations] == [0.7, 0.25]
