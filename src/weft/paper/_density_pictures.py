"""Pictures of densities: curves against the number of rows, adjacencies, and samples of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import Graph
from ._density import BASELINE
from ._density_tables import pair_up
from ._record import Row, distinct, mean, where

__all__ = ["TONES", "cut", "draw_adjacency", "draw_curves", "draw_difference", "draw_images", "tidy"]

TONES = {"StrNN": "#4b6a8f", BASELINE: "#e59a5c", "truth": "#5b6b7c"}


def cut(figure: Any, heights: Sequence[float]) -> list[Any]:
    """Cut a figure, or a part of one, in parts of these heights."""
    return list(figure.subfigures(len(heights), 1, height_ratios=heights))


def draw_curves(axes: Any, rows: Sequence[Row], title: str) -> None:
    """Draw the test negative log-likelihood of each model against the number of rows, and the true one."""
    sizes = sorted(distinct(rows, "n"))
    for model in distinct(rows, "model"):
        each = [where(rows, model=model, n=n) for n in sizes]
        axes.plot(sizes, [mean(some, "nll") for some in each], marker="o", ms=3.5, color=TONES[model], label=model)
    if rows[0]["truth"] is not None:
        truth = [mean(where(rows, n=n), "truth") for n in sizes]
        axes.plot(sizes, truth, ":", color=TONES["truth"], label="the true density")
    axes.set(title=title, xlabel="rows", ylabel="test NLL, nats", xscale="log")
    _mark(axes, sizes)
    axes.legend(frameon=False, fontsize=8)


def draw_difference(axes: Any, rows: Sequence[Row], model: str = "StrNN") -> None:
    """Draw the paired difference to the baseline against the number of rows, with two standard errors."""
    sizes = sorted(distinct(rows, "n"))
    pairs = [pair_up(where(rows, model=model, n=n)) for n in sizes]
    means, errors = [pair.mean for pair in pairs], [2 * pair.error for pair in pairs]
    axes.errorbar(sizes, means, errors, marker="o", ms=3.5, capsize=3, color=TONES["StrNN"])
    axes.axhline(0, color=TONES["truth"], linewidth=0.8, linestyle=":")
    axes.set(title=f"{model} − {BASELINE}, paired", xlabel="rows", ylabel="nats, ± 2 standard errors", xscale="log")
    _mark(axes, sizes)


def draw_adjacency(axes: Any, graph: Graph, title: str, first: int | None = None) -> None:
    """Draw which variable (row) depends on which (column), of all or of the first variables."""
    matrix = graph.adjacency(sparse=True)[:first, :first].toarray()
    axes.imshow(matrix, cmap="cividis", interpolation="nearest", vmin=0, vmax=1)
    axes.set(title=title)
    axes.set_xticks([])
    axes.set_yticks([])


def draw_images(axes: Any, images: Sequence[np.ndarray], title: str, columns: int) -> None:
    """Draw images in a grid."""
    height, width = images[0].shape
    lines = -(-len(images) // columns)
    sheet = np.zeros((lines * (height + 2), columns * (width + 2)))
    for number, image in enumerate(images):
        top, left = (number // columns) * (height + 2) + 1, (number % columns) * (width + 2) + 1
        sheet[top : top + height, left : left + width] = image
    axes.imshow(sheet, cmap="gray_r", interpolation="nearest", vmin=0, vmax=1)
    axes.set_title(title, fontsize=9)
    axes.set_xticks([])
    axes.set_yticks([])


def tidy(axes: Any) -> None:
    """Give axes with curves a light grid and no frame."""
    axes.grid(color="#e6eaf0", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _mark(axes: Any, sizes: Sequence[int]) -> None:
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes], rotation=30)
    axes.set_xticks([], minor=True)
    tidy(axes)
