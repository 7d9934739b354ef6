"""A file that keeps what the steps of a long run returned, so that one that was stopped goes on."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ._record import Row, plain

__all__ = ["Journal"]


class Journal:
    """The rows of the steps that are done, in a file with a line for each; lines that are broken end it.

    Args:
        path: The file; it is taken up if it is of the same run, and begun anew if not.
        run: What identifies the run.

    Examples:
        >>> import pathlib, tempfile
        >>> from weft.paper import Journal
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "squares.jsonl")
        ...     first = [step() for step in Journal(path, "squares").steps([lambda: [{"square": 4}]])]
        ...     again = [step() for step in Journal(path, "squares").steps([lambda: [{"square": 5}]])]
        >>> first == again
        True
    """

    def __init__(self, path: Path, run: str) -> None:
        self._path = path
        self._known: list[list[Row]] = []
        head = json.dumps({"run": run})
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
        if lines and lines[0] == head:
            self._known += itertools.takewhile(_is_step, map(_read_line, lines[1:]))
        kept = [head, *map(json.dumps, self._known)]
        path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")

    def steps(self, steps: Iterable[Any]) -> Iterator[Any]:
        """Wrap steps, functions that return rows, so that each is run in one of all runs; leave other cases alone."""
        for number, step in enumerate(steps):
            yield partial(self._once, number, step) if callable(step) else step

    def close(self) -> None:
        """Remove the file: the run is done."""
        self._path.unlink()

    def _once(self, number: int, step: Callable[[], list[Row]]) -> list[Row]:
        if number == len(self._known):
            self._known.append(step())
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(self._known[number], default=plain) + "\n")
        found: list[Row] = self._known[number]
        return found


def _read_line(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:  # cut off while it was written
        return None


def _is_step(found: Any) -> bool:
    return isinstance(found, list) and bool(found) and all(isinstance(row, dict) for row in found)
