"""Rows to train on, rows to choose a model by, and rows to test it on."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from .._arguments import check_whole
from .._errors import show
from ..graph import Graph, Structure
from ._table import read_table

__all__ = ["Splits", "split"]

_PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False, repr=False)
class Splits:
    """Rows in three parts with the same columns, and the graph of the columns where it is known.

    Args:
        train: Rows to fit on; whatever is fitted, centre and spread of the columns included, is fitted on them alone.
        validation: Rows to choose by: when to stop, which settings to keep.
        test: Rows to report on, used once.
        graph: The graph, its nodes in the order of the columns.

    Examples:
        >>> import torch
        >>> from weft.data import Splits
        >>> Splits(torch.zeros(80, 3), torch.zeros(20, 3), torch.zeros(50, 3))
        Splits(80 rows to train, 20 to validate, 50 to test, 3 columns)
    """

    train: Tensor
    validation: Tensor
    test: Tensor
    graph: Graph | None = None

    def __post_init__(self) -> None:
        for name in _PARTS:
            part = getattr(self, name)
            if not isinstance(part, Tensor) or part.ndim != 2:
                got = (
                    f"the shape {tuple(part.shape)}" if isinstance(part, Tensor) else f"the type {type(part).__name__}"
                )
                raise ValueError(f"{name} has {got}, expected a tensor (rows, columns).")
        counts = [getattr(self, name).shape[1] for name in _PARTS]
        if len(set(counts)) > 1:
            raise ValueError(f"train, validation and test have {counts} columns, expected the same number in each.")
        if self.graph is not None and len(self.graph) != counts[0]:
            raise ValueError(
                f"the rows have {counts[0]} columns and the graph {len(self.graph)} nodes, expected as many."
            )

    def __repr__(self) -> str:
        train, validation, test = (len(getattr(self, name)) for name in _PARTS)
        graph = "" if self.graph is None else f", {self.graph!r}"
        rows = f"{train} rows to train, {validation} to validate, {test} to test"
        return f"Splits({rows}, {self.train.shape[1]} columns{graph})"


def split(
    rows: Any,
    validation: float = 0.2,
    test: float = 0.2,
    seed: int = 0,
    graph: Any = None,
    dtype: torch.dtype = torch.float32,
) -> Splits:
    """Split rows at random into training, validation and test rows.

    The parts are in random order too, so that the first n training rows are a random choice of them.

    Args:
        rows: A tensor, an array or a DataFrame (rows, columns). A DataFrame is read by the names of the graph,
            which it needs.
        validation: Share of all rows, below 1, or a whole number of rows.
        test: Share of all rows, below 1, or a whole number of rows.
        seed: Seed of the draw; the test rows depend on it and on ``test`` alone.
        graph: The graph of the columns, where it is known.
        dtype: Type of the tensors; torch.float64 for numbers of many digits.

    Examples:
        >>> import torch
        >>> from weft.data import split
        >>> split(torch.zeros(2500, 15), validation=400, test=500)
        Splits(1600 rows to train, 400 to validate, 500 to test, 15 columns)
    """
    check_whole("seed", seed, error=ValueError)
    known = None if graph is None else Structure.of(graph).dag()
    table = read_table(rows, _names(rows, known), dtype, "cpu", "rows")
    tested, validated = (_count(name, size, len(table)) for name, size in (("test", test), ("validation", validation)))
    if tested + validated >= len(table):
        raise ValueError(
            f"{validated:,} validation and {tested:,} test rows of {len(table):,} leave none to train on; "
            f"ask for fewer."
        )
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(table)))
    train = tested + validated
    return Splits(table[order[train:]], table[order[tested:train]], table[order[:tested]], known)


def _names(rows: Any, graph: Graph | None) -> Sequence[Hashable]:
    if graph is not None:
        return graph.nodes
    if isinstance(rows, pd.DataFrame):
        message = "rows is a DataFrame, so its columns have names: pass graph=, whose nodes say their order."
        raise ValueError(message)  # noqa: TRY004
    shape = np.shape(rows)
    if len(shape) != 2:
        raise ValueError(f"rows has the shape {tuple(shape)}, expected (rows, columns).")
    return range(shape[1])


def _count(what: str, size: Any, rows: int) -> int:
    """Return a number of rows from a number or a share."""
    if isinstance(size, (float, np.floating)) and 0 <= size < 1:
        count = round(float(size) * rows)
        if size > 0 and count == 0:
            raise ValueError(f"{what} is {size:g} of {rows} rows, which is none; expected a larger share, or 0.")
        return count
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0:
        raise ValueError(f"{what} is {show(size)}, expected a share from 0 to below 1, or a whole number of rows.")
    return int(size)
