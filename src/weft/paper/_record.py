"""Results as files: a JSON with the machine and the versions, and the tables for people to read."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from .._arguments import check_word
from .._errors import show as show_value

__all__ = ["PACKAGES", "Row", "distinct", "mean", "plain", "show", "where", "write"]

PACKAGES = ("weft", "torch", "numpy", "scipy", "networkx")
"""The packages whose versions a result depends on."""

Row = dict[str, Any]


def write(
    folder: Path,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
    note: str = "",
    packages: Sequence[str] = PACKAGES,
    device: str = "cpu",
    **facts: Any,
) -> None:
    """Write rows to ``NAME.json`` with the machine and the versions, and tables to ``NAME.md``.

    Args:
        folder: Where to write; it is made if it does not exist.
        name: Name of the files, without a suffix.
        rows: What was measured, all of it.
        tables: What people should read, by title; each row has the same keys, which are the headings.
        note: Sentences below the tables.
        packages: The packages whose versions are recorded, where installed.
        device: What computed the rows: ``"cpu"`` or ``"cuda"``.
        facts: Anything else that the JSON should hold.

    Examples:
        >>> import json, pathlib, tempfile
        >>> from weft.paper import write
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write(pathlib.Path(folder), "areas", [{"side": 3, "area": 9}], {"Areas": [{"side": 3, "area": 9}]})
        ...     record = json.loads((pathlib.Path(folder) / "areas.json").read_text())
        >>> sorted(record)
        ['device', 'machine', 'rows', 'threads', 'versions']
    """
    folder.mkdir(parents=True, exist_ok=True)
    check_word("device", device, "cpu", "cuda", error=ValueError)
    used = torch.cuda.get_device_name() if device == "cuda" else f"{os.cpu_count()} CPU cores"
    machine = {"machine": platform.machine(), "device": used, "threads": torch.get_num_threads()}
    versions = {"python": platform.python_version(), **{each: found for each in packages if (found := _version(each))}}
    record = {**machine, "versions": versions, **facts, "rows": list(rows)}
    (folder / f"{name}.json").write_text(json.dumps(record, indent=1, default=plain) + "\n", encoding="utf-8")

    known = ", ".join(f"{package} {number}" for package, number in versions.items())
    parts = [part for title, table in tables.items() for part in (title and f"**{title}**", _markdown(table))]
    text = "\n\n".join(part for part in (*parts, note, f"*{used}; {known}.*") if part)
    (folder / f"{name}.md").write_text(text + "\n", encoding="utf-8")


def show(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table whose headings are the keys of its rows.

    Examples:
        >>> from weft.paper import show
        >>> show("Areas", [{"side": 3, "area": 9}])
             Areas
        ┏━━━━━━┳━━━━━━┓
        ┃ side ┃ area ┃
        ┡━━━━━━╇━━━━━━┩
        │ 3    │ 9    │
        └──────┴──────┘
    """
    table = Table(*_headings(rows), title=title)
    for row in rows:
        table.add_row(*map(_cell, row.values()))
    Console(width=None if Console().is_terminal else 160).print(table)


def where(rows: Sequence[Row], **values: Any) -> list[Row]:
    """Return the rows that have these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in values.items())]


def distinct(rows: Sequence[Row], key: str) -> list[Any]:
    """Return the values of a key, each once, in the order of the rows."""
    return list(dict.fromkeys(row[key] for row in rows))


def mean(rows: Sequence[Row], key: str) -> float:
    """Return the mean of a key."""
    return float(np.mean([row[key] for row in rows]))


def _markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    headings = _headings(rows)
    lines = [headings, ["---"] * len(headings), *([_cell(value) for value in row.values()] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _headings(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(rows[0]) if rows else []


def _cell(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def plain(value: Any) -> Any:
    """Return NumPy's numbers and arrays as Python's."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"{show_value(value)} is a {type(value).__name__}, which JSON cannot hold.")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
