"""The fixed binarized MNIST: MADE with one hidden layer of 500, and StrNN on neighbourhoods of pixels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..baselines import MADE
from ..data import binarized_mnist
from ..graph import Graph, neighbourhood
from ..models import StrNNDensity
from ._density import BASELINE, Recipe, Trial
from ._density_mnist import SIDE, draw_sample_rows, sample_rows
from ._density_pictures import TONES, cut, tidy
from ._density_tables import nats, pair_between, pair_up, recipes_table
from ._density_tasks import ACTIVATION, Task, compare_on, makers
from ._experiment import Experiment
from ._record import Row, distinct, mean, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["BINARIZED_MNIST", "learn_binarized_mnist"]

TARGET = 94.5
"""Test NLL that a public re-implementation of MADE reaches with one hidden layer of 500."""

RADIUS = 10

TRAINING = {"patience": None, "schedule": "multi-step"}


def learn_binarized_mnist(
    seeds: int = 3,
    hidden: int = 500,
    radius: int = RADIUS,
    widths: Sequence[int] = (4 * SIDE * SIDE, 16 * SIDE * SIDE),
    epochs: int = 50,
    lr: float = 3e-3,
    most_rows: int | None = None,
    track: Callable[[Sequence[Any]], Iterable[Any]] = iter,
    device: str = "cpu",
) -> list[Row]:
    """Learn the fixed binarized MNIST with MADE and with StrNN on neighbourhoods.

    A unit of StrNN reads the neighbours of one pixel and serves hardly any other, so it needs at least as many units as
    pixels; the widths give each pixel 4 and 16. The 500 units of MADE are too few to carry all dependences, so its
    masks are drawn, as in the original, and lose some. It takes the pixels in a random order, as the original does:
    then those that are lost are seldom neighbours in the image. All are trained alike: Adam, a tenth of the learning
    rate after half and after three quarters of the epochs, batches of 200; the epoch best on validation rows is kept.

    Args:
        seeds: Models of each kind.
        hidden: Hidden units of MADE; a second one has those of the first StrNN.
        radius: Radius of the neighbourhoods.
        widths: Hidden units of the StrNNs.
        epochs: Epochs.
        lr: Learning rate of the first half of the epochs.
        most_rows: Most rows for training, and for validation, the first; by default all.
        track: Wrapped around the models, to show progress.
        device: Where to compute: ``"cpu"`` or ``"cuda"``.

    Returns:
        Rows of the test, one per model and seed, and rows of the part ``"sample"`` with ``pixels``: an image in
        hexadecimal digits.

    Examples:
        >>> from weft.paper import learn_binarized_mnist
        >>> rows = learn_binarized_mnist(seeds=1, widths=(784,), epochs=1, most_rows=500)  # doctest: +SKIP
        >>> [row["model"] for row in rows if row["part"] == "test"]  # doctest: +SKIP
        ['MADE', 'MADE, 784', 'StrNN, 784']

    References:
        MADE: Masked Autoencoder for Distribution Estimation (Germain et al., 2015). https://arxiv.org/abs/1502.03509
    """
    splits = binarized_mnist()
    rows, validation = splits.train[:most_rows], splits.validation[:most_rows]
    strnn = makers(neighbourhood(SIDE, SIDE, radius), "binary", device)["StrNN"]
    order = np.random.default_rng(0).permutation(SIDE * SIDE).tolist()
    shuffled = Graph.from_edges(pairwise(order), nodes=range(SIDE * SIDE))

    def narrow(units: int) -> StrNNDensity:
        return MADE(shuffled, "binary", (units,), ACTIVATION, masks="random", device=device)

    models = {BASELINE: narrow, f"{BASELINE}, {widths[0]}": makers(shuffled, "binary", device)[BASELINE]}
    models |= {f"StrNN, {width}": strnn for width in widths}
    recipes = {
        name: Recipe(units, lr, weight_decay=0.0, eps=1e-8)
        for name, units in zip(models, (hidden, widths[0], *widths), strict=True)
    }

    def draw(seed: int, n: int) -> Trial:  # the rows are what they are
        return Trial(seed, rows, validation, splits.test)

    task = Task("binarized MNIST", SIDE * SIDE, models, draw, (len(rows),), recipes=recipes, source="chosen by hand")

    def samples(task: Task, n: int, trained: Any) -> list[Row]:
        return sample_rows({"data": task.name, "n": n}, trained, 20)

    return compare_on([task], seeds, track, samples, epochs=epochs, **TRAINING)


def _tables(rows: list[Row]) -> dict[str, list[Row]]:
    test = where(rows, part="test")
    return {
        "Published, and computed here: test NLL in nats (± standard error across the test rows), and the paired "
        f"differences to {BASELINE} (± standard error over seeds and test rows) and to one as wide (over seeds)": [
            _line(model, test) for model in distinct(test, "model")
        ],
        "Hyperparameters": recipes_table(rows),
    }


def _line(model: str, test: list[Row]) -> Row:
    rows, base = where(test, model=model), model == BASELINE
    as_wide = [row for row in where(test, hidden=rows[0]["hidden"]) if row["model"].startswith(BASELINE)]
    to_as_wide = as_wide and as_wide[0]["model"] != model
    reached = "as good or better" if mean(rows, "nll") <= TARGET + mean(rows, "error") else "worse"
    return {
        "model": model,
        "published": f"about {TARGET:g}, by a public re-implementation" if base else "not stated",
        "hidden units": rows[0]["hidden"],
        "computed": nats(rows),
        f"− {BASELINE}": "" if base else str(pair_up(rows)),
        f"− {BASELINE} as wide": str(pair_between(rows, as_wide)) if to_as_wide else "",
        "pairs": len(rows),
        "verdict": reached if base else pair_up(rows).verdict(model, BASELINE, claimed=False),
    }


def _draw(rows: list[Row]) -> Figure:
    """Draw the test NLL of every model, and samples."""
    from matplotlib.figure import Figure

    test = where(rows, part="test")
    drawn = Figure(figsize=(12, 6.6), layout="constrained", facecolor="white")
    above, below = cut(drawn, [3.4, 3.2])
    axes = above.subplots()
    names = distinct(test, "model")
    for place, name in enumerate(names):
        values = [row["nll"] for row in where(test, model=name)]
        tone = TONES[BASELINE] if name.startswith(BASELINE) else TONES["StrNN"]
        axes.plot(values, [place] * len(values), "o", ms=5, alpha=0.6, color=tone)
    axes.axvline(TARGET, color=TONES["truth"], linestyle=":", label=f"{TARGET:g}: a public MADE of 500 units")
    axes.set(xlabel="test NLL, nats", ylim=(-0.6, len(names) - 0.4))
    axes.set_yticks(range(len(names)), names)
    tidy(axes)
    axes.legend(frameon=False, fontsize=8)
    draw_sample_rows(below, where(rows, part="sample"))
    return drawn


BINARIZED_MNIST = Experiment(
    title="The fixed binarized MNIST: MADE with one hidden layer of 500, and StrNN on neighbourhoods",
    output="density_binarized_mnist",
    run=learn_binarized_mnist,
    quick={"seeds": 1, "widths": (784,), "epochs": 5, "lr": 5e-3, "most_rows": 2000},
    tables=_tables,
    draw=_draw,
)
"""The fixed binarized MNIST."""
