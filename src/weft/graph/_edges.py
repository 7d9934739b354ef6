"""Edges and parent lists as people write them, read once into node names and a boolean CSR array."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Set
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._errors import GraphError, cut, show, suggest

__all__ = ["read_edges", "read_names", "read_parents"]

_UNORDERED = (set, frozenset)


def read_names(names: Any, what: str = "nodes") -> tuple[Hashable, ...]:
    """Check that names are a list of distinct hashables and return them as a tuple."""
    if isinstance(names, (str, bytes)):
        raise GraphError(f"{what} is the string {show(names)}, expected a list of names: {what}=[{show(names)}].")
    if isinstance(names, _UNORDERED):
        raise GraphError(f"{what} is a set, whose order changes from run to run: give a list, {what}=sorted(...).")
    try:
        listed = tuple(names)
    except TypeError:
        raise GraphError(f"{what} is {show(names)}, expected a list of names.") from None
    seen: dict[Hashable, None] = {}
    for each in listed:
        name = _check_name(each, what)
        if name in seen:
            raise GraphError(f"{what} names {show(name)} twice; every node needs a name of its own.")
        seen[name] = None
    return tuple(seen)


def read_edges(edges: Any, nodes: Any = None) -> tuple[tuple[Hashable, ...], sp.csr_array]:
    """Read an iterable of (parent, child) pairs into names and a boolean CSR array whose rows are children."""
    _check_edge_list(edges, nodes)
    book = _Book(nodes)
    for edge in edges:
        book.add(*_check_edge(edge))
    return book.close()


def read_parents(parents: Any, nodes: Any = None) -> tuple[tuple[Hashable, ...], sp.csr_array]:
    """Read a mapping from each child to the list of its parents into names and a boolean CSR array."""
    if not isinstance(parents, Mapping):
        raise GraphError(
            f"parents is a {type(parents).__name__}, expected a mapping {{child: [parents]}}; "
            f"for a list of (parent, child) pairs call Graph.from_edges(edges)."
        )
    book = _Book(nodes)
    for child, names in parents.items():
        if isinstance(names, (str, bytes)):
            raise GraphError(
                f"the parents of {show(child)} are the string {show(names)}, expected a list: [{show(names)}]."
            )
        if isinstance(names, _UNORDERED) and nodes is None:
            raise GraphError(
                f"the parents of {show(child)} are a set, whose order changes from run to run: give a list, or fix the "
                f"order of the columns with nodes=[...]."
            )
        if not _is_listing(names):
            raise GraphError(f"the parents of {show(child)} are {show(names)}, expected a list of names.")
        book.visit(child)
        for parent in names:
            book.add(parent, child)
    return book.close()


class _Book:
    """Numbers names in the order of their appearance, or as ``nodes`` says, and collects edges between them."""

    def __init__(self, nodes: Any) -> None:
        self.fixed = nodes is not None
        self.number: dict[Hashable, int] = {}
        if self.fixed:
            self.number = {name: place for place, name in enumerate(read_names(nodes))}
        self.tails: list[int] = []
        self.heads: list[int] = []

    def visit(self, name: Any, *edge: Any) -> int:
        """Return the number of a name; an error says where it was met: in an edge, or as a key."""
        try:
            place = self.number.get(name)
        except TypeError:
            place = None
        if place is None:
            where = f"the edge {' -> '.join(map(cut, edge))}" if edge else f"the key {show(name)}"
            name = _check_name(name, where)
            if self.fixed and name not in self.number:
                raise GraphError(
                    f"{where} names {show(name)}, which is not in nodes{suggest(name, self.number)}. Add it to "
                    f"nodes=, or leave nodes= out."
                )
            place = self.number.setdefault(name, len(self.number))
        return place

    def add(self, parent: Any, child: Any) -> None:
        self.tails.append(self.visit(parent, parent, child))
        self.heads.append(self.visit(child, parent, child))

    def close(self) -> tuple[tuple[Hashable, ...], sp.csr_array]:
        size = len(self.number)
        places = (np.asarray(self.heads, dtype=np.int64), np.asarray(self.tails, dtype=np.int64))
        matrix = sp.coo_array((np.ones(len(self.heads), dtype=bool), places), shape=(size, size)).tocsr()
        matrix.sum_duplicates()
        return tuple(self.number), matrix


def _check_name(name: Any, where: str) -> Hashable:
    if name is np.ma.masked:
        raise GraphError(f"{where}: a name is masked; fill the masked array first.")
    if getattr(name, "ndim", None) == 0:  # a number out of an array or a tensor
        name = name.item()
    try:
        hash(name)
        same = bool(name == name)  # a missing cell of a table equals nothing
    except (TypeError, ValueError, RuntimeError):
        same = False
    if name is None or not same or hasattr(name, "ndim"):
        raise GraphError(
            f"{where}: {show(name)} is a {type(name).__name__} and cannot name a node; expected a string, a number or "
            f"another hashable value."
        )
    named: Hashable = name
    return named


def _check_edge_list(edges: Any, nodes: Any) -> None:
    if isinstance(edges, (str, bytes)):
        raise GraphError(
            f"edges is the string {show(edges)}, expected a list of (parent, child) pairs; for text call "
            f"Graph.from_text(text)."
        )
    if isinstance(edges, Mapping) and not isinstance(edges, Set):  # the edge view of networkx is both
        raise GraphError(
            "edges is a mapping, expected a list of (parent, child) pairs; for {child: [parents]} call "
            "Graph.from_parents(parents)."
        )
    if hasattr(edges, "is_directed"):
        raise GraphError(
            "edges is a networkx graph, expected a list of (parent, child) pairs; call Graph.from_networkx(graph)."
        )
    if hasattr(edges, "columns"):
        raise GraphError(
            "edges is a table, expected a list of (parent, child) pairs; call "
            "Graph.from_edges(table.itertuples(index=False))."
        )
    if isinstance(edges, _UNORDERED) and nodes is None:
        raise GraphError(
            "edges is a set, whose order changes from run to run: give a list, or fix the order of the columns with "
            "nodes=[...]."
        )
    shape = tuple(getattr(edges, "shape", ()))
    if sp.issparse(edges) or (len(shape) == 2 and shape[1] != 2):
        raise GraphError(
            f"edges has shape {shape}, expected a list of (parent, child) pairs; for an adjacency matrix call "
            f"Graph.from_adjacency(matrix)."
        )
    if not _is_listing(edges):
        raise GraphError(f"edges is {show(edges)}, expected a list of (parent, child) pairs.")


def _check_edge(edge: Any) -> tuple[Any, Any]:
    if type(edge) is tuple and len(edge) == 2:
        return edge
    if not _is_listing(edge) or isinstance(edge, (str, bytes, Mapping, *_UNORDERED)):
        raise GraphError(f"the edge {show(edge)} is a {type(edge).__name__}, expected a pair (parent, child).")
    ends = tuple(edge)
    if len(ends) != 2:
        raise GraphError(
            f"the edge {show(edge)} has {len(ends)} elements, expected a pair (parent, child); to drop weights call "
            f"Graph.from_edges([(a, b) for a, b, *_ in edges])."
        )
    return ends


def _is_listing(value: Any) -> bool:
    # An array without dimensions says that it can be iterated, and fails.
    return isinstance(value, Iterable) and getattr(value, "ndim", None) != 0
