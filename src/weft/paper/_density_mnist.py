"""The paper's densities of handwritten digits of one label, with samples, and of the fixed binarized MNIST.

Of the curves the paper states no number. The training rows of a trial are n random images of the label, as the paper's
code counts them; 500 others tell when to stop, and the test rows are those of the test file. Samples are drawn from the
models of the first trial, at the paper's 1000 rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..data import Splits, mnist
from ..graph import neighbourhood
from ..models import StrNNDensity
from ._density import EPOCHS, Trial
from ._density_pictures import cut, draw_adjacency, draw_curves, draw_difference, draw_images
from ._density_search import LARGE_GRID, Grid
from ._density_tables import advantage, comparison, recipes_table
from ._density_tasks import Task, compare_on, makers, searched_size
from ._experiment import Experiment
from ._record import Row, distinct, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MNIST", "SIDE", "draw_sample_rows", "image_of", "learn_mnist", "sample_rows"]

SIDE = 28
"""Pixels of a side of an image."""

RADIUS = 10
"""The paper's radius of a neighbourhood for labels 0 and 2."""

SAMPLED = 1000
"""The number of rows at which the paper shows samples, and recipes are searched."""

SAMPLES = 20


def learn_mnist(
    seeds: int = 8,
    sizes: Sequence[int] = (200, 500, 1000, 2000),
    labels: Sequence[int] = (0, 2),
    radius: int = RADIUS,
    grid: Grid = LARGE_GRID,
    epochs: int = EPOCHS,
    test_rows: int | None = None,
    track: Callable[[Sequence[Any]], Iterable[Any]] = iter,
    device: str = "cpu",
) -> list[Row]:
    """Compare StrNN, each pixel reading its earlier neighbours, with MADE on the digits of one label.

    Args:
        seeds: Trials of each number of rows; each draws training rows and the weights that a model begins with.
        sizes: Training rows.
        labels: The labels.
        radius: Radius of the neighbourhood; from 27 on StrNN has the structure of MADE.
        grid: What is searched for each model, at n = 1000 or the largest size below.
        epochs: Most epochs.
        test_rows: Test rows, the first of the test file; by default all.
        track: Wrapped around the steps, to show progress.
        device: Where to compute: ``"cpu"`` or ``"cuda"``.

    Returns:
        Rows of the search with its validation NLL, rows of the test, one per model and trial, and rows of the part
        ``"sample"`` with ``pixels``: an image in hexadecimal digits.

    Examples:
        >>> from weft.paper import Grid, learn_mnist
        >>> few = Grid(units=(1,), penalties=((0.05, 0.01),), rates=(0.01,), seeds=1, epochs=2)
        >>> rows = learn_mnist(seeds=1, sizes=(100,), labels=(2,), grid=few)  # doctest: +SKIP
        >>> sorted({row["part"] for row in rows})  # doctest: +SKIP
        ['sample', 'search', 'test']

    References:
        Structured Neural Networks for Density Estimation and Causal Inference (Chen et al., 2023), section 4.1 and
        appendices B, C and E.
    """
    graph = neighbourhood(SIDE, SIDE, radius)
    searched = searched_size(sizes, SAMPLED)
    tasks = []
    for label in labels:
        splits = mnist(labels=label)
        draw = partial(_draw_trial, splits, splits.test[:test_rows])
        tasks.append(
            Task(f"label {label}", len(graph), makers(graph, "binary", device), draw, sizes, searched, grid=grid)
        )

    def samples(task: Task, n: int, trained: Mapping[str, Sequence[StrNNDensity]]) -> list[Row]:
        return sample_rows({"data": task.name, "n": n}, trained, SAMPLES) if n == searched else []

    return compare_on(tasks, seeds, track, samples, epochs=epochs)


def _draw_trial(splits: Splits, test: torch.Tensor, seed: int, n: int) -> Trial:
    chosen = np.random.default_rng(seed).permutation(len(splits.train))[:n]
    return Trial(seed, splits.train[torch.from_numpy(chosen)], splits.validation, test)


def sample_rows(setting: Row, trained: Mapping[str, Sequence[StrNNDensity]], count: int) -> list[Row]:
    """Draw images from the first of the models of each name, as rows that JSON can hold."""
    rows = []
    for name, members in trained.items():
        device = members[0].shift.device
        images = members[0].sample(count, generator=torch.Generator(device).manual_seed(0)).cpu().numpy()
        for image in images:
            pixels = np.packbits(image.astype(bool)).tobytes().hex()
            rows.append({"part": "sample", **setting, "model": name, "pixels": pixels})
    return rows


def image_of(row: Row) -> np.ndarray:
    """Return the image of a row of samples."""
    bits = np.unpackbits(np.frombuffer(bytes.fromhex(row["pixels"]), dtype=np.uint8))
    image: np.ndarray = bits[: SIDE * SIDE].reshape(SIDE, SIDE)
    return image


def _tables(rows: list[Row]) -> dict[str, list[Row]]:
    test = where(rows, part="test")
    return {
        "Published, and computed here: test NLL in nats (± standard error across the test rows), and the paired "
        "difference (± standard error over trials and test rows)": comparison(test, "StrNN lower; values not stated"),
        "Whether the advantage is larger where rows are fewer": advantage(
            test, "The advantage is more significant when the sample size is very small."
        ),
        "Hyperparameters": recipes_table(rows),
    }


def _draw(rows: list[Row]) -> Figure:
    """Draw curves and samples of each label, and the adjacency of the neighbourhoods."""
    from matplotlib.figure import Figure

    test = where(rows, part="test")
    names = distinct(test, "data")
    drawn = Figure(figsize=(12, 5.2 * len(names) + 4.0), layout="constrained", facecolor="white")
    areas = cut(drawn, [5.2] * len(names) + [4.0])
    for area, data in zip(areas, names, strict=False):
        above, below = cut(area, [3.6, 1.6])
        curves, difference = above.subplots(1, 2)
        each = where(test, data=data)
        draw_curves(curves, each, data)
        draw_difference(difference, each)
        draw_sample_rows(below, where(rows, part="sample", data=data))
    whole, first = areas[-1].subplots(1, 2)
    graph = neighbourhood(SIDE, SIDE, RADIUS)
    draw_adjacency(whole, graph, f"Neighbourhoods of radius {RADIUS}: all pixels")
    draw_adjacency(first, graph, "… the first 36", 36)
    return drawn


def draw_sample_rows(area: Any, rows: list[Row]) -> None:
    """Draw the samples of each model beside each other."""
    models = distinct(rows, "model")
    for axes, model in zip(area.subplots(1, len(models), squeeze=False).ravel(), models, strict=True):
        each = where(rows, model=model)
        title = f"{model}: samples, n = {each[0]['n']:,}"
        draw_images(axes, [image_of(row) for row in each], title, columns=20 // len(models))


MNIST = Experiment(
    title="Handwritten digits of one label: StrNN on neighbourhoods and MADE against the number of rows",
    output="density_mnist",
    run=learn_mnist,
    quick={
        "seeds": 2,
        "labels": (2,),
        "sizes": (200,),
        "epochs": 30,
        "grid": Grid(units=(1,), penalties=((0.05, 1e-2),), rates=(0.01, 0.001), seeds=1, epochs=10),
        "test_rows": 200,
    },
    tables=_tables,
    draw=_draw,
)
"""The paper's figures of MNIST by label."""
