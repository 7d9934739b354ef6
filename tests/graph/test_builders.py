"""Graphs of a known shape against their definitions, taken literally."""

import numpy as np
import pytest

from weft import Graph, GraphError
from weft.graph import chain, every_other, full, neighbourhood, previous, random_dag, random_sparse, star

SIZES = range(8)


def by_rule(d, depends):
    """The graph in which node i depends on node j wherever ``depends(i, j)``."""
    names = [f"x{i}" for i in range(d)]
    edges = [(names[j], names[i]) for j in range(d) for i in range(d) if depends(i, j)]
    return Graph.from_edges(edges, nodes=names)


RULES = {
    "every_other": (every_other, lambda i, j: j < i and (i - j) % 2 == 1),
    "previous 0": (lambda d: previous(d, 0), lambda i, j: False),
    "previous 1": (lambda d: previous(d, 1), lambda i, j: j == i - 1),
    "previous 3": (lambda d: previous(d, 3), lambda i, j: i - 3 <= j < i),
    "previous 99": (lambda d: previous(d, 99), lambda i, j: j < i),
    "star": (star, lambda i, j: j == 0 < i),
    "chain": (chain, lambda i, j: j == i - 1),
    "full": (full, lambda i, j: j < i),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("d", SIZES)
def test_a_builder_follows_its_rule(rule, d):
    build, depends = RULES[rule]
    assert build(d) == by_rule(d, depends)
    assert build(np.int64(d)) == build(d)


def test_the_edges_of_the_paper():
    assert every_other(15).edges_count == 56
    assert random_sparse(15, threshold=0.8, seed=2547).edges_count == 16


@pytest.mark.parametrize("radius", [0, 1, 2, 9])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (1, 1), (1, 6), (6, 1), (3, 4), (5, 3)])
def test_a_pixel_depends_on_earlier_ones_nearby(shape, radius):
    height, width = shape

    def depends(i, j):
        (row, column), (other_row, other_column) = divmod(i, width), divmod(j, width)
        return j < i and abs(row - other_row) <= radius and abs(column - other_column) <= radius

    assert neighbourhood(height, width, radius) == by_rule(height * width, depends)


@pytest.mark.parametrize("threshold", [0, 0.3, 0.8, 1])
@pytest.mark.parametrize("seed", [0, 2547, 2**32 - 1])
def test_random_sparse_is_the_published_draw(threshold, seed):
    drawn = np.random.RandomState(seed).uniform(size=(9, 9))
    assert random_sparse(9, threshold, seed) == by_rule(9, lambda i, j: j < i and drawn[i, j] > threshold)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("hubs", [0.0, 0.5, 1.0, 3.0, float("inf")])
def test_random_dag_draws_earlier_nodes_and_repeats_itself(hubs, seed):
    graph = random_dag(200, parents=3.0, hubs=hubs, seed=seed)
    assert graph.nodes == tuple(f"x{i}" for i in range(200))
    assert all(graph.index(parent) < graph.index(child) for parent, child in graph.edges)
    assert graph == random_dag(200, parents=3.0, hubs=hubs, seed=seed)
    assert graph != random_dag(200, parents=3.0, hubs=hubs, seed=seed + 100)


@pytest.mark.parametrize("hubs", [0.0, 0.7, 1.0])
def test_random_dag_draws_parents_by_their_weight(hubs):
    # With one draw a node on average, node j is drawn by the later node i with probability weight j / weights before i.
    d, runs = 60, 400
    out_degrees = np.zeros(d)
    for seed in range(runs):
        out_degrees += random_dag(d, parents=0.2, hubs=hubs, seed=seed).adjacency().sum(axis=0)
    weights = np.arange(1, d + 1) ** -hubs
    totals = np.cumsum(weights)
    expected = np.array([sum(weights[j] / totals[i - 1] for i in range(j + 1, d)) for j in range(d)]) * 0.2 * runs
    deviation = (out_degrees - expected)[:-1] / np.sqrt(expected[:-1])
    assert np.mean(deviation**2) < 1.5, "as far as chance takes them"
    assert np.abs(deviation).max() < 5


def test_random_dag_has_the_edges_asked_for():
    assert random_dag(500, parents=0).edges_count == 0
    assert abs(random_dag(20_000, parents=3.0, seed=2).edges_count / 60_000 - 1) < 0.02
    assert {parent for parent, _ in random_dag(50, hubs=float("inf")).edges} == {"x0"}


BUILDERS = {
    "every_other": (every_other, {"d": 3}),
    "previous": (previous, {"d": 3, "k": 2}),
    "random_sparse": (random_sparse, {"d": 3, "threshold": 0.5, "seed": 0}),
    "neighbourhood": (neighbourhood, {"height": 3, "width": 3, "radius": 1}),
    "star": (star, {"d": 3}),
    "chain": (chain, {"d": 3}),
    "full": (full, {"d": 3}),
    "random_dag": (random_dag, {"d": 3, "parents": 1.0, "hubs": 0.0, "seed": 0}),
}
NUMBERS = {"threshold", "parents", "hubs"}
ARGUMENTS = [(name, argument) for name, (_, arguments) in BUILDERS.items() for argument in arguments]


@pytest.mark.parametrize(("name", "argument"), ARGUMENTS)
def test_bad_numbers_are_refused(name, argument):
    build, arguments = BUILDERS[name]
    fractions = [] if argument in NUMBERS else [1.5, 2.0, float("inf")]
    for bad in (-1, "3", None, True, float("nan"), [3], *fractions):
        with pytest.raises(GraphError, match=rf"^{name}: {argument} is .*, expected a (whole )?number (of|from) "):
            build(**{**arguments, argument: bad})


@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("size", [10**6, 10**30, 10**400])
def test_a_slip_of_the_pen_is_refused(name, size):
    build, arguments = BUILDERS[name]
    large = {argument: size for argument in arguments if argument in ("d", "height", "width")}
    if name in ("star", "chain", "random_dag") and size == 10**6:
        large = {"d": 10**9}
    with pytest.raises(GraphError, match=r"^the graph may have [\d,]+ nodes or edges, more than the 268,435,456 that"):
        build(**{**arguments, "k": size, **large} if name == "previous" else {**arguments, **large})


def test_limits_of_arguments_are_named():
    with pytest.raises(GraphError, match=r"threshold is 2, expected a number from 0 to 1\.$"):
        random_sparse(3, 2, 0)
    with pytest.raises(GraphError, match=r"seed is 4294967296, expected a whole number from 0 to 4,294,967,295\.$"):
        random_sparse(3, 0.5, 2**32)
    with pytest.raises(GraphError, match=r"^the graph may have 500,000,000 nodes or edges"):
        random_dag(5, parents=1e8)
