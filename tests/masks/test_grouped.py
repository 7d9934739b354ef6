"""Grouped: private units for every distinct parent set, and weights linear in the edges on any graph."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import weft
from weft.masks import Grouped, distinct_rows

# Structures are drawn here, those that are strictly upper triangular too.
pytestmark = pytest.mark.filterwarnings("ignore:the matrix is strictly upper triangular")

SEEDED = settings(derandomize=True, database=None, deadline=None, max_examples=150)


def sink(d):
    return weft.Graph.from_parents({d - 1: list(range(d - 1))})


def many_sinks(d):
    hubs = list(range(d // 2))
    return weft.Graph.from_parents({d // 2 + k: hubs[k:] for k in range(4)})


GROWING = {
    "uniform": lambda d: weft.graph.random_dag(d, parents=3.0, seed=1),
    "Zipf 0.5": lambda d: weft.graph.random_dag(d, parents=3.0, hubs=0.5, seed=2),
    "Zipf 1": lambda d: weft.graph.random_dag(d, parents=3.0, hubs=1.0, seed=3),
    "Zipf 1.5": lambda d: weft.graph.random_dag(d, parents=3.0, hubs=1.5, seed=4),
    "Zipf 2, many parents": lambda d: weft.graph.random_dag(d, parents=10.0, hubs=2.0, seed=5),
    "star": weft.graph.star,
    "sink": sink,
    "many sinks": many_sinks,
    "chain": weft.graph.chain,
}
WIDTHS = {
    "equal": lambda d: (2 * d, 2 * d),
    "deep": lambda d: (d, d, d, d),
    "narrow last": lambda d: (2 * d, 2 * d, d),
    "narrow first": lambda d: (d, 8 * d),
}


def most_weights(f, fan_in):
    """What the method may keep at most, counted unit by unit: linear in edges, units and outputs."""
    return (fan_in + 3) * (sum(f.widths) + f.structure.shape[0]) + 3 * f.structure.edges_count


@pytest.mark.parametrize("widths", WIDTHS)
@pytest.mark.parametrize("name", GROWING)
def test_weights_are_linear_in_the_edges_however_large_the_hubs(name, widths):
    per_edge = []
    for d in (500, 2000, 8000):
        f = weft.factorize(GROWING[name](d), WIDTHS[widths](d), method="grouped")
        assert f.lost == ()
        assert f.weights <= most_weights(f, 16)
        per_edge.append(f.weights / (f.structure.edges_count + sum(f.widths)))
    assert per_edge[2] < 1.5 * per_edge[0]


@pytest.mark.parametrize("widths", [lambda d: (1, 2 * d), lambda d: (2 * d, 2 * d, 1), lambda d: (2 * d, 1, 2 * d)])
@pytest.mark.parametrize("build", [weft.graph.star, sink])
def test_a_layer_of_one_unit_among_wide_ones_stays_linear(build, widths):
    for d in (500, 2000, 8000):
        f = weft.factorize(build(d), widths(d), method="grouped")
        assert f.lost == ()
        assert f.weights <= most_weights(f, 16)


def test_greedy_is_quadratic_where_grouped_is_not():
    graph = weft.graph.star(1000)
    greedy, grouped = (weft.factorize(graph, (1000, 1000), method=method).weights for method in ("greedy", "grouped"))
    assert greedy > 1000 * 1000
    assert grouped < 40 * 1000


@SEEDED
@given(st.data())
def test_on_any_structure_and_widths(data):
    shape = data.draw(st.tuples(st.integers(1, 7), st.integers(1, 12)))
    A = data.draw(arrays(bool, shape))
    fan_in = data.draw(st.integers(1, 5))
    first, like = distinct_rows(A)
    widths = data.draw(st.lists(st.integers(max(1, len(first)), 40), min_size=1, max_size=3))
    f = weft.factorize(A, widths, method=Grouped(fan_in=fan_in))
    assert f.lost == ()
    assert f.weights <= most_weights(f, fan_in)
    # Which parent sets each unit serves, from the outputs down.
    serves = [np.eye(len(first) + 1, dtype=int)[like][:, : len(first)]]
    for mask in f.masks[::-1]:
        serves.insert(0, mask.T.astype(int) @ serves[0])
    for layer in serves[1:-1]:
        sets = (layer > 0).sum(axis=1)
        assert (sets == (1 if len(first) else 0)).all()  # every unit is used, and is private to one set
        units = np.bincount(layer.argmax(axis=1), minlength=len(first)) if len(first) else np.zeros(0, int)
        assert not len(first) or np.ptp(units) <= 1  # and the sets have equal shares


@pytest.mark.parametrize("fan_in", [1, 2, 3, 16])
@pytest.mark.parametrize("parents", [1, 2, 5, 16, 17, 40, 300])
def test_no_unit_reads_more_than_the_cap_where_the_widths_allow_it(parents, fan_in):
    A = np.zeros((3, parents + 1), dtype=bool)
    A[0, :parents] = A[1, 1:] = True
    enough = 2 * -(-parents // fan_in)  # so that the units of a set can share its parents
    for width in (enough, enough + 1, 3 * enough + 2):
        f = weft.factorize(A, (width, width, width), method="grouped", fan_in=fan_in)
        assert f.lost == ()
        assert max(int(np.diff(mask.indptr).max()) for mask in f.masks_sparse[:-1]) <= fan_in


def test_narrow_layers_keep_every_edge_beyond_the_cap():
    f = weft.factorize(sink(100), (1, 1), method="grouped", fan_in=4)
    assert f.lost == ()
    assert f.weights == 99 + 1 + 1


def test_a_hundred_thousand_nodes_with_hubs():
    graph = weft.graph.random_dag(100_000, parents=3.0, hubs=1.0, seed=0)
    f = weft.factorize(graph, (200_000, 200_000), method="grouped")
    assert f.weights < 6 * graph.edges_count


@pytest.mark.parametrize("fan_in", [0, -1, 1.5, "16", None, True, np.nan, []], ids=str)
def test_a_fan_in_that_is_no_number_of_inputs_is_refused(fan_in):
    with pytest.raises(weft.FactorizationError, match=r"fan_in is .*, expected a whole number of at least 1"):
        weft.factorize(weft.graph.chain(3), (4,), method="grouped", fan_in=fan_in)


def test_a_huge_fan_in_is_no_cap():
    f = weft.factorize(sink(50), (3,), method="grouped", fan_in=2**100)
    assert f.masks[0].sum() == 3 * 49
