"""A walk over the level schedule gives the network's own outputs, and computes every hidden unit once."""

import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.nn import LevelSchedule, _schedule

from .cases import (
    DEVICES,
    DTYPES,
    EXECUTIONS,
    GRAPHS,
    MATRICES,
    OPTIONS,
    inputs_of,
    matrix_of,
    network,
    pairs,
    rolled_network,
)

ROUNDING = {torch.float32: {"rtol": 1e-4, "atol": 1e-5}, torch.float64: {"rtol": 1e-12, "atol": 1e-13}}


def columns_of(net, variables):
    """Return the columns of some variables, in the variables' order."""
    starts = np.cumsum([0, *net.input_sizes])
    return np.concatenate([np.empty(0, dtype=int), *(np.arange(starts[v], starts[v + 1]) for v in variables)]).tolist()


def rows_of(net, variables):
    """Return the flat outputs of some variables."""
    starts = np.cumsum([0, *net.output_sizes])
    return np.concatenate([np.empty(0, dtype=int), *(np.arange(starts[v], starts[v + 1]) for v in variables)]).tolist()


def walk_through(schedule, x, *context):
    """Return the flat outputs (rows, total) that a whole walk gives, put in the network's order."""
    net, walk = schedule.net, schedule.walk(len(x), *context)
    pieces = []
    for number, variables in enumerate(schedule.outputs):
        assert walk.generation == number
        piece = walk.outputs()
        if net._stacked not in (None, 1):
            assert piece.shape == (len(x), len(variables), net._stacked)
        pieces.append(piece.reshape(len(x), len(rows_of(net, variables))))
        if number < len(schedule.generations):
            walk.advance(x[:, columns_of(net, schedule.generations[number])])
    order = [row for variables in schedule.outputs for row in rows_of(net, variables)]
    return torch.cat(pieces, dim=1)[:, np.argsort(order)] if order else x.new_zeros(len(x), 0)


def flat(net, *inputs):
    return net(*inputs).reshape(len(inputs[0]), sum(net.output_sizes))


def assert_walk_is_the_net(net, arrival=None, rows=4):
    schedule = LevelSchedule(net, arrival)
    inputs = inputs_of(net, rows)
    dtype = net.layers[0].weight.dtype
    with torch.no_grad():
        found = walk_through(schedule, *inputs)
    assert found.dtype == dtype
    torch.testing.assert_close(found, flat(net, *inputs).detach(), **ROUNDING[dtype])
    return schedule


def assert_stages(schedule):
    """Check each unit's stage against a plain statement: the latest arrival among the inputs that reach it."""
    net = schedule.net
    arrived = np.zeros(len(net.input_sizes), dtype=int)
    for generation, variables in enumerate(schedule.generations):
        arrived[variables] = generation + 1
    stage = np.concatenate([np.repeat(arrived, net.input_sizes), np.zeros(net.context, dtype=int)])
    for mask, units in zip(net.expanded_masks()[:-1], schedule.units, strict=True):
        stage = np.array([max(stage[row], default=0) for row in mask.toarray()], dtype=int)
        assert sorted(np.concatenate(units).tolist()) == list(range(mask.shape[0]))
        for number, listed in enumerate(units):
            assert listed.tolist() == np.flatnonzero(stage == number).tolist()
    rows = np.concatenate([np.empty(0, dtype=int), *schedule.outputs])
    assert sorted(rows.tolist()) == list(range(len(net.output_sizes)))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize(("method", "name"), pairs(GRAPHS))
def test_every_graph(method, name, execution, dtype):
    net = network(method, name, execution=execution, activation="tanh", dtype=dtype)
    schedule = assert_walk_is_the_net(net)
    assert_stages(schedule)
    graph = GRAPHS[name]
    assert [[graph.nodes[v] for v in generation] for generation in schedule.generations] == [
        sorted(generation, key=graph.nodes.index) for generation in graph.generations
    ]
    assert [variables.tolist() for variables in schedule.outputs] == [g.tolist() for g in schedule.generations]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("method", ["greedy", "grouped", "exact", "zuko"])
def test_every_option(method, execution, options):
    schedule = assert_walk_is_the_net(network(method, execution=execution, activation="silu", **options))
    assert_stages(schedule)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_residual_that_not_every_unit_has(execution):
    assert_stages(assert_walk_is_the_net(rolled_network(execution, activation="silu")))


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_every_graph_with_everything_at_once(name, execution):
    net = network("greedy", name, execution=execution, activation="prelu", **OPTIONS["all"])
    assert_stages(assert_walk_is_the_net(net))


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_every_matrix_by_a_given_arrival(name, execution):
    net = network("greedy", name, execution=execution, activation="tanh", **OPTIONS["all"])
    columns = matrix_of(name).shape[1]
    for arrival in ([0] * columns, list(range(columns)), list(range(columns))[::-1], [j % 2 for j in range(columns)]):
        schedule = assert_walk_is_the_net(net, arrival)
        assert_stages(schedule)
        given_by = np.array(arrival, dtype=int)
        for generation, variables in enumerate(schedule.generations):
            assert variables.tolist() == np.flatnonzero(given_by == generation).tolist()
        # An output is read as soon as the last input that it may use has arrived.
        for read, variables in enumerate(schedule.outputs):
            for variable in variables:
                assert read == max(given_by[matrix_of(name)[variable]] + 1, default=0)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_generations_may_be_empty(execution):
    net = network("greedy", "wide", execution=execution, activation="tanh")
    schedule = assert_walk_is_the_net(net, [4, 1, 4, 1, 1])
    assert_stages(schedule)
    assert [generation.tolist() for generation in schedule.generations] == [[], [1, 3, 4], [], [], [0, 2]]


@pytest.mark.parametrize("execution", EXECUTIONS)
@pytest.mark.parametrize("hidden", [(), (40,), (24, 31, 40, 24)])
def test_any_depth(hidden, execution):
    torch.manual_seed(0)
    net = weft.StrNN(GRAPHS["random DAG"], hidden, execution=execution, activation="elu", dtype=torch.float64)
    schedule = assert_walk_is_the_net(net)
    assert_stages(schedule)
    assert len(schedule.units) == len(hidden)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_every_device(execution, device):
    net = network("greedy", execution=execution, context=1, residual=True, activation="tanh").to(device)
    inputs = [x.to(device) for x in inputs_of(net, 5)]
    found = walk_through(LevelSchedule(net), *inputs)
    assert found.device.type == device
    torch.testing.assert_close(found, net(*inputs), rtol=1e-11, atol=1e-12)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_any_graph(data):
    size = data.draw(st.integers(0, 7))
    cells = data.draw(st.lists(st.booleans(), min_size=size * size, max_size=size * size))
    lower = np.tril(np.array(cells, dtype=bool).reshape(size, size), k=-1)
    order = data.draw(st.permutations(range(size)))
    graph = weft.Graph.from_adjacency(lower[np.ix_(order, order)], orientation="row_is_child")
    torch.manual_seed(0)
    net = weft.StrNN(
        graph,
        "auto",
        factorization=data.draw(st.sampled_from(["greedy", "grouped", "zuko"])),
        execution=data.draw(st.sampled_from(EXECUTIONS)),
        activation="softplus",
        dtype=torch.float64,
        inputs=data.draw(st.integers(1, 2)),
        outputs=data.draw(st.integers(1, 2)),
        context=data.draw(st.integers(0, 2)),
        residual=data.draw(st.booleans()),
        bias=data.draw(st.booleans()),
    )
    arrival = data.draw(st.none() | st.lists(st.integers(0, max(size - 1, 0)), min_size=size, max_size=size))
    assert_stages(assert_walk_is_the_net(net, arrival))


class Counted(torch.nn.Module):
    """An activation that counts how many units it has computed."""

    def __init__(self):
        super().__init__()
        self.computed = 0

    def forward(self, x):
        self.computed += len(x)
        return torch.tanh(x)


@pytest.mark.parametrize(("method", "name"), pairs(GRAPHS))
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_every_unit_is_computed_once(execution, method, name):
    net = network(method, name, execution=execution, activation=Counted)
    for module in net.activations:
        module.computed = 0
    x = inputs_of(net, 3)[0]
    schedule = LevelSchedule(net)
    walk = schedule.walk(3)
    done = [sum(len(units[0]) for units in schedule.units)]
    assert sum(module.computed for module in net.activations) == done[0]
    for number, generation in enumerate(schedule.generations, start=1):
        walk.advance(x[:, generation])
        done.append(sum(len(units[number]) for units in schedule.units))
        assert sum(module.computed for module in net.activations) == sum(done)
    assert [module.computed for module in net.activations] == list(net.hidden)


@pytest.mark.parametrize("method", ["greedy", "grouped"])
def test_a_sparse_walk_multiplies_every_weight_once(method, monkeypatch):
    used = []
    run = _schedule.run_blocks

    def counting(x, weight, bias, gather, buckets, **how):
        assert weight.numel() == sum(bucket.weights for bucket in buckets)
        used.append(weight.numel())
        return run(x, weight, bias, gather, buckets, **how)

    monkeypatch.setattr(_schedule, "run_blocks", counting)
    net = network(method, execution="sparse", activation="tanh")
    walk_through(LevelSchedule(net), inputs_of(net, 3)[0])
    assert sum(used) == sum(layer.weight.numel() for layer in net.layers)


@pytest.mark.parametrize("options", [{}, OPTIONS["all"]], ids=["plain", "all"])
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_gradients_through_a_walk(execution, options):
    net = network("greedy", execution=execution, activation="prelu", **options)
    schedule = LevelSchedule(net)
    weights = torch.randn(4, sum(net.output_sizes), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = []
    for evaluate in (flat, lambda net, *inputs: walk_through(schedule, *inputs)):
        inputs = [x.requires_grad_() for x in inputs_of(net, 4)]
        y = evaluate(net, *inputs)
        found.append(torch.autograd.grad((weights * y).sum(), [*inputs, *net.parameters()]))
    for mine, its in zip(*found, strict=True):
        assert bool((mine != 0).any())
        torch.testing.assert_close(its, mine, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_gradcheck_of_a_walk(execution):
    net = network("greedy", "grid", execution=execution, activation="tanh", context=1, residual=True)
    schedule = LevelSchedule(net)
    inputs = [x.requires_grad_() for x in inputs_of(net, 2)]
    assert torch.autograd.gradcheck(lambda *inputs: walk_through(schedule, *inputs), inputs)
    assert torch.autograd.gradgradcheck(lambda *inputs: walk_through(schedule, *inputs), inputs)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_what_a_walk_is_for(execution):
    """Ancestral sampling: each generation is a function of the outputs, and the gradient flows through all of them."""
    net = network("greedy", execution=execution, activation="tanh")
    schedule = LevelSchedule(net)
    noise = inputs_of(net, 3)[0].requires_grad_()
    walk, x = schedule.walk(3), [None] * 9
    for generation in schedule.generations:
        values = walk.outputs() + noise[:, generation]
        walk.advance(values)
        for variable, value in zip(generation, values.unbind(1), strict=True):
            x[variable] = value
    x = torch.stack(x, dim=1)
    torch.testing.assert_close(x - net(x), noise, rtol=1e-11, atol=1e-12)
    (found,) = torch.autograd.grad(x.sum(), noise)
    jacobian = torch.autograd.functional.jacobian(lambda x: net(x[None])[0], x[0].detach())
    expected = torch.linalg.solve((torch.eye(9) - jacobian).T, torch.ones(9, dtype=torch.float64))
    torch.testing.assert_close(found[0], expected, rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_walks_do_not_disturb_each_other(execution):
    net = network("greedy", execution=execution, activation="tanh")
    schedule = LevelSchedule(net)
    x, other = inputs_of(net, 3)[0], inputs_of(net, 3, seed=1)[0]
    one, two = schedule.walk(3), schedule.walk(3)
    for generation in schedule.generations:
        places = generation.tolist()
        torch.testing.assert_close(one.outputs(), net(x)[:, places], rtol=1e-12, atol=1e-13)
        torch.testing.assert_close(two.outputs(), net(other)[:, places], rtol=1e-12, atol=1e-13)
        torch.testing.assert_close(two.outputs(), two.outputs(), rtol=0, atol=0)
        one.advance(x[:, generation])
        two.advance(other[:, generation])


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_walk_uses_the_weights_of_its_beginning(execution):
    net = network("greedy", execution=execution, activation="tanh")
    schedule = LevelSchedule(net)
    x = inputs_of(net, 3)[0]
    with torch.no_grad():
        before = net(x)
        torch.testing.assert_close(walk_through(schedule, x), before, rtol=1e-12, atol=1e-13)
        torch.manual_seed(5)
        net.reset_parameters()
        assert not torch.allclose(net(x), before)
        torch.testing.assert_close(walk_through(schedule, x), net(x), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_no_rows(execution):
    net = network("greedy", execution=execution)
    assert walk_through(LevelSchedule(net), inputs_of(net, 0)[0]).shape == (0, 9)


def test_repr():
    net = network("greedy", "chain", execution="sparse")
    assert repr(LevelSchedule(net)) == "LevelSchedule(6 generations, 40 hidden units, sparse)"


def test_a_digraph_has_generations_too():
    from networkx import DiGraph

    net = weft.StrNN(DiGraph([("a", "c"), ("b", "c"), ("c", "d")]), (8,), dtype=torch.float64)
    schedule = assert_walk_is_the_net(net)
    assert [generation.tolist() for generation in schedule.generations] == [[0, 2], [1], [3]]


BAD_ARRIVALS = [[0, 1], [0, 1, 2, 3], [0, 1, -1], [0, 1, 3], [0.0, 1.0, 2.0], ["a", "b", "c"], "abc", 7, [[0, 1, 2]]]


@pytest.mark.parametrize("arrival", BAD_ARRIVALS, ids=str)
def test_arrivals_that_are_none(arrival):
    net = weft.StrNN([[0, 1, 0], [0, 0, 1], [1, 0, 0]], (6,))
    expected = r"arrival is .*, expected one generation, an integer from 0 to 2, for each of 3 variables \(x0, x1, x2\)"
    with pytest.raises(ValueError, match=expected):
        LevelSchedule(net, arrival)


def test_a_cycle_has_no_generations():
    net = network("greedy", "cyclic")
    with pytest.raises(ValueError, match=r"x\d -> x\d -> x\d -> x\d"):
        LevelSchedule(net)


def test_a_rectangle_has_no_generations():
    with pytest.raises(ValueError, match=r"shape \(3, 5\).*no generations of their own; pass arrival="):
        LevelSchedule(network("greedy", "wide"))


def test_rows_that_are_not_the_columns_have_no_generations():
    from pandas import DataFrame

    frame = DataFrame([[0, 0], [1, 0]], index=["p", "q"], columns=["a", "b"])
    with pytest.raises(ValueError, match=r"rows .* are p, q, its columns a, b, .*name both alike, or pass arrival="):
        LevelSchedule(weft.StrNN(frame, (4,)))


@pytest.mark.parametrize("batch", [-1, 2.0, "3", None, True, torch.tensor(3)], ids=str)
def test_batches_that_are_no_number_of_rows(batch):
    with pytest.raises(ValueError, match=r"batch is .*, expected a whole number of at least 0"):
        LevelSchedule(network("greedy", "chain")).walk(batch)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        (None, r"expected a context of shape \(4, 2\), got none"),
        (torch.zeros(4, 3, dtype=torch.float64), r"expected a context of shape \(4, 2\), got \(4, 3\)"),
        (torch.zeros(5, 2, dtype=torch.float64), r"shape \(4, 2\), got \(5, 2\)"),
        (torch.zeros(2, dtype=torch.float64), r"shape \(4, 2\), got \(2,\)"),
        (torch.zeros(4, 2), r"the context is of torch\.float32, expected torch\.float64"),
        ([[0.0, 0.0]] * 4, r"the context is a list, expected a torch\.Tensor"),
    ],
    ids=["missing", "too wide", "too long", "one row", "another type", "list"],
)
def test_contexts_that_do_not_fit(context, message):
    with pytest.raises(ValueError, match=message):
        LevelSchedule(network("greedy", "chain", context=2)).walk(4, context)


def test_a_context_that_is_not_expected():
    with pytest.raises(
        ValueError, match=r"got a context, but the network has none: make it with StrNN\(..., context=n"
    ):
        LevelSchedule(network("greedy", "chain")).walk(4, torch.zeros(4, 1))


VALUES = {
    "another generation": torch.zeros(4, 1, dtype=torch.float64),
    "another batch": torch.zeros(3, 2, dtype=torch.float64),
    "a row": torch.zeros(2, dtype=torch.float64),
    "all columns": torch.zeros(4, 4, dtype=torch.float64),
    "another type": torch.zeros(4, 2, dtype=torch.float32),
    "whole numbers": torch.zeros(4, 2, dtype=torch.int64),
    "an array": np.zeros((4, 2)),
    "nothing": None,
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_values_that_do_not_fit(values):
    graph = weft.Graph.from_edges([("a", "c"), ("b", "c"), ("c", "d")])  # columns a, c, b, d
    net = weft.StrNN(graph, (8,), dtype=torch.float64)
    walk = LevelSchedule(net).walk(4)
    if isinstance(values, torch.Tensor) and values.dtype == torch.float64:
        expected = (
            rf"expected values of shape \(4, 2\) for generation 0 \(a, b\), got {re.escape(str(tuple(values.shape)))}"
        )
    else:
        expected = (
            r"the tensor of values for generation 0 \(a, b\) is (of torch.\w+, expected torch.float64|a \w+, exp)"
        )
    with pytest.raises(ValueError, match=expected):
        walk.advance(values)
    assert walk.generation == 0  # a walk that refused goes on
    walk.advance(torch.zeros(4, 2, dtype=torch.float64))
    assert walk.generation == 1


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_walk_that_is_over(execution):
    net = network("greedy", "chain", execution=execution)
    walk = LevelSchedule(net).walk(2)
    for _ in range(6):
        walk.outputs()
        walk.advance(torch.zeros(2, 1, dtype=torch.float64))
    for call in (walk.outputs, lambda: walk.advance(torch.zeros(2, 1, dtype=torch.float64))):
        with pytest.raises(ValueError, match=r"all 6 generations have been walked; begin a new walk"):
            call()


def test_only_a_network_has_a_schedule():
    with pytest.raises(ValueError, match=r"net is a Linear, expected a weft.StrNN"):
        LevelSchedule(torch.nn.Linear(3, 3))
