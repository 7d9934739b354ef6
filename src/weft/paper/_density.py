"""Densities that learn from the same rows and are scored on the same test rows, many trials in one vectorised run."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor

from ..models import StrNNDensity
from ..training import FitResult, fit
from ..training._seeding import seeded
from ._record import Row

__all__ = ["BASELINE", "BATCH", "EPOCHS", "PATIENCE", "Recipe", "Trial", "learn", "score", "standard_error", "train"]

Model = TypeVar("Model", bound=StrNNDensity)

BASELINE = "MADE"
"""The model that all others are compared with, pair by pair."""

BATCH, PATIENCE, EPOCHS = 200, 10, 5000
"""Rows of a batch, epochs without a better one, and most epochs: those of the paper and its code."""


@dataclass(frozen=True)
class Recipe:
    """How a density with one hidden layer is made and trained with AdamW: a point of the paper's grid.

    Args:
        hidden: Hidden units.
        lr: Learning rate.
        weight_decay: Weight decay.
        eps: Epsilon of AdamW.

    Examples:
        >>> from weft.paper import Recipe
        >>> Recipe(hidden=60, lr=1e-3, weight_decay=0.05, eps=0.01)
        Recipe(hidden=60, lr=0.001, weight_decay=0.05, eps=0.01)
    """

    hidden: int
    lr: float
    weight_decay: float
    eps: float


@dataclass(frozen=True)
class Trial:
    """The rows of one trial.

    Args:
        seed: Seed of the weights that a model begins with, and of the order of its rows.
        train: Rows that train.
        validation: Rows that say which epoch is best.
        test: Rows that score.
        truth: True log-density of each test row, where it is known.
    """

    seed: int
    train: Tensor
    validation: Tensor
    test: Tensor
    truth: Tensor | None = None


def train(
    model: Model, trials: Sequence[Trial], recipes: Sequence[Recipe], epochs: int = EPOCHS, **options: Any
) -> tuple[list[Model], list[FitResult]]:
    """Train a copy of a model for each trial, all in one vectorised run.

    Args:
        model: What to copy; each copy begins with weights drawn with the seed of its trial.
        trials: The rows, equally many in each trial.
        recipes: One for each trial; they may differ in the learning rate alone.
        epochs: Most epochs.
        options: Further arguments of `weft.fit`, in place of those of the recipe.

    Returns:
        The trained models, and how their training went.
    """
    members = [_begin(model, trial.seed) for trial in trials]
    rates, first = [recipe.lr for recipe in recipes], recipes[0]
    chosen = {
        "batch_size": min(BATCH, len(trials[0].train)),
        "patience": PATIENCE,
        "optimizer": partial(torch.optim.AdamW, weight_decay=first.weight_decay, eps=first.eps),
        "lr": rates,
        "seed": [trial.seed for trial in trials],
        "progress": False,
    }
    tables = [_once([getattr(trial, name) for trial in trials]) for name in ("train", "validation")]
    return members, fit(members, *tables, epochs=epochs, **{**chosen, **options})


@torch.no_grad()
def score(members: Sequence[StrNNDensity], trials: Sequence[Trial]) -> Tensor:
    """Return the negative log-likelihood (trials, rows) of the test rows of each trial."""
    device = members[0].shift.device
    each = [member.log_prob(trial.test.to(device)) for member, trial in zip(members, trials, strict=True)]
    return -torch.stack(each).double().cpu()


def learn(
    models: Mapping[str, tuple[StrNNDensity, Recipe]],
    trials: Sequence[Trial],
    epochs: int = EPOCHS,
    **options: Any,
) -> tuple[list[Row], dict[str, list[StrNNDensity]]]:
    """Train each model on each trial, and compare it with the baseline on the same test rows.

    Args:
        models: What to train, and how; the baseline is among them.
        trials: The rows, equally many in each trial. Where all have the same test rows, the error of the paired
            difference counts those too.
        epochs: Most epochs.
        options: Further arguments of `weft.fit`.

    Returns:
        One row for each model and trial, and the trained models. ``nll`` is the mean over the test rows, ``error`` its
        standard error, ``truth`` the mean under the true density. ``difference`` is that to the baseline of the same
        seed on the same test rows, ``difference_error`` its standard error over those rows; ``shared_error`` is the
        standard error over test rows that all trials share, of the difference averaged over the trials.
    """
    trained, results, scores = {}, {}, {}
    for name, (model, recipe) in models.items():
        trained[name], results[name] = train(model, trials, [recipe] * len(trials), epochs, **options)
        scores[name] = score(trained[name], trials)
    shared = len(trials) > 1 and all(trial.test is trials[0].test for trial in trials)
    rows = []
    for name, (_, recipe) in models.items():
        difference = scores[name] - scores[BASELINE]
        for place, (trial, result) in enumerate(zip(trials, results[name], strict=True)):
            row: Row = {
                "model": name,
                "seed": trial.seed,
                **asdict(recipe),
                "nll": float(scores[name][place].mean()),
                "error": standard_error(scores[name][place]),
                "truth": None if trial.truth is None else -float(trial.truth.double().mean()),
                "epochs": result.best_epoch,
                "fit_seconds": result.seconds,
            }
            if name != BASELINE:
                row["difference"] = float(difference[place].mean())
                row["difference_error"] = standard_error(difference[place])
                row["shared_error"] = standard_error(difference.mean(dim=0)) if shared else None
            rows.append(row)
    return rows, trained


def standard_error(values: Tensor) -> float:
    """Return the standard error of a mean."""
    return float(values.double().std(correction=1) / math.sqrt(len(values)))


def _begin(model: Model, seed: int) -> Model:
    """Return a copy of a model with weights drawn anew."""
    member = copy.deepcopy(model)
    with seeded(model.shift.device, seed):
        member.net.reset_parameters()
    return member


def _once(tables: list[Tensor]) -> Tensor | list[Tensor]:
    """Return the one table, where all are the same, which then need not be held many times."""
    return tables[0] if all(table is tables[0] for table in tables) else tables
