"""Matrices drawn side by side, with names along them and words above: what a picture of a factorization is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DARK", "EMPTY", "FOLLOWED", "KEPT", "Axis", "Panel", "compose"]

EMPTY, KEPT, DARK, FOLLOWED = "#f1f4f8", "#a3b8d1", "#4b6a8f", "#e59a5c"
"""What a cell can be: the tones of `Graph.plot`, and one that stands out from them."""

_INK, _SOFT, _STRONG, _ALARM = "#1c2b3a", "#5b6b7c", "#b4571a", "#b3261e"
_LABEL, _TEXT, _TITLE, _HEAD = 7.5, 8.5, 10.5, 13.0  # font sizes; lengths are in points throughout
_CELL, _LEAST_CELL, _SIDE = 18.0, 9.0, 300.0
_GAP, _MARGIN, _WIDEST, _NARROWEST = 26.0, 20.0, 800.0, 215.0
_MOST_LABELS, _MOST_BLOCKS = 40, 150  # along a side; beyond, cells have no labels, then are drawn in blocks


@dataclass(frozen=True)
class Axis:
    """One side of a matrix.

    Args:
        name: What its entries are.
        labels: A label for each.
        followed: Which of them are on the way that is followed.
        bold: Which of those to stress.
        is_numbered: Whether the labels are mere numbers.
    """

    name: str
    labels: Sequence[str]
    followed: np.ndarray
    bold: np.ndarray
    is_numbered: bool = False

    @property
    def is_labelled(self) -> bool:
        """Whether there is room for the labels."""
        return len(self.labels) <= _MOST_LABELS

    @property
    def cell(self) -> float:
        """How many points an entry takes."""
        least = _LEAST_CELL if self.is_labelled else 0.0
        return float(np.clip(_SIDE / max(1, len(self.labels)), least, _CELL))

    @property
    def length(self) -> float:
        """How many points the side takes."""
        return self.cell * max(1, len(self.labels))

    @property
    def font(self) -> float:
        """The size of its labels."""
        return min(_LABEL, 0.75 * self.cell) if self.is_labelled else _LABEL

    @cached_property
    def shown(self) -> list[int]:
        """Whose labels are written: all where there is room, else the one that is stressed."""
        if self.is_labelled:
            return list(range(len(self.labels)))
        stressed = np.flatnonzero(self.bold).tolist()
        return stressed if len(stressed) == 1 else []

    @cached_property
    def longest(self) -> float:
        """How many points the longest label takes."""
        return 1.15 * max((measure(self.labels[k], self.font) for k in self.shown), default=0.0)  # bold is wider


@dataclass(frozen=True)
class Panel:
    """A matrix to be drawn.

    Args:
        title: What it is.
        caption: What to see in it.
        rows: Its rows.
        columns: Its columns.
        ink: How strongly each entry is inked, from 0 to 1.
        color: The color of the ink; followed rows have their own.
        texts: What is written into cells.
        marked: Cells to stress.
    """

    title: str
    caption: str
    rows: Axis
    columns: Axis
    ink: sp.coo_array
    color: str = KEPT
    texts: dict[tuple[int, int], str] = field(default_factory=dict)
    marked: Sequence[tuple[int, int]] = ()

    @property
    def angle(self) -> int:
        """How far the labels of the columns are turned."""
        if self.columns.is_numbered and self.columns.cell > 12:
            return 0
        return 45 if self.columns.cell > 12 else 90

    @property
    def left(self) -> float:
        """Room for the labels of the rows; slanted ones of the columns reach there, too."""
        slant = 0.71 * self.columns.longest if self.angle == 45 else 0.0
        return max(self.rows.longest + 1.5 * _TEXT + 8, slant)

    @property
    def below(self) -> float:
        """Room for the labels of the columns."""
        long, font = self.columns.longest, self.columns.font
        tall = {0: font, 45: 0.71 * (long + font), 90: long}[self.angle]
        return 1.5 * _TEXT + 6 + (tall + 4 if long else 0.0)

    @property
    def width(self) -> float:
        """How many points it takes from left to right."""
        return max(self.left + self.columns.length, _NARROWEST)

    @property
    def above(self) -> float:
        """Room for the title and the caption."""
        return 1.7 * _TITLE + 1.35 * _TEXT * len(self.lines) + 14

    @cached_property
    def lines(self) -> list[str]:
        """The caption, broken into lines."""
        return wrap(self.caption, 0.94 * self.width, _TEXT)  # on screens letters are rounded to pixels


def measure(text: str, size: float) -> float:
    """Return how many points a text takes at a font size."""
    from matplotlib.textpath import TextPath

    return float(TextPath((0, 0), _plain(text), size=size).get_extents().width) if text.strip() else 0.0


def wrap(text: str, width: float, size: float) -> list[str]:
    """Break a text into lines of at most that many points."""
    space, lines, filled = 0.32 * size, [""], 0.0
    for word in text.split():
        needed = measure(word, size) + space
        if lines[-1] and filled + needed > width:
            lines.append("")
            filled = 0.0
        lines[-1] += f" {word}" if lines[-1] else word
        filled += needed
    return lines


def compose(head: str, line: str, panels: Sequence[Panel], legend: Sequence[tuple[str, str, str]]) -> Figure:
    """Draw panels in reading order under a headline; the legend has (color, mark, meaning) of each kind of cell."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    rows = _break(panels)
    width = max(sum(p.width for p in row) + _GAP * (len(row) - 1) for row in rows)
    width = max(width, measure(head, _HEAD) * 1.12)  # bold is wider
    lines, keys = wrap(line, width, _TEXT + 0.5), _legend_rows(legend, width)
    top = 2.0 * _HEAD + 1.4 * _TEXT * len(lines) + _GAP / 2
    tall = [max(p.above + p.rows.length + p.below for p in row) for row in rows]
    height = top + sum(tall) + _GAP * len(rows) + 18.0 * len(keys) + 2 * _MARGIN
    full = np.array([width + 2 * _MARGIN, height])
    figure = plt.figure(figsize=tuple(full / 72), facecolor="white")

    def write(x: float, y: float, text: str, **style: Any) -> None:
        if "va" not in style:
            y += 0.8 * style["size"]  # from the top of the letters to their baseline
        style = {"color": _SOFT, "ha": "left", "va": "baseline"} | style
        figure.text(x / full[0], 1 - y / full[1], _plain(text), **style)

    write(_MARGIN, _MARGIN, head, size=_HEAD, weight="bold", color=_INK)
    for k, each in enumerate(lines):
        write(_MARGIN, _MARGIN + 1.7 * _HEAD + 1.4 * _TEXT * k, each, size=_TEXT + 0.5)
    y = _MARGIN + top
    for row, deep in zip(rows, tall, strict=True):
        x, above = _MARGIN, max(p.above for p in row)
        for panel in row:
            write(x, y, panel.title, size=_TITLE, weight="bold", color=_INK)
            for k, each in enumerate(panel.lines):
                write(x, y + 1.7 * _TITLE + 1.35 * _TEXT * k, each, size=_TEXT)
            corner = (x + panel.left, height - y - above - panel.rows.length)
            size = np.array([panel.columns.length, panel.rows.length])
            _draw(figure.add_axes((*(corner / full), *(size / full))), panel)
            x += panel.width + _GAP
        y += deep + _GAP
    for row_of_keys in keys:
        for x, color, mark, meaning in row_of_keys:
            at = np.array([_MARGIN + x, height - y - 11])
            side = (11, 11) / full
            figure.add_artist(Rectangle(at / full, *side, fc=color, ec=_ALARM if mark == "0" else "none", lw=1.2))
            write(
                at[0] + 5.5, y + 5.5, mark, size=_LABEL, color=_ALARM if mark == "0" else _INK, ha="center", va="center"
            )
            write(at[0] + 16, y + 5.5, meaning, size=_TEXT, va="center")
        y += 18
    return figure


def _legend_rows(legend: Sequence[tuple[str, str, str]], width: float) -> list[list[tuple[float, str, str, str]]]:
    rows: list[list[tuple[float, str, str, str]]] = [[]]
    x = 0.0
    for color, mark, meaning in legend:
        needed = 16 + measure(meaning, _TEXT) + 22
        if rows[-1] and x + needed > width + 22:
            rows.append([])
            x = 0.0
        rows[-1].append((x, color, mark, meaning))
        x += needed
    return rows


def _break(panels: Sequence[Panel]) -> list[list[Panel]]:
    """Break the panels into as few rows as keep to the widest, all of about one width."""

    def fill(limit: float) -> list[list[Panel]]:
        rows: list[list[Panel]] = [[]]
        for panel in panels:
            if rows[-1] and sum(p.width + _GAP for p in rows[-1]) + panel.width > limit:
                rows.append([])
            rows[-1].append(panel)
        return rows

    fewest = len(fill(_WIDEST))
    limits = np.arange(max(p.width for p in panels), _WIDEST, 10.0)
    return next((rows for limit in limits if len(rows := fill(float(limit))) == fewest), fill(_WIDEST))


def _draw(ax: Any, panel: Panel) -> None:
    """Draw the matrix and what stands along it and in it."""
    from matplotlib.patches import Rectangle

    rows, columns = panel.rows, panel.columns
    shape = (len(rows.labels), len(columns.labels))
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.set_facecolor(EMPTY)
    ax.tick_params(length=0, pad=3, colors=_INK)
    ax.set_xticks([])
    ax.set_yticks([])
    style = {"fontsize": _TEXT, "color": _SOFT}
    across = {"xycoords": "axes fraction", "textcoords": "offset points"} | style
    ax.annotate(columns.name, (0.5, 0), (0, 4 - panel.below), ha="center", va="bottom", **across)
    ax.annotate(rows.name, (0, 0.5), (-rows.longest - 8, 0), ha="right", va="center", rotation=90, **across)
    if not shape[0] * shape[1]:
        ax.text(0.5, 0.5, "none", ha="center", va="center", transform=ax.transAxes, **style)
        return
    image = _image(panel)
    ax.imshow(image, aspect="auto", extent=(-0.5, shape[1] - 0.5, shape[0] - 0.5, -0.5))
    ax.grid(visible=False)
    if columns.is_labelled:
        ax.vlines(np.arange(shape[1] + 1) - 0.5, -0.5, shape[0] - 0.5, color="white", lw=1.2)
    if rows.is_labelled:
        ax.hlines(np.arange(shape[0] + 1) - 0.5, -0.5, shape[1] - 0.5, color="white", lw=1.2)
    turned = {"rotation": panel.angle, "rotation_mode": "anchor", "ha": "right" if panel.angle else "center"}
    turned["va"] = "center" if panel.angle == 90 else "top"
    ax.set_xticks(columns.shown, [_plain(columns.labels[k]) for k in columns.shown], fontsize=columns.font)
    ax.set_yticks(rows.shown, [_plain(rows.labels[k]) for k in rows.shown], fontsize=rows.font)
    for k, label in zip(columns.shown, ax.get_xticklabels(), strict=True):
        label.set(**turned, **_stress(columns, k))
    for k, label in zip(rows.shown, ax.get_yticklabels(), strict=True):
        label.set(**_stress(rows, k))
    size = 0.42 * min(rows.cell, columns.cell)
    for (i, j), text in panel.texts.items():
        color = "white" if image[i, j].mean() < 0.6 else _INK
        ax.text(j, i, text, fontsize=size, color=color, ha="center", va="center")
    for i, j in panel.marked:
        ax.add_patch(Rectangle((j - 0.42, i - 0.42), 0.84, 0.84, fill=False, ec=_ALARM, lw=1.2))


def _stress(axis: Axis, k: int) -> dict[str, Any]:
    if axis.bold[k]:
        return {"color": _STRONG, "weight": "bold"}
    return {"color": _STRONG if axis.followed[k] else _SOFT}


def _image(panel: Panel) -> np.ndarray:
    """Return the colors of the cells, or of blocks of them, each as dark as the entries in it are many and inked."""
    from matplotlib.colors import to_rgb

    shape = panel.ink.shape
    blocks = np.minimum(shape, _MOST_BLOCKS)
    i, j = (coords * count // side for coords, count, side in zip(panel.ink.coords, blocks, shape, strict=True))
    followed = panel.rows.followed[panel.ink.coords[0]]

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(i * blocks[1] + j, values, minlength=int(blocks.prod())).reshape(blocks)

    count, size = total(np.ones(len(i))), np.prod(shape) / blocks.prod()
    share = total(followed.astype(float)) / np.maximum(count, 1)
    # However empty a block is, what it holds is seen, and what is followed stands out.
    depth = np.where(share > 0, 1.0, 0.4 + 0.6 * np.minimum(count / size, 1) ** 0.4)
    depth = depth * total(panel.ink.data) / np.maximum(count, 1)
    empty, plain, stressed = (np.array(to_rgb(color)) for color in (EMPTY, panel.color, FOLLOWED))
    color = plain + np.ceil(share)[..., None] * (stressed - plain)
    out: np.ndarray = empty + depth[..., None] * (color - empty)
    return out


def _plain(text: str) -> str:
    return text.replace("$", r"\$")
