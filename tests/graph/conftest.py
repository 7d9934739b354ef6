"""What the tests of the room share: ``st.from_type(nx.DiGraph)`` draws a DAG, and ``shape`` runs over the odd ones."""

import networkx as nx
import pytest
from hypothesis import strategies as st

from weft import Graph

NAMES = st.text(max_size=4) | st.integers(-9, 99)


@st.composite
def dags(draw):
    """A DAG of at most nine nodes: any names, nodes in any order, isolated ones and none at all included."""
    names = draw(st.lists(NAMES, unique_by=str, max_size=9))
    causal = draw(st.permutations(names))
    pairs = [(parent, child) for place, child in enumerate(causal) for parent in causal[:place]]
    digraph = nx.DiGraph()
    digraph.add_nodes_from(names)
    digraph.add_edges_from(draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else [])
    return digraph


st.register_type_strategy(nx.DiGraph, dags())

SHAPES = {
    "no nodes": Graph.from_edges([]),
    "one node": Graph.from_edges([], nodes=["alone"]),
    "no edges": Graph.from_edges([], nodes=["a", "b", "c"]),
    "isolated nodes": Graph.from_edges([("a", "b")], nodes=["first", "a", "middle", "b", "last"]),
    "repeated edges": Graph.from_edges([("a", "b"), ("b", "c"), ("a", "b"), ("a", "b")]),
    "children first": Graph.from_edges([("b", "a"), ("c", "b"), ("d", "c"), ("d", "a")]),
    "chain": Graph.from_edges([(i, i + 1) for i in range(12)]),
    "star": Graph.from_edges([("hub", i) for i in range(12)]),
    "full": Graph.from_edges([(i, j) for j in range(9) for i in range(j)]),
    "diamond": Graph.from_parents({"d": ["b", "c"], "b": ["a"], "c": ["a"]}),
    "odd cycle": Graph.from_edges([("a", "b"), ("b", "c"), ("a", "c")]),
    "two parts": Graph.from_edges([("a", "b"), (1, 2), (1, 3), (2, 3)]),
}


@pytest.fixture(params=SHAPES.values(), ids=SHAPES)
def shape(request):
    return request.param
