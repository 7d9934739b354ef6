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
_BRACED = re.compile(
    r"""(?:strict\s+)?(?:digraph|graph|dag|pdag|mag|pag)\b\s*(?:(?:"(?:\\.|[^"\\])*"|[^\s,;"{]+)\s*)?\{""",
    re.IGNORECASE,
)
_GML = re.compile(r"^[ \t]*graph\s*\[", re.MULTILINE)
_QUOTED = re.compile(r'"[^"]*"')
_HASH = re.compile(r"^[ \t]*#.*", re.MULTILINE)
_SEPARATORS = ",;\t"
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
    if _is_table(_QUOTED.sub("", text)):
        return read_csv
    raise GraphError(
        f"cannot tell the format of a text that begins {_first_line(text)!r}, expected {_FORMATS}; to read a file call "
        f"Graph.read(path)."
    )


def read_gml(text: str) -> Listing:
    """Read GML, the labels as names, or the ids of nodes without a label."""
    try:
        graph = nx.parse_gml(text, label=None)
    except Exception as error:  # networkx meets malformed GML with errors of any kind
        raise GraphError(f"the GML cannot be read: {error}.") from error
    if not graph.is_directed():
        raise GraphError("the GML graph is undirected, expected `directed 1` in its graph [ ... ] block.")
    names = {node: str(data.get("label", node)) for node, data in graph.nodes(data=True)}
    return list(names.values()), [(names[parent], names[child]) for parent, child in graph.edges()]


def read_csv(text: str) -> Listing:
    """Read a table with one edge a row, separated by commas, semicolons or tabs, with or without a header."""
    bare = _QUOTED.sub("", text)
    if not _is_table(bare):
        raise GraphError(
            f"a text that begins {_first_line(text)!r} is no table of edges, expected one `parent,child` per line, "
            f"separated by a comma, a semicolon or a tab, and a name with `->` in quotes."
        )
    if comment := _HASH.search(bare):
        raise GraphError(
            f"the line {comment.group()[:40]!r} begins with `#`, but a table of edges has no comments; remove it, or "
            f"put the name in quotes."
        )
    rows = _read_rows(text, _separator(bare))
    header = _find_header(rows[0][1]) if rows else None
    parent, child = header or (0, 1)
    width = len(rows[0][1]) if header else 2
    names: dict[Hashable, None] = {}
    edges: list[tuple[Hashable, Hashable]] = []
    for line, row in rows[1:] if header else rows:
        if any(row[width:]):
            wanted = f"the {width} of the header" if header else "a parent and a child; name the two in a header"
            raise GraphError(f"line {line}: got {len(row)} columns, expected {wanted}.")
        row += [""] * (width - len(row))
        named = [row[place] for place in sorted((parent, child)) if row[place]]
        names.update(dict.fromkeys(named))
        if len(named) == 2:
            edges.append((row[parent], row[child]))
    return list(names), edges


def _read_rows(text: str, separator: str) -> list[tuple[int, list[str]]]:
    # The rows with any entry, and the number of the line that each ends on.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True, strict=True)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    except csv.Error as error:
        raise GraphError(f"line {reader.line_num}: {error}.") from error
    return [(line, row) for line, row in rows if any(row)]


def _is_table(bare: str) -> bool:
    return "->" not in bare and any(sign in bare for sign in _SEPARATORS)


def _separator(bare: str) -> str:
    line = next(line for line in bare.splitlines() if any(sign in line for sign in _SEPARATORS))
    return "\t" if "\t" in line else max(",;", key=line.count)


def _find_header(row: list[str]) -> tuple[int, int] | None:
    lowered = [cell.lower() for cell in row]
    for parent, child in _HEADERS:
        if parent in lowered and child in lowered:
            return lowered.index(parent), lowered.index(child)
    return None


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0][:40]
