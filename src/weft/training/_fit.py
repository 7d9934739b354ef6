"""The door: models, tables and options become a loop."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack, cast, overload
from zlib import crc32

import numpy as np
import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import CosineAnnealingLR, MultiStepLR, ReduceLROnPlateau

from .._arguments import check_number, check_whole
from .._errors import shorten, show, suggest
from ..models import DensityModel
from ._checkpoint import Checkpoint, read_checkpoint
from ._loop import Course, Loop, Schedule
from ._members import buffers_of, check_alike, gather, identify
from ._progress import Bar
from ._read import read_sources
from ._result import Epoch, FitResult
from ._seeding import seeded

__all__ = ["fit"]


class Options(TypedDict, total=False):
    """The options of `fit`, for type checkers."""

    epochs: int
    batch_size: int | None
    lr: float | Sequence[float]
    patience: int | None
    optimizer: str | Callable[..., Optimizer]
    schedule: str | Schedule | None
    clip: float | None
    seed: int | Sequence[int]
    standardize: bool
    context: Any
    validation_context: Any
    callbacks: Sequence[Callable[[Epoch], object]]
    checkpoint: str | os.PathLike[str] | Checkpoint | None
    progress: bool | None


@overload
def fit(model: DensityModel, train: Any, validation: Any = ..., **options: Unpack[Options]) -> FitResult: ...
@overload
def fit(
    model: Sequence[DensityModel], train: Any, validation: Any = ..., **options: Unpack[Options]
) -> list[FitResult]: ...
def fit(
    model: DensityModel | Sequence[DensityModel],
    train: Any,
    validation: Any = 0.2,
    *,
    epochs: int = 500,
    batch_size: int | None = None,
    lr: float | Sequence[float] = 1e-3,
    patience: int | None = 20,
    optimizer: str | Callable[..., Optimizer] = "adam",
    schedule: str | Schedule | None = None,
    clip: float | None = None,
    seed: int | Sequence[int] = 0,
    standardize: bool = True,
    context: Any = None,
    validation_context: Any = None,
    callbacks: Sequence[Callable[[Epoch], object]] = (),
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    progress: bool | None = None,
) -> FitResult | list[FitResult]:
    """Fit a density by maximum likelihood, and leave its best weights in it.

    Several models of one architecture train in one vectorised run, at a fraction of the price of one after the other:
    each has its own weights, order of rows, learning rate, and end, and comes out as it would alone. One that breaks
    down stops with a warning, and the others go on.

    Args:
        model: A density; or a sequence of them, an ensemble.
        train: Training rows: a tensor, an array or a DataFrame, a `DataLoader` of rows (or of pairs of rows and
            context), or the path of a Parquet file or several, which may be larger than memory. Columns of a DataFrame
            or a file are found by name, those of others are in the order of ``graph.nodes``. An ensemble may have a
            list with one table for each member, of equal size.
        validation: The rows that tell which epoch is best: a share of the training rows, another table, or None, where
            the last epoch is kept and nothing stops early.
        epochs: Most epochs.
        batch_size: Rows of a batch; by default 256, or all rows where they are fewer.
        lr: Learning rate; an ensemble may have one for each member.
        patience: Epochs without a better validation after which training stops; None for never.
        optimizer: ``"adam"``, ``"adamw"``, or what makes an optimizer of parameters and ``lr``, such as
            ``functools.partial(torch.optim.AdamW, weight_decay=0.05)``. In an ensemble it must treat every weight
            alone, with steps that are proportional to the learning rate. Its rate is set anew at every step.
        schedule: ``"plateau"`` (a tenth of the learning rate after more than 5 epochs without a better one),
            ``"cosine"`` (down to 0 over all epochs), ``"multi-step"`` (a tenth after half and three quarters of the
            epochs), or what makes a scheduler of ``torch.optim.lr_scheduler`` of an optimizer. It steps once an epoch.
        clip: Largest norm of the gradient of a batch.
        seed: Seed of the validation rows and of the order of rows; member r of an ensemble has ``seed + r``, unless
            there is one for each. Initial weights are drawn when a model is made.
        standardize: Whether the first fit of a model brings continuous columns to standard units, by the training rows
            alone; a later one leaves the units as they are.
        context: Context of the training rows: a table, or the names of columns of ``train``.
        validation_context: Context of a validation table.
        callbacks: Called with an `Epoch` for every model after every epoch; one that returns True stops that model.
        checkpoint: A file to which the state is written, and from which a run that was killed goes on; a `Checkpoint`
            says how often.
        progress: Whether to show a progress bar; by default where standard error is a terminal.

    Returns:
        How the fit went; a list for an ensemble.

    Raises:
        ValueError: If a value of the data is missing or out of range, naming column and row; if an argument is wrong.
        FloatingPointError: If the loss of a model alone is no longer finite, naming the variable and the batch.

    Examples:
        >>> import torch, weft
        >>> x = torch.randn(500, 3).cumsum(dim=1)
        >>> m = weft.StrNNDensity(weft.graph.chain(3), "gaussian", hidden=(16,))
        >>> result = weft.fit(m, x, epochs=20, lr=1e-2)
        >>> len(result.history), bool(result.history["validation"].min() == result.best_validation)
        (20, True)
        >>> ensemble = [weft.StrNNDensity(weft.graph.chain(3), "gaussian", hidden=(16,)) for _ in range(4)]
        >>> [result.stopped for result in weft.fit(ensemble, x, epochs=2)]
        ['epochs', 'epochs', 'epochs', 'epochs']
    """
    models = _read_models(model)
    count = len(models)
    epochs = check_whole("epochs", epochs, 1, error=ValueError)
    if patience is not None:
        patience = check_whole("patience", patience, 1, error=ValueError)
    if batch_size is not None:
        batch_size = check_whole("batch_size", batch_size, 1, error=ValueError)
    if clip is not None:
        _check_positive("clip", clip)
    rates, seeds = _read_rates(lr, count), _read_seeds(seed, count)
    factory, scheduler = _read_optimizer(optimizer), _read_schedule(schedule, epochs)
    callbacks = (callbacks,) if callable(callbacks) else tuple(callbacks or ())
    for callback in callbacks:
        if not callable(callback):
            raise ValueError(f"callbacks has {show(callback)}, expected functions of an Epoch.")  # noqa: TRY004
    if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)

    courses = [Course(*each, scheduler) for each in zip(seeds, rates, strict=True)]
    generators = [course.generator for course in courses]
    sources = read_sources(models, train, validation, context, validation_context, batch_size, generators)
    run, state = {}, None
    if checkpoint is not None:  # what the state in a file must agree with
        run = {
            "training rows": sources.train.fingerprint(),
            "validation rows": None if sources.validation is None else sources.validation.fingerprint(),
            "seed": seeds,
            "lr": rates,
            "batch_size": batch_size,
            "optimizer": _describe(optimizer),
            "schedule": _describe(scheduler),
            "patience": patience,
            "clip": clip,
            "standardize": standardize,
            "models": [identify(each) for each in models],
        }
        state = read_checkpoint(Path(checkpoint.path), run) if Path(checkpoint.path).exists() else None
    with seeded(next(models[0].parameters()).device, seeds[0]), torch.enable_grad():
        for each, saved in zip(models, [] if state is None else state["buffers"], strict=False):
            for name, buffer in buffers_of(each).items():
                buffer.copy_(saved[name])
        for member, each in enumerate(models):
            if not each.standardized:
                each.standardize_(sources.train.sample(member) if standardize else None)
        loop = Loop(gather(models, factory), courses, *sources, epochs, patience, clip, callbacks, checkpoint, run)
        if state is not None:
            loop.load(state)
        with Bar(epochs, sources.train.steps, shown=progress) as bar:
            results = loop.go(bar)
    return results[0] if isinstance(model, DensityModel) else results


def _read_models(model: Any) -> list[DensityModel]:
    several = isinstance(model, (list, tuple, nn.ModuleList))
    models = list(model) if several else [model]
    if not models or not all(isinstance(each, DensityModel) for each in models):
        got = show([type(each).__name__ for each in models]) if several else f"a {type(model).__name__}"
        raise ValueError(f"model is {got}, expected a density such as weft.StrNNDensity(graph), or a list of them.")
    for each in models:
        if not any(parameter.requires_grad for parameter in each.parameters()):
            raise ValueError(
                f"{type(each).__name__} has no parameter that requires a gradient: there is nothing to fit."
            )
    check_alike(models)
    return models


def _read_rates(lr: Any, count: int) -> list[float]:
    rates = _per_model("lr", lr, count) or [lr] * count
    for rate in rates:
        _check_positive("lr", rate)
    return [float(rate) for rate in rates]


def _read_seeds(seed: Any, count: int) -> list[int]:
    several = _per_model("seed", seed, count)
    seeds = several or [check_whole("seed", seed, 0, 2**62, ValueError) + r for r in range(count)]
    return [check_whole("seed", each, 0, 2**63 - 1, ValueError) for each in seeds]


def _per_model(what: str, values: Any, count: int) -> list[Any] | None:
    """Return the values of an argument that may have one for each model, or None where it is a single one."""
    if not isinstance(values, (Sequence, np.ndarray)) or isinstance(values, str) or np.ndim(values) == 0:
        return None
    if len(values) != count:
        raise ValueError(f"{what} has {len(values)} values, expected one, or one for each of {count} models.")
    return list(values)


def _read_optimizer(optimizer: Any) -> Callable[..., Optimizer]:
    known: dict[str, Callable[..., Optimizer]] = {
        "adam": partial(torch.optim.Adam, fused=True),
        "adamw": partial(torch.optim.AdamW, fused=True),
    }
    if isinstance(optimizer, str) and optimizer in known:
        return known[optimizer]
    if isinstance(optimizer, partial) and "lr" in optimizer.keywords:
        raise ValueError(f"optimizer has lr={optimizer.keywords['lr']}, which is set at every step; pass lr= to fit.")
    if not callable(optimizer):
        raise ValueError(  # noqa: TRY004
            f"optimizer is {show(optimizer)}{suggest(optimizer, known)}, expected one of {shorten(map(repr, known))}, "
            f"or what makes one, such as functools.partial(torch.optim.AdamW, weight_decay=0.05)."
        )
    return cast("Callable[..., Optimizer]", optimizer)


def _read_schedule(schedule: Any, epochs: int) -> Schedule | None:
    known: dict[str, Schedule] = {
        "plateau": partial(ReduceLROnPlateau, factor=0.1, patience=5, threshold=0.0),
        "cosine": partial(CosineAnnealingLR, T_max=epochs),
        "multi-step": partial(MultiStepLR, milestones=[max(1, epochs // 2), max(1, epochs * 3 // 4)], gamma=0.1),
    }
    if schedule is None:
        return None
    if isinstance(schedule, str) and schedule in known:
        return known[schedule]
    if not callable(schedule):
        raise ValueError(  # noqa: TRY004
            f"schedule is {show(schedule)}{suggest(schedule, known)}, expected None, one of "
            f"{shorten(map(repr, known))}, or what makes one, such as "
            f"functools.partial(torch.optim.lr_scheduler.ExponentialLR, gamma=0.9)."
        )
    return cast("Schedule", schedule)


def _check_positive(what: str, value: Any) -> None:
    check_number(what, value, error=ValueError)
    if not value > 0:
        raise ValueError(f"{what} is {show(value)}, expected a number above 0.")


def _describe(factory: Any) -> str:
    """Write what makes an optimizer or a schedule so that it reads the same in the next process."""
    if isinstance(factory, partial):
        options = {name: _describe(value) for name, value in factory.keywords.items()}
        return f"{_describe(factory.func)} {[_describe(value) for value in factory.args]} {options}"
    if callable(factory):  # its own text may have an address
        code = getattr(factory, "__code__", None)
        body = "" if code is None else f" {crc32(code.co_code + repr(code.co_names + code.co_consts).encode())}"
        return str(getattr(factory, "__qualname__", type(factory).__qualname__)) + body
    return str(factory)
