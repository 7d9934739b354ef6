"""Graphs written as text: tell the format, read names and edges."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Hashable
from typing import Any

import networkx as nx

from .._errors import GraphError
from ._dot import read_dot

__all__ = ["Listing", "read_csv", "read_gml", "read_text"]

Listing = tuple[list[Hashable], list[tuple[Hashable, Hashable]]]
"""Names in order of appearance, and (parent, child) pairs between them."""

_FORMATS = (
    "DOT (`digraph { a -> b }`), dagitty (`dag { a -> b }`), GML (`graph [ directed 1 ... ]`) or a table of edges "
    "(one `parent,child` per line)"
)
_COMMENT = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.DOTALL)
_BRACED = re.compile(r'(?:strict\s+)?(?:digraph|graph|dag|pdag|mag|pag)\b\s*(?:"(?:\\.|[^"\\])*"|[\w.]+)?\s*\{', re.I)
_GML = re.compile(r"^\s*graph\s*\[", re.MULTILINE)
_HEADERS = (("from", "to"), ("source", "target"), ("parent", "child"), ("cause", "effect"))


def read_text(text: Any) -> Listing:
    """Tell whether a text is DOT, dagitty, GML or a table of edges, and read it."""
    if not isinstance(text, str):
        raise GraphError(f"text is a {type(text).__name__}, expected a string; for a file call Graph.read(path).")
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise GraphError(f"the text is empty, expected {_FORMATS}.")
    return _sniff(text)(text)


def _sniff(text: str) -> Callable[[str], Listing]:
    opening = _COMMENT.match(text)
    if _BRACED.match(text, opening.end() if opening else 0):
        return read_dot
    if _GML.search(text):
        return read_gml
    line = text.strip().splitlines()[0]
    bare = re.sub(r'"[^"]*"', "", text)
    if "->" not in bare and any(sign in bare for sign in ",;\t"):
        return read_csv
    raise GraphError(
        f"cannot tell the format of a text that begins {line[:40]!r}, expected {_FORMATS}; to read a file call "
        f"Graph.read(path)."
    )


def read_gml(text: str) -> Listing:
    """Read GML, the labels as names."""
    label = "label" if re.search(r"\blabel\b", text) else "id"
    try:
        graph = nx.parse_gml(text, label=label)
    except (nx.NetworkXError, ValueError) as error:
        raise GraphError(f"the GML cannot be read: {error}.") from error
    if not graph.is_directed():
        raise GraphError("the GML graph is undirected, expected `directed 1` in its graph [ ... ] block.")
    return [str(name) for name in graph.nodes], [(str(parent), str(child)) for parent, child in graph.edges()]


def read_csv(text: str) -> Listing:
    """Read a table with one edge a row, separated by commas, semicolons or tabs, with or without a header."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text), skipinitialspace=True, strict=True)
    header: tuple[int, int] | None = None
    names: dict[Hashable, None] = {}
    edges: list[tuple[Hashable, Hashable]] = []
    begun = False
    try:
        for cells in reader:
            row = [cell.strip() for cell in cells]
            if not any(row):
                continue
            if not begun:
                begun = True
                header = _find_header(row)
                if header is not None:
                    continue
            ends = _pick(row, header, reader.line_num)
            reversed_columns = header is not None and header[0] > header[1]
            names.update(dict.fromkeys(ends[::-1] if reversed_columns else ends))
            if len(ends) == 2:
                edges.append((ends[0], ends[1]))
    except csv.Error as error:
        raise GraphError(f"line {reader.line_num}: {error}.") from error
    return list(names), edges


def _separator(text: str) -> str:
    bare = re.sub(r'"[^"]*"', "", text)
    line = next((line for line in bare.splitlines() if any(sign in line for sign in ",;\t")), "")
    return "\t" if "\t" in line else max(",;", key=line.count)


def _find_header(row: list[str]) -> tuple[int, int] | None:
    lowered = [cell.lower() for cell in row]
    for parent, child in _HEADERS:
        if parent in lowered and child in lowered:
            return lowered.index(parent), lowered.index(child)
    return None


def _pick(row: list[str], header: tuple[int, int] | None, line: int) -> list[str]:
    if header is None:
        if len(row) > 2:
            raise GraphError(
                f"line {line}: got {len(row)} columns, expected a parent and a child; name the two in a header "
                f"(parent,child), or for a matrix call Graph.from_adjacency."
            )
        cells = row
    else:
        if len(row) <= max(header):
            row = row + [""] * (max(header) + 1 - len(row))
        cells = [row[header[0]], row[header[1]]]
    return [cell for cell in cells if cell]
