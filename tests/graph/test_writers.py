"""What is written is read back, with any names."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import Graph, GraphError
from weft.graph import chain

SEEDED = settings(derandomize=True, database=None, deadline=None, max_examples=75)
DAGS = st.from_type(nx.DiGraph)

# Each writes a graph and reads it back; text keeps names as strings.
ROUND_TRIPS = {
    "networkx": lambda graph: Graph.from_networkx(graph.to_networkx()),
    "matrix": lambda graph: Graph.from_adjacency(graph.adjacency(), graph.nodes, "row_is_child"),
    "sparse matrix": lambda graph: Graph(graph.nodes, graph.adjacency(sparse=True)),
    "edges": lambda graph: Graph.from_edges(graph.edges, nodes=graph.nodes),
    "parents": lambda graph: Graph.from_parents({n: graph.parents(n) for n in graph}, nodes=graph.nodes),
}
TEXTS = {"DOT": Graph.to_dot, "GML": Graph.to_gml}
AWKWARD = ["", " ", "a b", '"', '"quoted"', "'", "\\", "\\n", "line\nbreak", "\r\n", "\t", "é", "变量", "🎲", "a->b"]
AWKWARD += [
    "{",
    "];",
    "node",
    "graph [",
    "digraph {",
    "//",
    "/*",
    "# c",
    "&amp;",
    "&#65;",
    "<b>",
    "a,b",
    "a:b",
    "-1",
    ".",
]


def in_strings(graph):
    return Graph([str(name) for name in graph], graph.adjacency(sparse=True))


@pytest.mark.parametrize("round_trip", ROUND_TRIPS.values(), ids=ROUND_TRIPS)
@SEEDED
@given(digraph=DAGS)
def test_round_trip(round_trip, digraph):
    graph = Graph.from_networkx(digraph)
    assert round_trip(graph) == graph


@pytest.mark.parametrize("round_trip", ROUND_TRIPS.values(), ids=ROUND_TRIPS)
def test_round_trip_of_odd_shapes(round_trip, shape):
    assert round_trip(shape) == shape


@pytest.mark.parametrize("write", TEXTS.values(), ids=TEXTS)
@SEEDED
@given(digraph=DAGS)
def test_round_trip_as_text(write, digraph):
    graph = Graph.from_networkx(digraph)
    assert Graph.from_text(write(graph)) == in_strings(graph)


@pytest.mark.parametrize("write", TEXTS.values(), ids=TEXTS)
def test_round_trip_of_odd_shapes_as_text(write, shape):
    assert Graph.from_text(write(shape)) == in_strings(shape)


@pytest.mark.parametrize("write", TEXTS.values(), ids=TEXTS)
def test_round_trip_of_awkward_names(write):
    graph = Graph.from_edges(pairwise(AWKWARD))
    assert Graph.from_text(write(graph)) == graph


@SEEDED
@given(DAGS)
def test_networkx_reads_what_is_written(digraph):
    graph = Graph.from_networkx(digraph)
    written = graph.to_networkx()
    assert list(written) == list(digraph)
    assert set(written.edges) == set(digraph.edges)
    gml = nx.parse_gml(graph.to_gml())
    assert set(gml.edges) == {(str(parent), str(child)) for parent, child in digraph.edges}


@SEEDED
@given(DAGS)
def test_the_matrix_is_that_of_networkx_transposed(digraph):
    graph = Graph.from_networkx(digraph)
    dense, sparse = graph.adjacency(), graph.adjacency(sparse=True)
    assert dense.dtype == sparse.dtype == bool
    assert np.array_equal(dense, nx.to_numpy_array(digraph).T)
    assert np.array_equal(dense, sparse.toarray())
    assert isinstance(sparse, sp.csr_array)
    assert sparse.has_canonical_format


@pytest.mark.parametrize("write", TEXTS.values(), ids=TEXTS)
def test_two_names_written_alike_are_refused(write):
    with pytest.raises(GraphError, match="the nodes 1 and '1' are both written '1'; rename one of them first"):
        write(Graph.from_edges([(1, "1")]))


def test_a_dense_matrix_too_large_is_refused_with_its_size():
    with pytest.raises(GraphError, match=r"of 20,000 nodes has 400,000,000 entries; call adjacency\(sparse=True\)"):
        chain(20_000).adjacency()
