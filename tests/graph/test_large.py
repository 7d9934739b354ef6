"""100,000 nodes and 300,000 edges: everything that promises work in proportion to the edges does what it promises."""

import pickle
import tracemalloc

import networkx as nx
import numpy as np
import pytest

from weft import Graph, GraphError
from weft.graph import _coloring, random_dag

NODES = 100_000


@pytest.fixture(scope="module")
def graph():
    return random_dag(NODES, parents=3.5, hubs=1.0, seed=1)


def test_order_and_generations(graph):
    parent, child = graph.adjacency(sparse=True).T.tocsr().nonzero()
    assert graph.edges_count > 300_000
    assert (graph.levels[parent] < graph.levels[child]).all()
    reached = np.zeros(NODES, dtype=int)
    np.maximum.at(reached, child, graph.levels[parent] + 1)
    assert np.array_equal(reached, graph.levels)
    assert sum(map(len, graph.generations)) == len(graph.order) == NODES


def test_it_is_read_and_copied(graph):
    edges, nodes = graph.edges, graph.nodes
    assert Graph.from_edges(edges, nodes=nodes) == pickle.loads(pickle.dumps(graph)) == graph
    assert len(edges) == graph.edges_count


def test_neighbours_are_those_of_networkx(graph):
    digraph = graph.to_networkx()
    for name in graph.nodes[:: NODES // 10]:
        assert set(graph.parents(name)) == set(digraph.predecessors(name))
        assert set(graph.children(name)) == set(digraph.successors(name))
        assert set(graph.ancestors(name)) == nx.ancestors(digraph, name)
        assert set(graph.descendants(name)) == nx.descendants(digraph, name)


def test_memory_is_that_of_the_edges(graph):
    matrix = graph.adjacency(sparse=True)
    tracemalloc.start()
    built = Graph(graph.nodes, matrix)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert built == graph
    assert peak < 200 * (NODES + graph.edges_count)


def test_the_coloring_is_proper_and_pushes_each_edge_once(graph, monkeypatch):
    pushed = []
    push = _coloring.heappush
    monkeypatch.setattr(_coloring, "heappush", lambda heap, entry: (pushed.append(1), push(heap, entry)))
    colors = np.array(list(graph.coloring().values()))
    child, parent = graph.adjacency(sparse=True).nonzero()
    assert (colors[parent] != colors[child]).all()
    assert colors.max() < 12
    assert len(pushed) <= graph.edges_count


def test_a_power_is_held_and_a_closure_refused(graph):
    assert graph.power(1) is graph
    with pytest.raises(GraphError, match=r"has at least [\d,]+ edges, more than max_edges=1,000; if memory allows"):
        graph.power(2, max_edges=1000)
    with pytest.raises(GraphError, match="the dense matrix of 100,000 nodes has 10,000,000,000 entries"):
        graph.adjacency()
