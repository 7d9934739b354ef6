"""To and from networkx."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import networkx as nx
import scipy.sparse as sp

from .._errors import GraphError
from ._edges import read_edges

__all__ = ["from_digraph", "to_digraph"]


def from_digraph(graph: Any) -> tuple[tuple[Hashable, ...], sp.csr_array]:
    """Return the nodes of a `networkx.DiGraph` and its edges as a boolean CSR array whose rows are children."""
    if not isinstance(graph, nx.Graph):
        raise GraphError(
            f"got a {type(graph).__name__}, expected a networkx.DiGraph; for a matrix call Graph.from_adjacency, for "
            f"(parent, child) pairs Graph.from_edges."
        )
    if not graph.is_directed():
        raise GraphError(
            "got an undirected networkx graph, expected a DiGraph: direct its edges first, "
            "networkx.DiGraph([(parent, child), ...])."
        )
    return read_edges(graph.edges(), list(graph.nodes))


def to_digraph(nodes: Iterable[Hashable], edges: Iterable[tuple[Hashable, Hashable]]) -> nx.DiGraph:
    """Return a `networkx.DiGraph` with these nodes and edges in this order."""
    graph = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return graph
