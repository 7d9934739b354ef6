"""No dependence is invented and none is lost: the Jacobian has exactly the support of the structure."""

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import weft

from .cases import (
    DTYPES,
    EXECUTIONS,
    OPTIONS,
    STRUCTURES,
    blocks,
    factorization_of,
    inputs_of,
    jacobians,
    matrix_of,
    network,
    pairs,
    rolled_network,
)


def assert_support(net, structure, rows=3):
    """Check every row where the activation is smooth: zero means zero, and a generic point has no accidental ones."""
    found = jacobians(net, *inputs_of(net, rows)).numpy() != 0
    assert found.shape == (rows, sum(net.output_sizes), sum(net.input_sizes))
    assert np.array_equal(found, np.broadcast_to(blocks(net, structure), found.shape))
    assert np.array_equal(net.jacobian_structure(), structure)


def expected_of(method, name, context=False):
    """Return the structure, less the edges that made-random says it lost."""
    expected = matrix_of(name).copy()
    factorization = factorization_of(method, name, context)
    places = [list(names).index for names in (factorization.structure.outputs, factorization.structure.inputs)]
    for source, target in factorization.lost:
        assert method == "made-random"
        expected[places[0](target), places[1](source)] = False
    return expected


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize(("method", "name"), pairs(STRUCTURES))
def test_smooth(method, name, execution, dtype):
    net = network(method, name, execution=execution, dtype=dtype, activation="softplus")
    assert net.execution == execution
    assert_support(net, expected_of(method, name))


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize(("method", "name"), pairs(STRUCTURES))
def test_relu(method, name, execution):
    net = network(method, name, execution=execution, activation="relu")
    seen = np.zeros_like(blocks(net, matrix_of(name)))
    for seed in range(8):  # a unit may be dead for one draw of the weights
        torch.manual_seed(seed)
        net.reset_parameters()
        (x,) = inputs_of(net, 16, seed=seed, scale=3.0)
        outputs = net(x.requires_grad_()).sum(dim=0)
        rows = [torch.autograd.grad(output, x, retain_graph=True)[0] for output in outputs]
        seen |= np.array([(row != 0).any(dim=0).tolist() for row in rows], dtype=bool).reshape(seen.shape)
    assert np.array_equal(seen, blocks(net, expected_of(method, name)))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("method", ["greedy", "grouped", "exact", "zuko"])
def test_options(method, execution, options):
    net = network(method, execution=execution, activation="silu", **options)
    assert_support(net, matrix_of("random DAG"))


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_everything_at_once(execution, name):
    net = network("greedy", name, execution=execution, activation="tanh", **OPTIONS["all"])
    assert_support(net, matrix_of(name))


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_residual_adds_only_what_the_mask_reads(execution):
    assert_support(rolled_network(execution, activation="silu"), matrix_of("random DAG"))


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_residual_adds_the_unit_of_the_same_number(execution):
    net = rolled_network(execution, activation="tanh")
    (x,) = inputs_of(net, 4)
    h, masks = x, net.expanded_masks()
    for number, (mask, layer) in enumerate(zip(masks, net.layers, strict=True)):
        below = h
        weights, bias = layer.read()
        weight = torch.zeros(mask.shape, dtype=torch.float64)
        weight[torch.from_numpy(mask.toarray())] = weights.detach()
        h = below @ weight.t() + bias
        if number < 2:
            h = torch.tanh(h)
        if number == 1:
            h = h + below * torch.from_numpy(mask.diagonal())
    torch.testing.assert_close(net(x), h, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_every_output_may_use_the_context(execution, name):
    net = network("greedy", name, execution=execution, activation="tanh", context=3, outputs=2)
    x, context = inputs_of(net, 4)

    def of_context(context, x):
        return net(x, context).flatten()

    found = torch.func.vmap(torch.func.jacrev(of_context))(context, x)
    assert found.shape == (4, 2 * len(matrix_of(name)), 3)
    assert bool((found != 0).all())


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_no_hidden_layer(execution, name):
    net = weft.StrNN(STRUCTURES[name], hidden=(), execution=execution, dtype=torch.float64)
    assert net.hidden == ()
    assert len(net.activations) == 0
    assert_support(net, matrix_of(name))


@pytest.mark.parametrize("hidden", [(20,), (20, 31), (40, 20, 30, 20), "auto"])
@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("method", ["greedy", "grouped", "zuko"])
def test_by_the_name_of_the_method(method, execution, hidden):
    net = weft.StrNN(
        STRUCTURES["grid"], hidden, factorization=method, execution=execution, activation="elu", dtype=torch.float64
    )
    assert net.factorization.method == method
    assert net.hidden == net.factorization.widths
    assert_support(net, matrix_of("grid"))


def test_by_a_factorizer():
    net = weft.StrNN(
        STRUCTURES["full"],
        (24,),
        factorization=weft.masks.Grouped(fan_in=2),
        activation="tanh",
        dtype=torch.float64,
        execution="sparse",
    )
    assert net.factorization.factorizer == weft.masks.Grouped(fan_in=2)
    assert_support(net, matrix_of("full"))


def test_by_a_digraph():
    graph = nx.DiGraph([("a", "c"), ("b", "c"), ("c", "a")])
    net = weft.StrNN(graph, "auto", activation="tanh", dtype=torch.float64)
    assert net.structure.inputs == ("a", "c", "b")
    assert_support(net, np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0]], dtype=bool))


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_an_input_however_large_moves_only_what_may_use_it(execution):
    net = network("greedy", "grid", execution=execution, activation="leaky_relu")
    (x,) = inputs_of(net, 4)
    before = net(x)
    for column, may_use in enumerate(matrix_of("grid").T):
        moved = x.clone()
        moved[:, column] = 1e200
        assert np.array_equal((net(moved) != before).all(dim=0).numpy(), may_use)
        assert np.array_equal((net(moved) != before).any(dim=0).numpy(), may_use)


@pytest.mark.filterwarnings("ignore:the matrix is strictly upper triangular")
@settings(max_examples=60, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_matrix(data):
    rows, columns = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 6))
    cells = data.draw(st.lists(st.booleans(), min_size=rows * columns, max_size=rows * columns))
    matrix = np.array(cells, dtype=bool).reshape(rows, columns)
    method = data.draw(st.sampled_from(["greedy", "grouped", "zuko"]))
    execution = data.draw(st.sampled_from(EXECUTIONS))
    sizes = st.integers(1, 3)
    torch.manual_seed(0)
    net = weft.StrNN(
        matrix,
        "auto",
        factorization=method,
        execution=execution,
        activation="softplus",
        dtype=torch.float64,
        inputs=data.draw(st.lists(sizes, min_size=columns, max_size=columns)),
        outputs=data.draw(st.lists(sizes, min_size=rows, max_size=rows)),
        context=data.draw(st.integers(0, 2)),
        residual=data.draw(st.booleans()),
        bias=data.draw(st.booleans()),
    )
    assert_support(net, matrix)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_training_cannot_break_it(execution):
    net = network("greedy", execution=execution, activation="prelu")
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.05, weight_decay=0.1)
    (x,) = inputs_of(net, 32)
    for _ in range(20):
        optimizer.zero_grad()
        (net(x) - x.cumsum(dim=1)).square().mean().backward()
        optimizer.step()
    found = (jacobians(net, x) != 0).any(dim=0).numpy()
    assert np.array_equal(found, matrix_of("random DAG"))
