"""Tables of every kind become sources of rows, checked, with the rows for validation set apart."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Generator, Tensor
from torch.utils.data import DataLoader

from .._errors import show
from ..data import read_table
from ..models import DensityModel
from ._parquet import Parquet
from ._sources import BATCH, Loader, Rows, Source, check_present, check_rows, present

__all__ = ["Sources", "read_sources"]

EVALUATED = 1024
"""Rows that are evaluated at a time."""


class Sources(NamedTuple):
    """The rows that train, and those that validate, if any."""

    train: Source
    validation: Source | None


def read_sources(
    models: Sequence[DensityModel],
    train: Any,
    validation: Any,
    context: Any,
    validation_context: Any,
    batch_size: int | None,
    generators: Sequence[Generator],
) -> Sources:
    """Read the training rows, and the validation rows from their own table or as a share of the training rows."""
    share = _read_share(validation)
    if validation_context is not None and (share is not None or validation is None):
        raise ValueError("got a validation_context, but no validation table; the context of a share is that of train.")
    if share is None:
        if isinstance(context, pd.DataFrame) and isinstance(validation_context, pd.DataFrame):
            lacking = [name for name in context.columns if name not in validation_context.columns]
            if lacking:
                raise ValueError(f"validation_context has no column {show(lacking[0])}, which context has.")
            validation_context = validation_context[list(context.columns)]
        apart = None if validation is None else _read(models, validation, validation_context, None, "validation")
        return Sources(_read(models, train, context, batch_size, "train"), apart)
    if isinstance(train, DataLoader):
        raise ValueError(  # noqa: TRY004
            f"validation is the share {share:g}, but a DataLoader cannot be split: pass another one or a table as "
            f"validation, or validation=None."
        )
    if paths := _read_paths(train):
        parquet = _read_parquet(models, paths, context, batch_size, share, generators[0].initial_seed(), "train")
        x, held = parquet.pair(parquet.apart)
        return Sources(parquet, Rows(x[0], None if held is None else held[0], None, EVALUATED))
    x, held = _read_tables(models, train, context, "train")
    total = x.shape[-2]
    count = round(share * total)
    if not 0 < count < total:
        raise ValueError(
            f"validation={share:g} sets {count} of {total} rows apart, expected at least one for validation and one "
            f"for training; pass another share, a table, or validation=None."
        )
    mixed = torch.stack([torch.randperm(total, generator=generator) for generator in generators])
    chosen, apart_rows = mixed[:, count:], mixed[:, :count]
    batch = _batch(batch_size, total - count, f"train without the {count} rows for validation")
    sources = Rows(x, held, chosen, batch), Rows(x, held, apart_rows, EVALUATED)
    if bool(torch.isnan(x).any()):  # what the table has, a part of its rows may lack
        for member, model in enumerate(models):
            trains, validates = (present(model, each.sample(member)) for each in sources)
            check_present(model, trains, f"train without the {count} rows for validation")
            if not bool(validates[1].any()):
                raise ValueError(
                    f"none of the {count} rows for validation has a variable with all its parents; pass a larger share."
                )
    return Sources(*sources)


def _read(models: Sequence[DensityModel], table: Any, context: Any, batch_size: int | None, what: str) -> Source:
    """Read all rows of a table, a loader or files."""
    if isinstance(table, DataLoader):
        if what == "train" and batch_size is not None:
            raise ValueError(f"batch_size is {batch_size}, but train is a DataLoader, which has its own; leave it out.")
        if context is not None:
            raise ValueError(f"{what} is a DataLoader, so its context comes with its batches, as pairs; pass none.")
        return Loader(table, models[0], what)
    if paths := _read_paths(table):
        return _read_parquet(models, paths, context, batch_size, 0.0, 0, what)
    x, held = _read_tables(models, table, context, what)
    return Rows(x, held, None, EVALUATED if what == "validation" else _batch(batch_size, x.shape[-2], what))


def _batch(batch_size: int | None, rows: int, what: str) -> int:
    if batch_size is not None and batch_size > rows:
        raise ValueError(
            f"batch_size is {batch_size}, but {what} has {rows} rows; pass batch_size={rows} or less, or leave it out."
        )
    return min(batch_size or BATCH, rows)


def _read_share(validation: Any) -> float | None:
    if not isinstance(validation, (int, float, np.number)) or isinstance(validation, bool):
        return None
    if not 0 < validation < 1:
        raise ValueError(f"validation is {show(validation)}, expected a share between 0 and 1, a table, or None.")
    return float(validation)


def _read_paths(table: Any) -> list[Path]:
    """Return the files that one path or several name, none for anything else."""
    several = isinstance(table, (list, tuple)) and table and all(isinstance(p, (str, os.PathLike)) for p in table)
    paths = table if several else [table]
    return [Path(path) for path in paths] if all(isinstance(path, (str, os.PathLike)) for path in paths) else []


def _read_parquet(
    models: Sequence[DensityModel],
    paths: list[Path],
    context: Any,
    batch_size: int | None,
    share: float,
    seed: int,
    what: str,
) -> Parquet:
    names = [] if context is None else context
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"context is a {type(context).__name__}, expected the names of columns of the Parquet file.")
    _check_count(models[0], len(names), what)
    _check_names(models[0], names)
    parquet = Parquet(paths, models[0], names, share, seed, batch_size, what)
    if what == "train":
        _batch(batch_size, parquet.rows, what)
    return parquet


def _read_tables(models: Sequence[DensityModel], table: Any, context: Any, what: str) -> tuple[Tensor, Tensor | None]:
    """Read a table for all models, or one for each of them, with its context."""
    if _are_tables(table):
        if len(table) != len(models):
            raise ValueError(f"{what} has {len(table)} tables, expected one, or one for each of {len(models)} models.")
        contexts = context if _are_tables(context) else [context] * len(table)
        if len(contexts) != len(table):
            raise ValueError(f"the context of {what} has {len(contexts)} tables, expected {len(table)}.")
        read = [
            _read_one(model, rows, held, f"{what}[{number}]")
            for number, (model, rows, held) in enumerate(zip(models, table, contexts, strict=True))
        ]
        sizes = [len(x) for x, _ in read]
        if len(set(sizes)) > 1:
            raise ValueError(f"the tables of {what} have {sizes} rows, expected as many in each.")
        held = [context for _, context in read if context is not None]
        return torch.stack([x for x, _ in read]), torch.stack(held) if held else None
    return _read_one(models[0], table, context, what)


def _are_tables(table: Any) -> bool:
    kinds = (Tensor, np.ndarray, pd.DataFrame)
    return isinstance(table, (list, tuple)) and bool(table) and all(isinstance(t, kinds) and t.ndim == 2 for t in table)


def _read_one(model: DensityModel, table: Any, context: Any, what: str) -> tuple[Tensor, Tensor | None]:
    like = next(model.parameters())
    x = read_table(table, model.graph.nodes, like.dtype, like.device, what)
    names = isinstance(context, (list, tuple)) and all(isinstance(name, str) for name in context)
    if names and not isinstance(table, pd.DataFrame):
        raise ValueError(f"context names columns, but {what} is no DataFrame; pass the context as a table.")
    held = None
    if context is not None:
        columns = list(context) if names else _columns(context, model.context)
        _check_count(model, len(columns), what)
        _check_names(model, columns if names else [])
        both = isinstance(table, pd.DataFrame) and isinstance(context, pd.DataFrame)
        if both and len(table) == len(context) and not table.index.equals(context.index):
            raise ValueError(
                f"{what} and its context have different indexes, so their rows may not belong together: pass "
                f"context.loc[table.index], or reset_index(drop=True) on both."
            )
        held = read_table(table if names else context, columns, like.dtype, like.device, f"the context of {what}")
        if len(held) != len(x):
            raise ValueError(f"the context of {what} has {len(held)} rows, expected {len(x)}, as many as {what}.")
    else:
        _check_count(model, 0, what)
    check_rows(model, x, held, what)
    check_present(model, present(model, x), what)
    return x, held


def _columns(context: Any, count: int) -> list[Any]:
    return list(context.columns) if isinstance(context, pd.DataFrame) else list(range(count or 1))


def _check_names(model: DensityModel, names: Sequence[Any]) -> None:
    """Refuse a variable as its own context."""
    for name in names:
        if name in model.graph.nodes:
            raise ValueError(f"context names {show(name)}, which is a variable of the model; leave it out of one.")


def _check_count(model: DensityModel, columns: int, what: str) -> None:
    if columns != model.context:
        had = f"{columns} columns" if columns else "none"
        argument = "validation_context" if what.startswith("validation") else "context"
        mend = f"pass {argument}= with {model.context}" if model.context else f"make the model with context={columns}"
        raise ValueError(f"the model has {model.context} columns of context, but {what} has {had}: {mend}.")
