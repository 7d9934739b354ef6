"""The published binary data sets of 15 variables, with the hyperparameters that their authors selected.

The paper reports no number for them; the yardstick is what a near-oracle reaches on the same test rows: logistic
regressions of the right form on the true parents, on all earlier variables, and on none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..data import published_binary
from ._density import BASELINE, EPOCHS, Recipe, Trial
from ._density_pictures import TONES, tidy
from ._density_tables import nats, pair_up, recipes_table
from ._density_tasks import Task, compare_on, makers
from ._experiment import Experiment
from ._record import Row, distinct, mean, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PUBLISHED", "RECIPES", "learn_published"]

RECIPES = {
    "every_other": {
        "StrNN": Recipe(hidden=4 * 15, lr=1e-3, weight_decay=0.05, eps=1e-2),
        "MADE": Recipe(hidden=8 * 15, lr=1e-3, weight_decay=0.05, eps=1e-6),
    },
    "random_sparse": {
        "StrNN": Recipe(hidden=4 * 15, lr=0.1, weight_decay=1e-3, eps=1.0),
        "MADE": Recipe(hidden=12 * 15, lr=5e-3, weight_decay=0.01, eps=1e-2),
    },
}
"""What the authors selected for each of the two."""

NEAR_ORACLE = {
    "every_other": {"true parents": 8.329, "all earlier": 8.357, "independent": 9.753},
    "random_sparse": {"true parents": 7.759, "all earlier": 7.774, "independent": 8.777},
}
"""Test NLL of near-oracles on the same 500 rows."""

TOLERANCE = 0.02
"""Nats above the near-oracle that count as reaching it."""


def learn_published(
    seeds: int = 20,
    names: Sequence[str] = ("every_other", "random_sparse"),
    epochs: int = EPOCHS,
    track: Callable[[Sequence[Any]], Iterable[Any]] = iter,
    device: str = "cpu",
) -> list[Row]:
    """Learn the published data sets with StrNN and MADE from many seeds, with the published hyperparameters.

    Args:
        seeds: Models of each kind; a pair begins with weights of one seed and sees the rows in one order.
        names: The data sets.
        epochs: Most epochs.
        track: Wrapped around the data sets, to show progress.
        device: Where to compute: ``"cpu"`` or ``"cuda"``.

    Returns:
        Rows of the test, one per model and seed.

    Examples:
        >>> from weft.paper import learn_published
        >>> rows = learn_published(seeds=2, names=("every_other",), epochs=3)  # doctest: +SKIP
        >>> [(row["model"], row["seed"]) for row in rows]  # doctest: +SKIP
        [('StrNN', 0), ('StrNN', 1), ('MADE', 0), ('MADE', 1)]

    References:
        Structured Neural Networks for Density Estimation and Causal Inference (Chen et al., 2023), appendix E.
    """
    tasks = []
    for name in names:
        splits = published_binary(name)  # type: ignore[arg-type]  # the loader checks the word

        def draw(seed: int, n: int, splits: Any = splits) -> Trial:  # the rows are what they are
            return Trial(seed, splits.train, splits.validation, splits.test)

        n = len(splits.train) + len(splits.validation)
        tasks.append(Task(name, 15, makers(splits.graph, "binary", device), draw, (n,), recipes=RECIPES[name]))
    return compare_on(tasks, seeds, track, epochs=epochs)


def _tables(rows: list[Row]) -> dict[str, list[Row]]:
    return {
        "Near-oracle, and computed here: test NLL in nats (± standard error across the test rows), and the paired "
        "difference (± standard error over seeds and test rows)": [
            _line(name, where(rows, data=name)) for name in distinct(rows, "data")
        ],
        "Hyperparameters": recipes_table(rows),
    }


def _line(name: str, rows: list[Row]) -> Row:
    oracle = NEAR_ORACLE[name]
    strnn, made = (where(rows, model=model) for model in ("StrNN", BASELINE))
    paired, above = pair_up(strnn), mean(strnn, "nll") - oracle["true parents"]
    near = f"{'within' if above <= TOLERANCE else 'not within'} {TOLERANCE:g} nats of the near-oracle"
    return {
        "data": name,
        "published": "not stated",
        "near-oracle": f"{oracle['true parents']:.3f}",
        "… of all earlier variables": f"{oracle['all earlier']:.3f}",
        "StrNN": nats(strnn),
        BASELINE: nats(made),
        "StrNN − near-oracle": f"{above:+.4f}",
        f"StrNN − {BASELINE}": str(paired),
        "pairs": paired.pairs,
        "verdict": f"{near}; {paired.verdict('StrNN', BASELINE, claimed=False)}",
    }


def _draw(rows: list[Row]) -> Figure:
    """Draw the test NLL of every model beside the near-oracles."""
    from matplotlib.figure import Figure

    names = distinct(rows, "data")
    drawn = Figure(figsize=(4.6 * len(names), 3.8), layout="constrained", facecolor="white")
    for axes, name in zip(drawn.subplots(1, len(names), squeeze=False).ravel(), names, strict=True):
        for place, model in enumerate(("StrNN", BASELINE)):
            values = [row["nll"] for row in where(rows, data=name, model=model)]
            axes.plot([place] * len(values), values, "o", ms=4, alpha=0.5, color=TONES[model], label=model)
        for kind, style in (("true parents", "-"), ("all earlier", "--")):
            label = f"near-oracle, {kind}"
            axes.axhline(NEAR_ORACLE[name][kind], color=TONES["truth"], linewidth=1, linestyle=style, label=label)
        axes.set(title=name, ylabel="test NLL, nats", xlim=(-0.6, 1.6))
        axes.set_xticks([0, 1], ["StrNN", BASELINE])
        tidy(axes)
        axes.legend(frameon=False, fontsize=8)
    return drawn


PUBLISHED = Experiment(
    title="The published binary data sets of 15 variables",
    output="density_published",
    run=learn_published,
    quick={"seeds": 3, "epochs": 300},
    tables=_tables,
    draw=_draw,
)
"""The published data sets."""
