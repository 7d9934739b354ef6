"""Dense and sparse execution are one function, and the cheaper one is chosen by the rule that is stated."""

import copy
import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.nn import _cost, cheaper_execution
from weft.nn._layers import BlockLinear, MaskedLinear

from .cases import (
    DEVICES,
    DTYPES,
    EXECUTIONS,
    OPTIONS,
    STRUCTURES,
    inputs_of,
    network,
    pairs,
    read_all,
    rolled_network,
)

OTHER = {"dense": "sparse", "sparse": "dense"}
KIND = {"dense": MaskedLinear, "sparse": BlockLinear}
ROUNDING = {torch.float32: {"rtol": 1e-4, "atol": 1e-5}, torch.float64: {"rtol": 1e-12, "atol": 1e-13}}


def everything_of(net, inputs):
    """Return the outputs, and the gradients of a weighted sum of them: by inputs and, in CSR order, by parameters."""
    inputs = [x.detach().clone().requires_grad_() for x in inputs]
    y = net(*inputs)
    own = dict(net.named_parameters())
    wanted = [*inputs, *own.values()]
    found = torch.autograd.grad((y * weights_like(y)).sum(), wanted, allow_unused=True, materialize_grads=True)
    holder = copy.deepcopy(net)
    gradients = dict(zip(own, found[len(inputs) :], strict=True))
    holder.load_state_dict(gradients, strict=False)
    return [y.detach(), *found[: len(inputs)], *(piece.detach() for piece in read_all(holder))]


def weights_like(y):
    """Draw the same weights for the outputs of both executions, so that no gradient is a plain sum."""
    return torch.randn(y.shape, generator=torch.Generator().manual_seed(7), dtype=torch.float64).to(y)


def assert_same_function(one, other, rows=5):
    dtype = one.layers[0].weight.dtype
    inputs = inputs_of(one, rows)
    pieces = (everything_of(net, inputs) for net in (one, other))
    for mine, its in zip(*pieces, strict=True):
        assert mine.dtype == its.dtype == dtype
        torch.testing.assert_close(mine, its, **ROUNDING[dtype])


def assert_converts(net):
    """Check that a network, its conversion and the way back are one function, and that conversion only rearranges."""
    there = net.to_execution(OTHER[net.execution])
    back = there.to_execution(net.execution)
    assert (there.execution, back.execution) == (OTHER[net.execution], net.execution)
    for made in (net, there, back):
        assert {type(layer) for layer in made.layers} == {KIND[made.execution]}
        assert all(torch.equal(a, b) for a, b in zip(read_all(net), read_all(made), strict=True))
    assert_same_function(net, there)
    assert_same_function(net, back)


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize(("method", "name"), pairs(STRUCTURES))
def test_every_structure(method, name, execution):
    assert_converts(network(method, name, execution=execution, activation="tanh"))


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_every_structure_with_everything_at_once(name, execution):
    assert_converts(network("greedy", name, execution=execution, activation="prelu", **OPTIONS["all"]))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("method", ["greedy", "grouped", "exact", "zuko"])
def test_every_option(method, execution, options):
    assert_converts(network(method, execution=execution, activation="silu", **options))


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_residual_that_not_every_unit_has(execution):
    assert_converts(rolled_network(execution, activation="silu"))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("hidden", [(), (11,), (24, 17, 30, 24)])
def test_any_depth_dtype_and_device(hidden, dtype, device):
    torch.manual_seed(0)
    net = weft.StrNN(STRUCTURES["random DAG"], hidden, execution="dense", dtype=dtype, device=device)
    assert_converts(net)
    assert all(p.device.type == device and p.dtype == dtype for p in net.to_execution("sparse").parameters())


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_any_matrix(data):
    rows, columns = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 6))
    cells = data.draw(st.lists(st.booleans(), min_size=rows * columns, max_size=rows * columns))
    torch.manual_seed(0)
    assert_converts(
        weft.StrNN(
            np.array(cells, dtype=bool).reshape(rows, columns),
            "auto",
            factorization=data.draw(st.sampled_from(["greedy", "grouped", "zuko"])),
            execution=data.draw(st.sampled_from(EXECUTIONS)),
            activation="elu",
            inputs=data.draw(st.integers(1, 2)),
            outputs=data.draw(st.integers(1, 2)),
            context=data.draw(st.integers(0, 2)),
            residual=data.draw(st.booleans()),
            bias=data.draw(st.booleans()),
            dtype=torch.float64,
        )
    )


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_conversion_keeps_what_training_made(execution):
    net = network("greedy", execution=execution, activation="prelu", bias=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    (x,) = inputs_of(net, 16)
    for _ in range(5):
        optimizer.zero_grad()
        (net(x) - x.sum(dim=1, keepdim=True)).square().mean().backward()
        optimizer.step()
    assert all(module.weight.item() != 0.25 for module in net.activations)
    assert_converts(net)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_conversion_is_a_copy(execution):
    net = network("greedy", execution=execution, activation="prelu")
    (x,) = inputs_of(net, 4)
    before = net(x).detach()
    for made in (net.to_execution(execution), net.to_execution(OTHER[execution])):
        with torch.no_grad():
            for parameter in made.parameters():
                parameter.add_(1.0)
        assert not torch.allclose(made(x), before)
        assert torch.equal(net(x), before)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_conversion_keeps_modes_and_what_is_frozen(execution):
    net = network("greedy", execution=execution, activation="prelu")
    net.layers[0].weight.requires_grad_(False)
    net.layers[1].bias.requires_grad_(False)
    net.activations[0].weight.requires_grad_(False)
    frozen = {name for name, parameter in net.named_parameters() if not parameter.requires_grad}
    assert frozen == {"layers.0.weight", "layers.1.bias", "activations.0.weight"}
    for training in (True, False):
        there = net.train(training).to_execution(OTHER[execution])
        assert {module.training for module in there.modules()} == {training}
        assert {name for name, parameter in there.named_parameters() if not parameter.requires_grad} == frozen


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_conversion_keeps_what_the_network_is(options):
    net = network("greedy", execution="dense", **options)
    there = net.to_execution("sparse")
    assert there.structure is net.structure
    assert there.factorization is net.factorization
    for what in ("context", "output_sizes", "input_sizes", "hidden", "residual"):
        assert getattr(there, what) == getattr(net, what)
    assert there(*inputs_of(net, 3)).shape == net(*inputs_of(net, 3)).shape
    assert [piece.shape for piece in there.split(there(*inputs_of(net, 3)))] == [
        piece.shape for piece in net.split(net(*inputs_of(net, 3)))
    ]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_one_seed_gives_one_function(options):
    dense, sparse, other = (
        network("greedy", execution=execution, seed=seed, activation="tanh", **options)
        for execution, seed in [("dense", 3), ("sparse", 3), ("sparse", 4)]
    )
    assert all(torch.equal(a, b) for a, b in zip(read_all(dense), read_all(sparse), strict=True))
    assert_same_function(dense, sparse)
    assert not torch.allclose(sparse(*inputs_of(sparse, 4)), other(*inputs_of(sparse, 4)))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("method", ["greedy", "grouped", "zuko"])
def test_sparse_stores_exactly_what_the_masks_keep(method, options):
    dense, sparse = (network(method, execution=execution, **options) for execution in EXECUTIONS)
    kept = [int(mask.sum()) for mask in sparse.factorization.masks]
    masks = sparse.expanded_masks()
    if not {"inputs", "outputs", "context"} & options.keys():
        assert [mask.nnz for mask in masks] == kept
    biases = sum(mask.shape[0] for mask in masks) if options.get("bias", True) else 0
    assert [layer.weight.shape for layer in sparse.layers] == [(mask.nnz,) for mask in masks]
    assert sum(p.numel() for p in sparse.parameters()) == sum(mask.nnz for mask in masks) + biases
    assert [layer.weight.shape for layer in dense.layers] == [mask.shape for mask in masks]


def test_expanded_masks_repeat_rows_and_columns():
    net = weft.StrNN([[1, 0], [1, 1]], (4,), inputs=[2, 1], outputs=[1, 3], context=2, execution="sparse")
    first, last = (mask.toarray().astype(int) for mask in net.expanded_masks())
    plain = weft.StrNN([[1, 0], [1, 1]], (4,), context=1, factorization=net.factorization).expanded_masks()
    np.testing.assert_array_equal(first, plain[0].toarray()[:, [0, 0, 1, 2, 2]])
    np.testing.assert_array_equal(last, plain[1].toarray()[[0, 1, 1, 1]])


def test_dense_gradients_stay_off_the_mask():
    net = network("greedy", execution="dense", activation="tanh")
    net(*inputs_of(net, 8)).square().sum().backward()
    for layer in net.layers:
        assert bool((layer.weight.grad[~layer.mask] == 0).all())
        assert bool((layer.weight[~layer.mask] == 0).all())


@pytest.mark.parametrize(
    ("structure", "hidden", "expected"),
    [
        (weft.graph.full(5), (128, 128), "dense"),
        (weft.graph.full(60), (256, 256), "dense"),
        (weft.graph.chain(4), (32, 32), "dense"),
        (weft.graph.chain(1), (4,), "sparse"),
        (weft.graph.chain(0), (4,), "dense"),
        (weft.graph.chain(500), (1000, 1000), "sparse"),
        (weft.graph.random_dag(400, parents=3.0, seed=0), (2000, 2000), "sparse"),
    ],
    ids=["full", "wide full", "short chain", "one node", "no nodes", "long chain", "random DAG"],
)
def test_auto_picks_the_cheaper(structure, hidden, expected):
    net = weft.StrNN(structure, hidden)
    assert net.execution == expected == cheaper_execution(net.expanded_masks())
    assert {type(layer) for layer in net.layers} == {KIND[expected]}


def test_auto_goes_by_the_device():
    masks = weft.factorize(weft.graph.chain(500), widths=(1000, 1000)).masks_sparse
    picked = {kind: cheaper_execution(masks, kind) for kind in ("cpu", "cuda", "meta", torch.device("cuda", 0))}
    assert picked["cpu"] == "sparse"
    # Starting a few batched products costs more on CUDA than the two million multiply-adds of dense execution.
    assert picked["cuda"] == picked["meta"] == picked[torch.device("cuda", 0)] == "dense"
    wide = weft.factorize(weft.graph.chain(4000), widths=(8000, 8000)).masks_sparse
    assert cheaper_execution(wide, "cuda") == "sparse"
    with torch.device("meta"):
        assert cheaper_execution(masks) == "dense"
        assert weft.StrNN(weft.graph.chain(500), (1000, 1000)).execution == "dense"


def cost_as_stated(mask, gathered, product):
    """Count what sparse execution of a mask pays, from its rows alone."""
    rows = [tuple(np.flatnonzero(row)) for row in mask.toarray()]
    blocks = {row: rows.count(row) for row in rows if row}
    shapes = {(len(row), units) for row, units in blocks.items()}
    return sum(map(len, rows)) + gathered * sum(map(len, blocks)) + product * len(shapes)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_rule_is_the_one_stated(device):
    stated = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", cheaper_execution.__doc__)[:3]]
    assert stated == [_cost.GATHERED_ROW, _cost.PRODUCT["cpu"], _cost.PRODUCT["cuda"]]
    product = _cost.PRODUCT[device]
    seen = set()
    for size, parents, seed in [
        (20, 1.0, 0),
        (60, 1.0, 1),
        (200, 0.5, 2),
        (300, 2.0, 3),
        (1500, 0.0, 4),
        (700, 0.2, 5),
    ]:
        masks = weft.factorize(weft.graph.random_dag(size, parents=parents, seed=seed), widths="auto").masks_sparse
        sparse = sum(cost_as_stated(mask, _cost.GATHERED_ROW, product) for mask in masks)
        dense = sum(mask.shape[0] * mask.shape[1] for mask in masks)
        assert cheaper_execution(masks, device) == ("sparse" if sparse < dense else "dense")
        assert sum(_cost._sparse_cost(mask, product) for mask in masks) == sparse
        seen.add(cheaper_execution(masks, device))
    assert seen == {"dense", "sparse"}
