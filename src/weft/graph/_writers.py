"""Graphs as text."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import networkx as nx

from .._errors import GraphError

__all__ = ["write_dot", "write_gml"]

_Edges = Iterable[tuple[Hashable, Hashable]]


def write_dot(nodes: Sequence[Hashable], edges: _Edges) -> str:
    """Write DOT, every name quoted, all nodes first so that their order is kept."""
    quoted = {name: _quote(text) for name, text in _as_text(nodes).items()}
    lines = [f"  {name};" for name in quoted.values()]
    lines += [f"  {quoted[parent]} -> {quoted[child]};" for parent, child in edges]
    return "\n".join(["digraph {", *lines, "}"])


def write_gml(nodes: Sequence[Hashable], edges: _Edges) -> str:
    """Write GML, the names as labels."""
    text = _as_text(nodes)
    graph = nx.DiGraph()
    graph.add_nodes_from(text.values())
    graph.add_edges_from((text[parent], text[child]) for parent, child in edges)
    return "\n".join(nx.generate_gml(graph))


def _as_text(nodes: Sequence[Hashable]) -> dict[Hashable, str]:
    text = {name: str(name) for name in nodes}
    seen: dict[str, Hashable] = {}
    for name, written in text.items():
        if written in seen:
            raise GraphError(
                f"the nodes {seen[written]!r} and {name!r} are both written {written!r}; rename one of them first."
            )
        seen[written] = name
    return text


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
