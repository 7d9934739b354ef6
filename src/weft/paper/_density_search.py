"""The search for hyperparameters on validation rows, with the same budget for every model."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from ..models import StrNNDensity
from ._density import Recipe, Trial, train
from ._record import Row

__all__ = ["GRID", "LARGE_GRID", "QUICK_GRID", "Grid", "Make", "choose_recipe", "search_recipes"]

Make = Callable[[int], StrNNDensity]
"""Makes a density with so many hidden units."""


@dataclass(frozen=True)
class Grid:
    """The part of the paper's grid that is searched.

    The paper's own has one to five layers of 1, 4, 8 or 12 units per variable, weight decays 0.1, 0.05, 0.01, 0.005 and
    0.001, epsilons 1, 0.01 and 1e-5, and the learning rates below. What its authors selected for their 15 variables has
    one layer, so this has one; the weight decays and epsilons are three pairs, from strong and smooth to hardly any.

    Args:
        units: Hidden units per variable.
        penalties: Pairs of weight decay and epsilon.
        rates: Learning rates, all in one vectorised run.
        seeds: Trials of each point.
        epochs: Most epochs of the search.

    Examples:
        >>> from weft.paper import Grid
        >>> runs = Grid().runs(15)
        >>> len(runs), sum(map(len, runs))  # vectorised runs, points of the grid
        (6, 30)

    References:
        Structured Neural Networks for Density Estimation and Causal Inference (Chen et al., 2023), appendix E.
    """

    units: tuple[int, ...] = (4, 12)
    penalties: tuple[tuple[float, float], ...] = ((0.05, 1e-2), (0.01, 1e-5), (0.001, 1.0))
    rates: tuple[float, ...] = (0.1, 0.05, 0.01, 0.005, 0.001)
    seeds: int = 2
    epochs: int = 500

    def runs(self, d: int) -> list[tuple[Recipe, ...]]:
        """Return the points for d variables, by vectorised run."""
        return [
            tuple(Recipe(units * d, rate, decay, eps) for rate in self.rates)
            for units, (decay, eps) in product(self.units, self.penalties)
        ]


GRID = Grid()
"""What is searched unless said otherwise."""


LARGE_GRID = Grid(units=(1, 4), epochs=200)
"""What is searched for models of about 800 variables, where more units would take an hour."""

QUICK_GRID = Grid(units=(4,), penalties=((0.05, 1e-2),), rates=(0.01, 0.001), seeds=2, epochs=60)
"""What a quick run searches."""


def search_recipes(
    make: Make, trials: Sequence[Trial], recipes: Sequence[Recipe], epochs: int = 500, **options: Any
) -> list[Row]:
    """Train recipes that differ in the learning rate alone, each on all trials, in one vectorised run.

    Args:
        make: Makes the model with so many hidden units.
        trials: The rows; no test row is looked at.
        recipes: What to try.
        epochs: Most epochs.
        options: Further arguments of `weft.fit`.

    Returns:
        One row for each recipe and trial with ``validation``, the best mean negative log-likelihood of the validation
        rows, or None where the training broke down.

    Examples:
        >>> import torch, weft
        >>> from weft.paper import Recipe, Trial, choose_recipe, search_recipes
        >>> chain = weft.graph.chain(4)
        >>> x = (torch.rand(150, 4) < 0.8).float()
        >>> trial = Trial(seed=0, train=x[:80], validation=x[80:100], test=x[100:])
        >>> recipes = [Recipe(hidden=8, lr=lr, weight_decay=0.01, eps=1e-5) for lr in (1e-1, 1e-6)]
        >>> make = lambda hidden: weft.StrNNDensity(chain, hidden=(hidden,))
        >>> rows = search_recipes(make, [trial], recipes, epochs=20)
        >>> choose_recipe(rows).lr
        0.1
    """
    model = make(recipes[0].hidden)
    pairs = [(recipe, trial) for recipe in recipes for trial in trials]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # some rates are there to find what is too large
        try:
            _, results = train(model, [trial for _, trial in pairs], [recipe for recipe, _ in pairs], epochs, **options)
            found = [math.nan if result.stopped == "diverged" else result.best_validation for result in results]
            taken = [result.best_epoch for result in results]
        except FloatingPointError:  # a model alone
            found, taken = [math.nan], [0]
    return [
        {**asdict(recipe), "seed": trial.seed, "validation": value if math.isfinite(value) else None, "epochs": epoch}
        for (recipe, trial), value, epoch in zip(pairs, found, taken, strict=True)
    ]


def choose_recipe(rows: Sequence[Mapping[str, Any]]) -> Recipe:
    """Return the recipe with the lowest mean over its trials that never broke down.

    Args:
        rows: What `search_recipes` returned, of one model.
    """
    tried: dict[Recipe, list[float]] = {}
    for row in rows:
        recipe = Recipe(row["hidden"], row["lr"], row["weight_decay"], row["eps"])
        tried.setdefault(recipe, []).append(math.inf if row["validation"] is None else row["validation"])
    best = min(tried, key=lambda recipe: sum(tried[recipe]) / len(tried[recipe]))
    if math.isinf(sum(tried[best])):
        raise ValueError(f"none of {len(tried)} recipes trained without breaking down; try smaller learning rates.")
    return best
