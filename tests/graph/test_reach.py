"""Closure and powers against networkx, and their exact size where they are too large to hold."""

import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import Graph, GraphError
from weft.graph import _reach, chain, full, previous, random_dag

SEEDED = settings(derandomize=True, database=None, deadline=None, max_examples=100)
DAGS = st.from_type(nx.DiGraph)


def within(digraph, steps):
    """All (ancestor, node) pairs with a path of at most ``steps`` edges."""
    lengths = dict(nx.all_pairs_shortest_path_length(digraph, cutoff=steps))
    return {(a, b) for a, reached in lengths.items() for b, length in reached.items() if length > 0}


@SEEDED
@given(DAGS)
def test_closure_is_that_of_networkx(digraph):
    closure = Graph.from_networkx(digraph).closure()
    assert set(closure.edges) == set(nx.transitive_closure_dag(digraph).edges)
    assert closure.nodes == tuple(digraph)
    assert closure.closure() == closure


@SEEDED
@given(DAGS, st.integers(1, 10))
def test_a_power_has_every_ancestor_within_its_steps(digraph, k):
    graph = Graph.from_networkx(digraph)
    power = graph.power(k)
    assert set(power.edges) == within(digraph, k)
    once = np.eye(len(graph), dtype=int) + graph.adjacency()
    several = np.linalg.matrix_power(once, k) if len(graph) else once
    assert np.array_equal(power.adjacency(), (several > 0) & ~np.eye(len(graph), dtype=bool))


@SEEDED
@given(DAGS)
def test_generations_stay_what_they_were(digraph):
    graph = Graph.from_networkx(digraph)
    for wider in (graph.closure(), graph.power(2)):
        assert wider.generations == graph.generations
        assert wider == Graph.from_edges(wider.edges, nodes=graph.nodes)
        assert hash(wider) == hash(Graph.from_edges(wider.edges, nodes=graph.nodes))


def test_odd_shapes(shape):
    digraph = shape.to_networkx()
    assert set(shape.closure().edges) == set(nx.transitive_closure_dag(digraph).edges)
    assert shape.power(1) == shape
    assert shape.power(max(shape.depth, 1)) == shape.closure()


@pytest.mark.parametrize("bits", [1, 2**13], ids=["blocks of 64 columns", "blocks of other sizes"])
def test_blocks_of_columns_make_one_whole(bits, monkeypatch):
    graph = random_dag(150, parents=2.0, seed=3)
    digraph = graph.to_networkx()
    monkeypatch.setattr(_reach, "_BLOCK_BITS", bits)
    monkeypatch.setattr(_reach, "_CHUNK_BYTES", 64)
    assert set(graph.closure().edges) == set(nx.transitive_closure_dag(digraph).edges)
    assert set(graph.power(3).edges) == within(digraph, 3)


@SEEDED
@given(DAGS)
def test_one_edge_too_many_is_refused_with_the_size(digraph):
    graph = Graph.from_networkx(digraph)
    count = nx.transitive_closure_dag(digraph).number_of_edges()
    assert graph.closure(max_edges=count).edges_count == count
    if graph.depth > 1:
        with pytest.raises(GraphError, match=f"has {count} edges, more than max_edges={count - 1}.*max_edges={count}"):
            graph.closure(max_edges=count - 1)


def test_a_closure_too_large_to_hold_is_refused_with_its_exact_size():
    message = "the closure of Graph(30000 nodes, 29999 edges, depth 29999) has 449,985,000 edges, more than max_edges="
    with pytest.raises(GraphError, match=re.escape(message + "50,000,000; if memory allows")):
        chain(30_000).closure()
    with pytest.raises(
        GraphError, match=r"power\(3\) of Graph\(.*\) has at least 89,994 edges, more than max_edges=1,000;"
    ):
        chain(30_000).power(3, max_edges=1000)


def test_no_limit_is_a_limit():
    assert chain(4).closure(max_edges=float("inf")) == full(4)


@pytest.mark.parametrize("k", [0, -1, 1.5, "2", True, None])
def test_a_power_is_a_whole_number(k):
    with pytest.raises(GraphError, match=r"^power: k is .*, expected a whole number of at least 1\.$"):
        chain(3).power(k)


@pytest.mark.parametrize("limit", [-1, "many", None, float("nan"), True])
def test_a_limit_is_a_number(limit):
    for reach in (chain(3).closure, lambda max_edges: chain(3).power(2, max_edges)):
        with pytest.raises(GraphError, match=r"^max_edges is .*, expected a number of at least 0\.$"):
            reach(max_edges=limit)


def test_a_power_is_refused_before_it_is_built(monkeypatch):
    def nothing(*_):
        raise AssertionError

    monkeypatch.setattr("weft.graph._reach._block", nothing)
    with pytest.raises(
        GraphError, match=r"power\(1000\) of .* has at least 99,499,500 edges, more than .*a larger max"
    ):
        chain(100_000).power(1000)


def test_a_power_stops_at_the_first_block_too_many(monkeypatch):
    blocks, build = [], _reach._block

    def counted(*arguments):
        blocks.append(arguments)
        return build(*arguments)

    monkeypatch.setattr("weft.graph._reach._BLOCK_BITS", 1)
    monkeypatch.setattr("weft.graph._reach._block", counted)
    with pytest.raises(GraphError, match="has at least"):
        previous(1000, 5).power(2, max_edges=3000)
    assert 1 <= len(blocks) < 10
