"""Graphs in files, told by their suffix."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._errors import GraphError, suggest
from ._dot import read_dot
from ._text import Listing, read_csv, read_gml, read_text

__all__ = ["read_file"]

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
            f"cannot read {file.name!r}: its suffix is {suffix!r}, expected one of {' '.join(known)}"
            f"{suggest(suffix, known)}."
        )
    if suffix in _ARRAYS:
        return _read_array(file)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise GraphError(f"{file.name!r} is not UTF-8 text: {error}.") from error
    if not text.strip():
        return read_text(text)  # which says what a text may be
    try:
        return _TEXTS[suffix](text)
    except GraphError as error:
        raise GraphError(f"{file.name!r}: {error}") from error


def _read_array(file: Path) -> Any:
    try:
        found = np.load(file, allow_pickle=False)
        if isinstance(found, np.ndarray):
            return found
        with found:
            if "format" in found.files and "shape" in found.files:
                return sp.load_npz(file)
            if len(found.files) != 1:
                raise GraphError(
                    f"{file.name!r} holds {len(found.files)} arrays ({', '.join(found.files)}), expected one 0/1 "
                    f"matrix; load it yourself and call Graph.from_adjacency(arrays[name])."
                )
            return found[found.files[0]]
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, GraphError):
            raise
        raise GraphError(f"{file.name!r} is not a NumPy file of numbers: {error}.") from error
