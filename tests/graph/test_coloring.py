"""Colorings are proper, have two colors where two suffice, and are those of DSATUR elsewhere."""

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import Graph
from weft.graph import _coloring, chain, full, neighbourhood, random_dag, star

SEEDED = settings(derandomize=True, database=None, deadline=None, max_examples=200)


@st.composite
def graphs(draw):
    """Denser than most DAGs, so that few skeletons are bipartite."""
    d = draw(st.integers(1, 14))
    pairs = [(a, b) for b in range(d) for a in range(b)]
    chosen = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    edges = [pair for pair, kept in zip(pairs, chosen, strict=True) if kept]
    return Graph.from_edges(edges, nodes=draw(st.permutations(range(d))))


def dsatur(skeleton):
    """Brélaz's algorithm taken literally: of the nodes most saturated the one of largest degree, then the first."""
    colors = {}
    while len(colors) < len(skeleton):

        def saturation(node):
            return len({colors[other] for other in skeleton[node] if other in colors})

        node = max((n for n in skeleton if n not in colors), key=lambda n: (saturation(n), skeleton.degree(n)))
        taken = {colors.get(other) for other in skeleton[node]}
        colors[node] = next(color for color in range(len(skeleton)) if color not in taken)
    return colors


def skeletons(graph):
    """The connected parts of the undirected skeleton, nodes in the order of the graph."""
    skeleton = graph.to_networkx().to_undirected()
    for names in nx.connected_components(skeleton):
        part = nx.Graph()
        part.add_nodes_from(name for name in graph if name in names)
        part.add_edges_from(skeleton.subgraph(names).edges)
        yield part


def check(graph):
    colors = graph.coloring()
    assert tuple(colors) == graph.nodes
    assert all(colors[parent] != colors[child] for parent, child in graph.edges)
    for part in skeletons(graph):
        used = {colors[name] for name in part}
        assert used == set(range(len(used)))
        assert (len(used) <= 2) == nx.is_bipartite(part)
        if not nx.is_bipartite(part):
            assert {name: colors[name] for name in part} == dsatur(part)
            assert len(used) == 1 + max(nx.greedy_color(part, "DSATUR").values())


@SEEDED
@given(graphs())
def test_dense_graphs(graph):
    check(graph)


@SEEDED
@given(st.from_type(nx.DiGraph))
def test_sparse_graphs(digraph):
    check(Graph.from_networkx(digraph))


def test_odd_shapes(shape):
    check(shape)


@pytest.mark.parametrize(
    ("graph", "count"),
    [
        (chain(50), 2),
        (star(50), 2),
        (full(12), 12),
        (Graph.from_edges([(i, i + 1) for i in range(6)] + [(0, 6)]), 3),
        (Graph.from_edges([((i, j), (i + a, j + 1 - a)) for i in range(6) for j in range(6) for a in (0, 1)]), 2),
        (neighbourhood(4, 4, 1), 4),
    ],
    ids=["chain", "star", "full", "odd cycle", "grid", "pixels"],
)
def test_known_numbers_of_colors(graph, count):
    assert len(set(graph.coloring().values())) == count


def test_a_node_enters_the_heap_once_for_each_edge_at_most(monkeypatch):
    graph = random_dag(3000, parents=3.0, hubs=1.0, seed=5)
    pushed = []
    push = _coloring.heappush
    monkeypatch.setattr(_coloring, "heappush", lambda heap, entry: (pushed.append(entry), push(heap, entry)))
    check_proper = graph.coloring()
    assert all(check_proper[parent] != check_proper[child] for parent, child in graph.edges)
    assert 0 < len(pushed) <= graph.edges_count
