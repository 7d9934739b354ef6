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
        degrees = self.pairs - 1 if self.pairs > 1 else math.inf  # one pair: the error is that over its test rows
        return abs(self.mean) > float(student.ppf((1 + LEVEL) / 2, degrees)) * self.error

    def verdict(self, better: str, worse: str) -> str:
        """Say whether the first model is better than the second, as the paper found."""
        if not self.significant:
            return "not significant"
        return f"confirmed: {better} better" if self.mean < 0 else f"contradicted: {worse} better"


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
    values = np.array([a["nll"] - b["nll"] for a, b in zip(first, second, strict=True)])
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else math.inf
    return Paired(float(values.mean()), float(error), len(values))


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
    """Return what is found of the claim that the advantage is larger where rows are fewer."""
    table = []
    for data in distinct(rows, "data"):
        each = where(rows, data=data, model=model)
        few, many = (pick(distinct(each, "n")) for pick in (min, max))
        first, last = (pair_up(where(each, n=n)) for n in (few, many))
        if few < many:
            table.append(
                {
                    "data": data,
                    "published": published,
                    "computed": f"{first} at n = {few:,}, {last} at n = {many:,}",
                    "verdict": "confirmed" if first.mean < min(last.mean, 0) else "not confirmed",
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
    """Return the mean over the trials with the standard error across the test rows, which the paper states too."""
    return f"{mean(rows, 'nll'):.3f} ± {mean(rows, 'error'):.3f}"


_POINT = {"hidden": "hidden units", "lr": "learning rate", "weight_decay": "weight decay", "eps": "epsilon"}
