"""Bad input to the room: each case an error that says what was got, what was expected and what to do."""

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

import weft
from weft.masks import FACTORIZERS, Exact, Greedy, Grouped, MadeRandom, reach

GRAPH = weft.graph.full(3)


@pytest.mark.parametrize(
    ("method", "suggested"),
    [
        ("greddy", "greedy"),
        ("Greedy", "greedy"),
        ("group", "grouped"),
        ("made_random", "made-random"),
        ("exactly", "exact"),
        ("zzz", None),
        ("", None),
        (None, None),
        (3, None),
        ([], None),
        (Greedy, None),
    ],
)
def test_an_unknown_method_lists_the_valid_ones(method, suggested):
    with pytest.raises(weft.FactorizationError, match="unknown method") as caught:
        weft.factorize(GRAPH, (4,), method=method)
    message = str(caught.value)
    assert f"Valid methods: {', '.join(FACTORIZERS)}" in message
    assert ("did you mean" in message) is bool(suggested)
    assert suggested is None or f"did you mean {suggested!r}?" in message


@pytest.mark.parametrize(
    ("objective", "suggested"),
    [
        ("path", "paths"),
        ("balance", "balanced"),
        ("path-variance", "paths-variance"),
        ("zzz", None),
        (None, None),
        (2, None),
        ([], None),
        ({}, None),
        (np.array([1, 2]), None),
    ],
    ids=str,
)
def test_an_unknown_objective_lists_the_valid_ones(objective, suggested):
    for call in (
        lambda: weft.factorize(GRAPH, (4,), method="exact", objective=objective),
        lambda: Exact(objective=objective),
    ):
        with pytest.raises(weft.FactorizationError, match="unknown objective") as caught:
            call()
        assert "Valid objectives: paths, paths-variance, balanced" in str(caught.value)
        assert suggested is None or f"did you mean {suggested!r}?" in str(caught.value)


@pytest.mark.parametrize("method", [method for method in FACTORIZERS if method != "exact"])
def test_an_objective_for_a_method_that_has_none(method):
    with pytest.raises(weft.FactorizationError, match=f"'{method}' has no objective; got 'balanced'.*'exact'"):
        weft.factorize(GRAPH, (4,), method=method, objective="balanced")


@pytest.mark.parametrize(
    ("method", "option", "message"),
    [
        (
            "grouped",
            "fanin",
            r"unknown option 'fanin' for .* \(did you mean 'fan_in'\?\)\. Its options: fan_in",
        ),
        ("made-random", "sed", "did you mean 'seed'"),
        ("exact", "timelimit", "did you mean 'time_limit'.*Its options: objective, time_limit"),
        ("greedy", "seed", "unknown option 'seed' for method 'greedy'. Its options: none"),
        ("zuko", "fan_in", "Its options: none"),
        ("made", "seed", "Its options: none"),
    ],
)
def test_an_unknown_option_lists_the_valid_ones(method, option, message):
    with pytest.raises(weft.FactorizationError, match=message):
        weft.factorize(GRAPH, (4,), method=method, **{option: 3})


def test_options_beside_an_object():
    with pytest.raises(weft.FactorizationError, match="options already; got also fan_in"):
        weft.factorize(GRAPH, (4,), method=Grouped(), fan_in=3)
    with pytest.raises(weft.FactorizationError, match="options already; got also objective"):
        weft.factorize(GRAPH, (4,), method=Exact(), objective="balanced")


@pytest.mark.parametrize(
    ("widths", "message"),
    [
        (4, r"got the number 4 as the widths, expected one per hidden layer: \(4,\)"),
        (np.int64(4), r"the number 4 .*hidden layer: \(4,\)"),
        (4.0, r'4.0, expected a sequence such as \(128, 128\), or "auto"'),
        (None, "None, expected a sequence"),
        ("automatic", "'automatic', expected a sequence"),
        (np.array(4), "expected a sequence"),
        ((0,), "the width of hidden layer 1 is 0, expected a whole number from 1 to"),
        ((4, -1), "layer 2 is -1"),
        ((4, 2.0), "layer 2 is 2.0"),
        ((True,), "layer 1 is True"),
        (("4",), "layer 1 is '4'"),
        ((None,), "layer 1 is None"),
        ((np.nan,), "layer 1 is nan"),
        ({4, 5}, r"the widths are \{4, 5\}, expected a sequence"),
        ({4: 5}, r"the widths are \{4: 5\}, expected a sequence"),
        (b"ab", "the widths are b'ab', expected a sequence"),
        ([[4, 4]], r"layer 1 is \[4, 4\]"),
        (np.ones((2, 2), dtype=int), "layer 1 is"),
    ],
    ids=str,
)
def test_widths_that_are_none(widths, message):
    with pytest.raises(weft.FactorizationError, match=message):
        weft.factorize(GRAPH, widths)


@pytest.mark.parametrize(
    "widths", [[4, 5], (4, 5), np.array([4, 5]), iter((4, 5)), range(4, 6)], ids=lambda given: type(given).__name__
)
def test_widths_of_any_sequence(widths):
    f = weft.factorize(GRAPH, widths)
    assert f.widths == (4, 5)
    assert all(type(width) is int for width in f.widths)


@pytest.mark.parametrize("method", ["greedy", "grouped", "zuko", "exact"])
@pytest.mark.parametrize(
    ("structure", "message"),
    [
        ([[0, 2], [1, 0]], "holds 2 .*row 0, column 1.*only 0 and 1"),
        ([[0, -1], [1, 0]], "holds -1"),
        ([[0.5]], "holds 0.5"),
        ([[np.nan]], "holds nan"),
        ([[np.inf]], "holds inf"),
        (sp.csr_array(np.array([[3.0]])), "holds 3"),
        (torch.full((1, 1), torch.nan), "holds nan"),
        (np.zeros(3), r"shape \(3,\), expected a matrix of two dimensions"),
        (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\), expected a matrix"),
        ([["yes"]], "expected only 0 and 1"),
        ([[1j]], "expected only 0 and 1"),
        ([[1], [1, 0]], "no matrix, expected rows of the same length"),
        (None, "NoneType, expected a weft.Graph"),
        ("a -> b", "str, expected a weft.Graph"),
        (7, "int, expected a weft.Graph"),
        (weft.Graph, "expected a weft.Graph"),
        (nx.Graph([(0, 1)]), "undirected"),
    ],
    ids=str,
)
def test_structures_that_are_none(structure, message, method):
    with pytest.raises(weft.GraphError, match=message):
        weft.factorize(structure, (4,), method=method)


@pytest.mark.parametrize("time_limit", [0, -1.0, np.nan, "5", None, True, [], np.array([1, 2])], ids=str)
def test_a_time_limit_that_is_no_time(time_limit):
    for call in (
        lambda: weft.factorize(GRAPH, (4,), method="exact", time_limit=time_limit),
        lambda: Exact(time_limit=time_limit),
    ):
        with pytest.raises(weft.FactorizationError, match=r"time_limit is .*expected a number of seconds above 0"):
            call()


@pytest.mark.parametrize("time_limit", [5, 0.5, np.inf, np.int64(5), np.float32(5)], ids=repr)
def test_a_time_limit_of_any_number(time_limit):
    assert weft.factorize(GRAPH, (4,), method="exact", time_limit=time_limit).optimal == (True,)


@pytest.mark.parametrize("seed", [-1, 1.5, "1", None, True, np.nan, [1, 2], np.random.default_rng(0)], ids=str)
def test_a_seed_that_is_no_whole_number(seed):
    for call in (
        lambda: weft.factorize(GRAPH, (4,), method="made-random", seed=seed),
        lambda: MadeRandom(seed=seed),
    ):
        with pytest.raises(weft.FactorizationError, match=r"seed is .*, expected a whole number of at least 0"):
            call()


@pytest.mark.parametrize("seed", [0, 7, np.int64(7), 2**70], ids=repr)
def test_a_seed_of_any_whole_number(seed):
    masks = (weft.factorize(GRAPH, (4,), method="made-random", seed=each).masks[0] for each in (seed, int(seed)))
    np.testing.assert_array_equal(*masks)


@pytest.mark.parametrize("width", [10**12, 2**70])
@pytest.mark.parametrize("method", FACTORIZERS)
def test_widths_beyond_any_memory(method, width):
    with pytest.raises(weft.FactorizationError, match=r"width.*\d"):
        weft.factorize(GRAPH, (4, width), method=method)


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ([], "got no masks"),
        ([[[1, 2]]], "mask 1 holds 2"),
        ([[[1, 0]], [[1, 1]]], "mask 2 reads 2 units, but mask 1 gives 1"),
        ([np.eye(2), None], "mask 2 is a NoneType"),
        ([np.eye(2), np.ones(2)], "mask 2 has shape"),
    ],
    ids=str,
)
def test_reach_names_the_mask_that_does_not_fit(masks, message):
    with pytest.raises(ValueError, match=message):
        reach(masks)


def test_a_method_that_is_not_finished_cannot_be_made():
    class Unfinished(weft.masks.Factorizer):
        name = "unfinished"

    with pytest.raises(TypeError, match="solve"):
        Unfinished()


@pytest.mark.parametrize("objective", [np.array([1, 2]), None, 3], ids=repr)
@pytest.mark.parametrize("method", ["greedy", Greedy()], ids=["name", "object"])
def test_an_objective_of_any_kind_for_a_method_that_has_none(method, objective):
    with pytest.raises(weft.FactorizationError, match=r"has no objective; got|got also objective\. Set"):
        weft.factorize(GRAPH, (4,), method=method, objective=objective)


@pytest.mark.parametrize("method", ["grouped", "exact"])
def test_masks_beyond_any_memory(method, monkeypatch):
    monkeypatch.setattr("weft.masks._products.LARGEST_MASK", 2000)
    with pytest.raises(weft.FactorizationError, match=rf"mask of method '{method}' would keep [\d,]+ weights \(limit"):
        weft.factorize(weft.graph.full(4), (1500,), method=method)


@pytest.mark.parametrize(("method", "widths"), [(method, (1, 1)) for method in ("greedy", "grouped", "exact", "zuko")])
def test_no_message_of_widths_names_an_argument(method, widths):
    with pytest.raises(weft.FactorizationError) as caught:
        weft.factorize(GRAPH, widths, method=method)
    assert str(caught.value).endswith('needs at least 2 units in every layer, such as (2, 2), or "auto".')


class Odd(weft.masks.Factorizer):
    """Returns what it is given."""

    name = "odd"

    def __init__(self, solution=None, least=1):
        self.solution, self.least = solution, least

    def solve(self, structure, widths):
        return self.solution

    def least_width(self, structure):
        return self.least


@pytest.mark.parametrize("solution", [None, (), np.eye(3)], ids=repr)
def test_a_method_that_returns_no_solution(solution):
    with pytest.raises(weft.FactorizationError, match=r"method 'odd' returned .*, expected weft\.masks\.Solution"):
        weft.factorize(GRAPH, (4,), method=Odd(solution))


@pytest.mark.parametrize("least", [None, 2.5, "3", 0], ids=repr)
def test_a_method_that_names_no_least_width(least):
    message = r"^the least width that method 'odd' names is .*, expected a whole number of at least 1\.$"
    with pytest.raises(weft.FactorizationError, match=message):
        weft.factorize(GRAPH, "auto", method=Odd(least=least))
    idle = weft.masks.Solution((np.zeros((4, 3)), np.zeros((3, 4))))
    with pytest.raises(weft.FactorizationError, match=message):
        weft.factorize(GRAPH, (4,), method=Odd(idle, least))


def test_a_method_without_a_name():
    class Nameless(Greedy):
        name = None

    with pytest.raises(weft.FactorizationError, match=r"^Nameless has no name, expected a string"):
        weft.factorize(GRAPH, (4,), method=Nameless())
