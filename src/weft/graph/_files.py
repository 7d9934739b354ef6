"""Graphs in files, told by their suffix."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._errors import GraphError, show, suggest
from ._dot import read_dot
from ._text import Listing, read_csv, read_gml, read_text

__all__ = ["naming", "read_file"]

_TEXTS = {
    ".dot": read_dot,
    ".gv": read_dot,
    ".gml": read_gml,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".dag": read_dot,
    ".dagitty": read_dot,
    ".txt": read_text,
}
_ARRAYS = (".npy", ".npz")


def read_file(path: str | os.PathLike[str]) -> Listing | Any:
    """Read names and edges from a text file, or a matrix from a NumPy or SciPy file."""
    file = Path(path)
    suffix = file.suffix.lower()
    if suffix not in _TEXTS and suffix not in _ARRAYS:
        known = [*_TEXTS, *_ARRAYS]
        raise GraphError(
            f"its suffix is {show(suffix)}, expected one of {' '.join(known)}{suggest(suffix, known)}; for text call "
            f"Graph.from_text(text)."
        )
    data = _read_bytes(file)
    if suffix in _ARRAYS:
        return _read_array(data)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GraphError(f"it is not UTF-8 text: {error}.") from error
    return _TEXTS[suffix](text) if text.strip() else read_text(text)  # the last says what a text may be


@contextmanager
def naming(path: Any) -> Iterator[None]:
    """Name the file in every error met while a graph is read from it."""
    if not isinstance(path, (str, os.PathLike)):
        raise GraphError(f"path is {show(path)}, expected a string or a pathlib.Path.")
    try:
        yield
    except GraphError as error:
        raise GraphError(f"{os.fspath(path)!r}: {error}") from error


def _read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError as error:
        near = [each.name for each in file.parent.iterdir()] if file.parent.is_dir() else []
        raise GraphError(f"there is no such file{suggest(file.name, near)}.") from error
    except (OSError, ValueError) as error:
        raise GraphError(f"it cannot be read: {error}.") from error


def _read_array(data: bytes) -> Any:
    try:
        found = np.load(io.BytesIO(data), allow_pickle=False)
        if isinstance(found, np.ndarray):
            return found
        names = found.files
        if "format" in names and "shape" in names:
            return sp.load_npz(io.BytesIO(data))
        arrays = [found[name] for name in names[:1]]
    except Exception as error:  # NumPy and SciPy meet malformed files with errors of any kind
        raise GraphError(f"it is not a NumPy file of numbers: {error}.") from error
    if len(names) != 1:
        raise GraphError(
            f"it holds {len(names)} arrays ({', '.join(names)}), expected one 0/1 matrix; load it yourself and call "
            f"Graph.from_adjacency(arrays[name])."
        )
    return arrays[0]
