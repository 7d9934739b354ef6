"""A table becomes a tensor with one column per variable: the one place where column names meet column numbers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from .._errors import shorten, show, suggest

__all__ = ["read_table"]


def read_table(
    table: Any,
    names: Sequence[Hashable],
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
    what: str = "the table",
) -> Tensor:
    """Return the rows of a table as a tensor (rows, columns), columns in the order of the names.

    A DataFrame is read by name, and may have further columns. Arrays and tensors have exactly these columns.

    Args:
        table: A DataFrame, a tensor, an array, or what NumPy reads as one.
        names: The columns that are needed.
        dtype: Type of the tensor, by default PyTorch's own.
        device: Device of the tensor.
        what: How errors call the table.

    Examples:
        >>> import pandas as pd
        >>> from weft.data import read_table
        >>> read_table(pd.DataFrame({"age": [40, 50], "id": ["a", "b"], "dose": [1.5, 2.0]}), ["dose", "age"])
        tensor([[ 1.5000, 40.0000],
                [ 2.0000, 50.0000]])
    """
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ValueError(f"dtype is {show(dtype)}, expected a floating type such as torch.float32.")
    if isinstance(table, pd.DataFrame):
        table = _read_frame(table, names, what)
    if not isinstance(table, Tensor):
        table = torch.from_numpy(_read_array(table, what))
    if table.ndim != 2 or table.shape[1] != len(names):
        raise ValueError(
            f"{what} has the shape {tuple(table.shape)}, expected (rows, {len(names)}): {shorten(names) or 'none'}."
        )
    if not len(table):
        raise ValueError(f"{what} has no rows.")
    if table.is_complex():
        raise ValueError(f"{what} has complex numbers, expected real ones.")
    rows: Tensor = table.detach().to(device=device, dtype=dtype)
    return rows


def _find_columns(known: Sequence[Hashable], names: Sequence[Hashable], what: str) -> list[int]:
    """Return the places of the names among the columns that a table has.

    Files know columns by strings alone, so a name that is none is also looked for as it is written.
    """
    places: dict[Hashable, int] = {}
    for place, column in enumerate(known):
        if column in places and column in names:
            raise ValueError(f"{what} has two columns {show(column)}, expected one.")
        places.setdefault(column, place)
    found = [places.get(name, places.get(str(name))) for name in names]
    lacking = [name for name, place in zip(names, found, strict=True) if place is None]
    if lacking:
        raise ValueError(
            f"{what} has no column {shorten(map(show, lacking))}{suggest(lacking[0], known)}; "
            f"it has {shorten(map(show, known)) or 'none'}."
        )
    places_found = [place for place in found if place is not None]
    if len(set(places_found)) < len(set(names)):
        twice = next(place for place in places_found if places_found.count(place) > 1)
        both = [name for name, place in zip(names, places_found, strict=True) if place == twice]
        raise ValueError(f"{what} has one column {show(known[twice])} for {shorten(map(show, both))}, expected two.")
    return places_found


def _read_frame(table: pd.DataFrame, names: Sequence[Hashable], what: str) -> np.ndarray:
    columns = []
    for name, place in zip(names, _find_columns(list(table.columns), names, what), strict=True):
        column = table.iloc[:, place]
        numeric = pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype)
        if not numeric or pd.api.types.is_complex_dtype(column.dtype):
            example = show(column.dropna().iloc[0]) if column.notna().any() else "nothing"
            raise ValueError(
                f"column {show(name)} of {what} has the type {column.dtype} (such as {example}), expected numbers; "
                f"write levels as 0, 1, 2, …, for instance with pandas.factorize."
            )
        columns.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.stack(columns, axis=1) if columns else np.empty((len(table), 0))


def _read_array(table: Any, what: str) -> np.ndarray:
    try:
        # What is masked is missing.
        read = np.ma.filled(table.astype(float), np.nan) if np.ma.isMaskedArray(table) else np.asarray(table)
    except ValueError as error:
        raise ValueError(f"{what} is no table of numbers: {error}") from error
    if read.dtype.kind not in "biuf":
        raise ValueError(
            f"{what} is {show(table, 40)} of the type {type(table).__name__}, expected a DataFrame, a tensor or an "
            f"array of numbers."
        )
    # A copy where pandas or a memory map hands out what must not be written to, and of what torch cannot view.
    viewable = read.flags.writeable and read.dtype.isnative and min(read.strides, default=0) >= 0
    return read if viewable else read.astype(read.dtype.newbyteorder("="))
