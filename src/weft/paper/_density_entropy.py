"""How near learned densities come to the entropy of known binary networks: a check that the paper does not have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import BinaryNetwork
from ..graph import Graph, every_other, random_sparse
from ._density import BASELINE, EPOCHS
from ._density_pictures import TONES, tidy
from ._density_published import RECIPES
from ._density_tables import pair_up, recipes_table
from ._density_tasks import GRAPH_SEED, THRESHOLD, Task, compare_on, makers, network_trial
from ._experiment import Experiment
from ._record import Row, distinct, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ENTROPY", "approach_entropy"]

TOLERANCE = 0.02
"""Share of the entropy that a model of many rows may exceed it by."""

MANY = 50_000
"""Rows that are many."""

TEST_ROWS = 20_000


def approach_entropy(
    seeds: int = 5,
    sizes: Sequence[int] = (500, 2000, 10_000, MANY),
    d: int = 15,
    epochs: int = EPOCHS,
    track: Callable[[Sequence[Any]], Iterable[Any]] = iter,
    device: str = "cpu",
) -> list[Row]:
    """Learn known binary networks over every_other and random_sparse, and measure by how much the NLL exceeds entropy.

    The hyperparameters are those that the authors of the paper selected for every_other; those for random_sparse have a
    learning rate a hundred times as large, which gains nothing where rows are many. The activation is smooth: an edge
    has but a few hidden units, and where all of them are dead ReLUs it is lost for good.

    Args:
        seeds: Networks of each graph.
        sizes: Rows for training and validation together.
        d: Variables, at most 21.
        epochs: Most epochs.
        track: Wrapped around the settings, to show progress.
        device: Where to compute: ``"cpu"`` or ``"cuda"``.

    Returns:
        Rows of the test, one per model and network, with the ``entropy`` of the network and the ``excess``: the
        test NLL less that of the network itself on the same rows.

    Examples:
        >>> from weft.paper import approach_entropy
        >>> rows = approach_entropy(seeds=2, sizes=(200,), d=5)
        >>> len(rows), all(row["entropy"] > 0 for row in rows)
        (8, True)
    """
    graphs: dict[str, Graph] = {
        "every_other": every_other(d),
        "random_sparse": random_sparse(d, THRESHOLD, GRAPH_SEED),
    }
    tasks = []
    for name, graph in graphs.items():
        draw = partial(network_trial, graph, "binary", test_rows=TEST_ROWS)
        tasks.append(
            Task(name, d, makers(graph, "binary", device, "silu"), draw, sizes, recipes=RECIPES["every_other"])
        )
    rows = compare_on(tasks, seeds, track, epochs=epochs)
    entropy = {
        (name, seed): BinaryNetwork.draw(graph, seed=seed).entropy()
        for name, graph in graphs.items()
        for seed in range(seeds)
    }
    return [{**row, "entropy": entropy[row["data"], row["seed"]], "excess": row["nll"] - row["truth"]} for row in rows]


def _tables(rows: list[Row]) -> dict[str, list[Row]]:
    table = []
    for data in distinct(rows, "data"):
        for n in distinct(where(rows, data=data), "n"):
            strnn, made = (where(rows, data=data, n=n, model=model) for model in ("StrNN", BASELINE))
            most, reached = max(map(_share, strnn)), max(map(_share, strnn)) < TOLERANCE
            paired = pair_up(strnn)
            word = f"{'below' if reached else 'not below'} {TOLERANCE:.0%}"
            table.append(
                {
                    "data": data,
                    "n": n,
                    "published": "not in the paper",
                    "entropy": f"{np.mean([row['entropy'] for row in strnn]):.3f}",
                    "StrNN, excess": _excess(strnn),
                    f"{BASELINE}, excess": _excess(made),
                    "StrNN, of the entropy": f"{np.mean(list(map(_share, strnn))):.2%}, at most {most:.2%}",
                    f"StrNN − {BASELINE}": str(paired),
                    "pairs": paired.pairs,
                    "verdict": word if n >= MANY else f"{word}, with fewer rows than {MANY:,}",
                }
            )
    return {
        "Entropy of the network, and by how much the test NLL exceeds it, in nats (± standard error over the "
        "networks)": table,
        "Hyperparameters": recipes_table(rows),
    }


def _share(row: Row) -> float:
    return float(row["excess"] / row["entropy"])


def _excess(rows: list[Row]) -> str:
    values = np.array([row["excess"] for row in rows])
    error = f" ± {values.std(ddof=1) / len(values) ** 0.5:.4f}" if len(values) > 1 else ""
    return f"{values.mean():.4f}{error}"


def _draw(rows: list[Row]) -> Figure:
    """Draw the share of the entropy by which each model exceeds it, against the number of rows."""
    from matplotlib.figure import Figure

    names = distinct(rows, "data")
    drawn = Figure(figsize=(4.6 * len(names), 3.8), layout="constrained", facecolor="white")
    for axes, name in zip(drawn.subplots(1, len(names), squeeze=False).ravel(), names, strict=True):
        sizes = sorted(distinct(rows, "n"))
        for model in ("StrNN", BASELINE):
            each = [where(rows, data=name, model=model, n=n) for n in sizes]
            shares = [100 * float(np.mean(list(map(_share, some)))) for some in each]
            axes.plot(sizes, shares, marker="o", ms=3.5, color=TONES[model], label=model)
        axes.axhline(100 * TOLERANCE, color=TONES["truth"], linewidth=1, linestyle=":", label=f"{TOLERANCE:.0%}")
        axes.set(title=name, xlabel="rows", ylabel="excess over the entropy, percent", xscale="log", yscale="log")
        tidy(axes)
        axes.legend(frameon=False, fontsize=8)
    return drawn


ENTROPY = Experiment(
    title="Learned densities of known binary networks beside their entropy",
    output="density_entropy",
    run=approach_entropy,
    quick={"seeds": 3, "sizes": (500, 2000), "d": 10, "epochs": 60},
    tables=_tables,
    draw=_draw,
)
"""The check against entropies."""
