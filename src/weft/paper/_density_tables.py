"""Tables of densities: paired differences with their standard errors, verdicts that follow from them, and recipes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from ._density import BASELINE
from ._record import Row, distinct, mean, where

__all__ = ["Paired", "advantage", "comparison", "nats", "pair_between", "pair_up", "recipes_table"]

LEVEL = 0.95


@dataclass(frozen=True)
class Paired:
    """A mean of paired differences.

    Args:
        mean: The mean.
        error: Its standard error.
        pairs: How many there are.
    """

    mean: float
    error: float
    pairs: int

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f}"

    @property
    def significant(self) -> bool:
        """Whether it differs from zero at the level of 95 %, by Student's t with one degree less than pairs."""
        return self.pairs > 1 and abs(self.mean) > float(student.ppf((1 + LEVEL) / 2, self.pairs - 1)) * self.error

    def verdict(self, better: str, worse: str, *, claimed: bool = True) -> str:
        """Say which of two models is better, and whether that is what the paper found, where it did."""
        if self.pairs < 2:
            return "one pair: no verdict"
        if not self.significant:
            return "not significant"
        confirmed, contradicted = ("confirmed: ", "contradicted: ") if claimed else ("", "")
        return f"{confirmed}{better} better" if self.mean < 0 else f"{contradicted}{worse} better"


def pair_up(rows: Sequence[Row], key: str = "difference") -> Paired:
    """Return the mean difference over the trials, with its standard error.

    Each pair has the same training rows, seed and test rows. Where trials differ in their test rows too, the spread
    over trials holds all that varies. Where they share them, the error over the test rows is added in squares. One
    trial alone has only the latter.
    """
    values = np.array([row[key] for row in rows])
    if len(values) == 1:
        return Paired(float(values[0]), rows[0]["difference_error"], 1)
    shared = rows[0]["shared_error"] or 0.0
    return Paired(float(values.mean()), math.hypot(values.std(ddof=1) / len(values) ** 0.5, shared), len(values))


def pair_between(first: Sequence[Row], second: Sequence[Row]) -> Paired:
    """Return the mean difference between two models over trials with test rows of their own."""
    return _paired([a["nll"] - b["nll"] for a, b in zip(first, second, strict=True)])


def comparison(rows: Sequence[Row], published: str, model: str = "StrNN") -> list[Row]:
    """Return a table of a model against the baseline, one row for each data set and number of rows."""
    table = []
    for data in distinct(rows, "data"):
        for n in distinct(where(rows, data=data), "n"):
            ours, base = (where(rows, data=data, n=n, model=name) for name in (model, BASELINE))
            paired = pair_up(ours)
            row = {"data": data, "n": n, "published": published, model: nats(ours), BASELINE: nats(base)}
            if ours[0]["truth"] is not None:
                row["truth"] = f"{mean(ours, 'truth'):.3f}"
            row |= {f"{model} − {BASELINE}": str(paired), "pairs": paired.pairs}
            table.append(row | {"verdict": paired.verdict(model, BASELINE)})
    return table


def advantage(rows: Sequence[Row], published: str, model: str = "StrNN") -> list[Row]:
    """Return what is found of the claim that the advantage is larger where rows are fewer.

    Trials of one seed share what is drawn apart from the rows, so the change of the difference is paired by seed.
    """
    table = []
    for data in distinct(rows, "data"):
        each = where(rows, data=data, model=model)
        few, many = (pick(distinct(each, "n")) for pick in (min, max))
        first, last = where(each, n=few), where(each, n=many)
        if few < many:
            change = _paired([a["difference"] - b["difference"] for a, b in zip(first, last, strict=True)])
            claim = change.verdict("fewer", "more").partition(":")[0]
            table.append(
                {
                    "data": data,
                    "published": published,
                    f"{model} − {BASELINE}": f"{pair_up(first)} at n = {few:,}, {pair_up(last)} at n = {many:,}",
                    "change, paired": str(change),
                    "verdict": claim,
                }
            )
    return table


def recipes_table(rows: Sequence[Row]) -> list[Row]:
    """Return the recipe with which each model was trained, and where it is from."""
    table: list[Row] = []
    for row in where(rows, part="test"):
        key = {"data": row["data"], "model": row["model"]}
        if where(table, **key):
            continue
        table.append(key | {heading: f"{row[name]:g}" for name, heading in _POINT.items()} | {"source": row["recipe"]})
    return table


def nats(rows: Sequence[Row]) -> str:
    """Return the mean over the trials with its standard error.

    Where trials have test rows of their own it is that over the trials; where they share them it is that across the
    test rows, which the paper states too, and which is the larger part.
    """
    own = len(rows) > 1 and len({row["truth"] for row in rows}) > 1
    error = _paired([row["nll"] for row in rows]).error if own else mean(rows, "error")
    return f"{mean(rows, 'nll'):.3f} ± {error:.3f}"


def _paired(values: Sequence[float]) -> Paired:
    """Return the mean of values of independent trials."""
    error = float(np.std(values, ddof=1)) / len(values) ** 0.5 if len(values) > 1 else math.inf
    return Paired(float(np.mean(values)), error, len(values))


_POINT = {"hidden": "hidden units", "lr": "learning rate", "weight_decay": "weight decay", "eps": "epsilon"}
