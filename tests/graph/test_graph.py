"""What a graph says about itself, against networkx, and that it is a value: immutable, hashable, copyable."""

import copy
import pickle
import re
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import Graph, GraphError

SEEDED = settings(derandomize=True, database=None, deadline=None, max_examples=75)
DAGS = st.from_type(nx.DiGraph)


def check_against_networkx(graph, digraph):
    place = {name: k for k, name in enumerate(digraph)}

    def in_order(names):
        return tuple(sorted(names, key=place.get))

    generations = tuple(in_order(names) for names in nx.topological_generations(digraph))
    assert graph.nodes == tuple(digraph) == tuple(graph)
    assert len(graph) == len(digraph)
    assert graph.edges == tuple(sorted(digraph.edges, key=lambda edge: (place[edge[0]], place[edge[1]])))
    assert graph.edges_count == digraph.number_of_edges()
    assert graph.generations == generations
    assert graph.order == tuple(name for names in generations for name in names)
    assert graph.depth == (nx.dag_longest_path_length(digraph) if digraph else 0)
    assert graph.levels.tolist() == [next(k for k, names in enumerate(generations) if n in names) for n in digraph]
    for name in digraph:
        assert graph.index(name) == place[name]
        assert graph.parents(name) == in_order(digraph.predecessors(name))
        assert graph.children(name) == in_order(digraph.successors(name))
        assert graph.ancestors(name) == in_order(nx.ancestors(digraph, name))
        assert graph.descendants(name) == in_order(nx.descendants(digraph, name))
        assert name in graph


@SEEDED
@given(DAGS)
def test_it_says_what_networkx_says(digraph):
    check_against_networkx(Graph.from_networkx(digraph), digraph)


def test_odd_shapes_say_what_networkx_says(shape):
    check_against_networkx(shape, shape.to_networkx())


@SEEDED
@given(DAGS)
def test_order_is_topological(digraph):
    order = Graph.from_networkx(digraph).order
    assert sorted(map(str, order)) == sorted(map(str, digraph))
    assert all(order.index(parent) < order.index(child) for parent, child in digraph.edges)


def test_names_it_does_not_have_are_not_in_it():
    graph = Graph.from_edges([("a", "b")])
    assert "c" not in graph
    assert ["a"] not in graph


# A value


@SEEDED
@given(DAGS)
def test_equal_graphs_have_equal_hashes(digraph):
    graph = Graph.from_networkx(digraph)
    again = Graph.from_edges(sorted(digraph.edges, key=str), nodes=list(digraph))
    wide = Graph(list(digraph), graph.adjacency(sparse=True).astype(np.int64))
    assert graph == again == wide
    assert hash(graph) == hash(again) == hash(wide)
    assert len({graph, again, wide}) == 1


@SEEDED
@given(DAGS)
def test_a_change_makes_another_graph(digraph):
    graph, nodes = Graph.from_networkx(digraph), list(digraph)
    assert graph != Graph.from_edges(digraph.edges, nodes=[*nodes, "another name"])
    for edge in digraph.edges:
        assert graph != Graph.from_edges([each for each in digraph.edges if each != edge], nodes=nodes)
    if len(nodes) > 1:
        assert graph != Graph.from_edges(digraph.edges, nodes=nodes[::-1])


def test_a_graph_is_equal_to_no_other_thing():
    graph = Graph.from_edges([("a", "b")])
    assert graph != graph.edges
    assert graph != "graph"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda graph: pickle.loads(pickle.dumps(graph))])
def test_copies_are_equal(copied, shape):
    twin = copied(shape)
    assert twin == shape
    assert hash(twin) == hash(shape)
    assert twin.order == shape.order


def test_a_graph_cannot_be_changed():
    graph = Graph.from_edges([("a", "b"), ("b", "c")])
    before = hash(graph), graph.edges
    with pytest.raises(AttributeError, match="a Graph cannot be changed: cannot set 'nodes'; build a new one"):
        graph.nodes = ("x",)
    with pytest.raises(AttributeError, match="cannot set 'colour'"):
        graph.colour = "red"
    with pytest.raises(AttributeError, match="a Graph cannot be changed: cannot delete '_nodes'"):
        del graph._nodes
    with pytest.raises(ValueError, match="read-only"):
        graph.levels[0] = 5
    graph.adjacency()[:] = True
    graph.adjacency(sparse=True).data[:] = False
    graph.to_networkx().add_edge("c", "d")
    assert before == (hash(graph), graph.edges)


def test_what_it_was_made_from_may_change():
    matrix = np.array([[0, 0], [1, 0]])
    sparse = Graph.from_edges([("a", "b")]).adjacency(sparse=True)
    from_matrix, from_sparse = Graph.from_adjacency(matrix), Graph.from_adjacency(sparse)
    matrix[:] = 0
    sparse.data[:] = False
    assert from_matrix.edges == from_sparse.edges == (("x0", "x1"),)


@pytest.mark.parametrize(
    ("graph", "text"),
    [
        (Graph.from_edges([]), "Graph(0 nodes, 0 edges, depth 0)"),
        (Graph.from_edges([], nodes=["a"]), "Graph(1 node, 0 edges, depth 0: a)"),
        (Graph.from_edges([("a", 1)]), "Graph(2 nodes, 1 edge, depth 1: a, 1)"),
        (Graph.from_edges([(i, i + 1) for i in range(6)]), "Graph(7 nodes, 6 edges, depth 6)"),
    ],
)
def test_repr_is_short(graph, text):
    assert repr(graph) == text


# Bad input


@pytest.mark.parametrize("asked", ["index", "parents", "children", "ancestors", "descendants"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("markr", "no node is named 'markr' (did you mean 'marker'?); the nodes are dose, marker, age."),
        ("z", "no node is named 'z'; the nodes are dose, marker, age."),
        (["dose"], "no node is named ['dose'] (did you mean 'dose'?); the nodes are dose, marker, age."),
        (None, "no node is named None; the nodes are dose, marker, age."),
        (0, "no node is named 0; the nodes are dose, marker, age."),
    ],
)
def test_an_unknown_name_gets_the_closest_one(asked, name, message):
    graph = Graph.from_edges([("dose", "marker")], nodes=["dose", "marker", "age"])
    with pytest.raises(GraphError, match=f"^{re.escape(message)}$"):
        getattr(graph, asked)(name)


def test_many_names_are_elided():
    with pytest.raises(GraphError, match=re.escape("the nodes are 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … (99 in all).")):
        Graph.from_edges([], nodes=range(99)).index("a")


CYCLES = {
    "cycle: dose -> marker -> dose. A Graph must be acyclic; remove one of these edges.": [
        ("dose", "marker"),
        ("marker", "dose"),
    ],
    "cycle: a -> b -> c -> a. A Graph must be acyclic; remove one of these edges.": [
        ("root", "a"),
        ("a", "b"),
        ("b", "c"),
        ("c", "a"),
        ("c", "leaf"),
    ],
    "cycle: a -> a. A Graph must be acyclic; remove this edge.": [("a", "a"), ("a", "b")],
    "cycle: 0 -> 1 -> 2 -> 3 -> … (24 more) -> 28 -> 29 -> 0. A Graph must be acyclic; remove one of these edges.": [
        (i, (i + 1) % 30) for i in range(30)
    ],
}


@pytest.mark.parametrize("message", CYCLES)
def test_a_cycle_is_printed(message):
    with pytest.raises(GraphError, match=f"^{re.escape(message)}$"):
        Graph.from_edges(CYCLES[message])


@SEEDED
@given(DAGS, st.data())
def test_a_cycle_that_is_printed_is_there(digraph, data):
    digraph = nx.relabel_nodes(digraph, {name: f"n{place}" for place, name in enumerate(digraph)})
    paths = [(a, b) for a in digraph for b in (a, *nx.descendants(digraph, a))]
    if not paths:
        return
    first, last = data.draw(st.sampled_from(paths))
    digraph.add_edge(last, first)
    with pytest.raises(GraphError, match=r"^cycle: ") as error:
        Graph.from_networkx(digraph)
    cycle = re.match(r"cycle: (.*)\. A Graph", str(error.value)).group(1).split(" -> ")
    assert cycle[0] == cycle[-1]
    assert len(set(cycle)) == len(cycle) - 1
    assert all(digraph.has_edge(parent, child) for parent, child in pairwise(cycle))


def test_a_graph_is_made_once():
    graph = Graph.from_edges([("a", "b")])
    with pytest.raises(AttributeError, match="a Graph cannot be changed"):
        graph.__init__(["c"], [[0]])
    assert graph.nodes == ("a", "b")


def test_levels_cannot_be_written_through():
    for graph in (Graph.from_edges([("a", "b")]), pickle.loads(pickle.dumps(Graph.from_edges([("a", "b")])))):
        with pytest.raises(ValueError, match="read-only"):
            graph.levels[0] = 7
        with pytest.raises(ValueError, match="WRITEABLE"):
            graph.levels.flags.writeable = True
