"""`split` gives each variable its outputs, and every shape is what `forward` promises."""

import pytest
import torch

import weft

from .cases import EXECUTIONS, GRAPHS, inputs_of, network

SIZES = [1, 3, 2, 1, 2, 1, 1, 2, 4]


@pytest.mark.parametrize("lead", [(), (5,), (2, 3), (0,)], ids=str)
@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize(
    ("outputs", "shape", "sizes"),
    [
        (1, (9,), [1] * 9),
        (3, (9, 3), [3] * 9),
        (SIZES, (17,), SIZES),
        ([1] * 9, (9,), [1] * 9),
        ([2] * 9, (18,), [2] * 9),
    ],
    ids=["one", "several", "list", "list of ones", "list of twos"],
)
def test_shapes(outputs, shape, sizes, execution, lead):
    net = network("greedy", execution=execution, outputs=outputs)
    y = net(*inputs_of(net, *lead))
    assert y.shape == (*lead, *shape)
    pieces = net.split(y)
    assert [piece.shape for piece in pieces] == [(*lead, size) for size in sizes]
    torch.testing.assert_close(torch.cat(pieces, dim=-1), y.reshape(*lead, sum(sizes)), rtol=0, atol=0)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_piece_belongs_to_its_variable(execution):
    net = network("greedy", execution=execution, outputs=SIZES, activation="tanh")
    graph = GRAPHS["random DAG"]
    (x,) = inputs_of(net, 4)
    before = net.split(net(x))
    for column, node in enumerate(graph.nodes):
        moved = x.clone()
        moved[:, column] += 1.0
        for name, piece, was in zip(graph.nodes, net.split(net(moved)), before, strict=True):
            assert bool((piece != was).all()) == (name in graph.children(node))
            assert bool((piece == was).all()) == (name not in graph.children(node))


def test_no_variables():
    for outputs in (1, 2, []):
        net = weft.StrNN(weft.graph.chain(0), (4,), outputs=outputs)
        assert net.split(net(torch.zeros(3, 0))) == ()


def test_split_outputs_differentiate():
    net = network("greedy", outputs=SIZES, activation="tanh")
    (x,) = inputs_of(net, 4)
    sum(piece.square().sum() for piece in net.split(net(x))).backward()
    found = [parameter.grad.clone() for parameter in net.parameters()]
    net.zero_grad()
    net(x).square().sum().backward()
    torch.testing.assert_close(found, [parameter.grad for parameter in net.parameters()], rtol=1e-12, atol=1e-14)
