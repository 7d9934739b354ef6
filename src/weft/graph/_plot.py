"""A picture of a graph: generations side by side, names in rounded boxes, arrows that run around them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import check_word
from .._errors import GraphError, cut, show, suggest
from ._layout import lay_out

__all__ = ["draw"]

_FILL, _EDGE, _INK, _ARROW = "#e8eff7", "#4b6a8f", "#1c2b3a", "#8496aa"
_FONT, _HEIGHT, _GAP = 10.0, 22.0, 14.0  # in points, which are the units of the axes
_DOT = 9.0
_MOST_LABELS, _MOST_ARROWS = 80, 1500
_MOST_NODES, _MOST_EDGES = 2000, 20_000


def draw(
    nodes: Sequence[Hashable],
    edges: list[tuple[int, int]],
    levels: NDArray[np.int64],
    *,
    ax: Any,
    direction: str,
    labels: bool | None,
    colors: Mapping[Hashable, Any] | None,
) -> Any:
    """Draw nodes by generation, and (parent, child) pairs of their numbers, on matplotlib axes."""
    from matplotlib.axes import Axes
    from matplotlib.patches import FancyBboxPatch, PathPatch
    from matplotlib.transforms import Affine2D

    check_word("direction", direction, "right", "down")
    if labels is not None and not isinstance(labels, bool):
        raise GraphError(
            f"labels={show(labels)}, expected True, False or None, which writes the names of small graphs."
        )
    if ax is not None and not isinstance(ax, Axes):
        raise GraphError(f"ax={show(ax)}, expected matplotlib axes: figure, ax = matplotlib.pyplot.subplots().")
    if len(nodes) > _MOST_NODES or len(edges) > _MOST_EDGES:
        raise GraphError(
            f"got {len(nodes):,} nodes and {len(edges):,} edges, expected at most {_MOST_NODES:,} and {_MOST_EDGES:,} "
            f"in a picture; plot a part, Graph.from_networkx(graph.to_networkx().subgraph(names)).plot()."
        )
    colors = _read_colors(colors, nodes)
    shown = len(nodes) <= _MOST_LABELS if labels is None else labels
    right = direction == "right"
    letters = [_letters(name) for name in nodes] if shown else []
    widths = np.array(
        [max(path.get_extents().width + 18, _HEIGHT + 8) for path in letters] if shown else [_DOT] * len(nodes)
    )
    heights = np.full(len(nodes), _HEIGHT if shown else _DOT)
    across, along = (heights, widths) if right else (widths, heights)
    places, bends = lay_out(levels, edges, across + _GAP, _GAP * 1.2)

    depth = _depths(levels, edges, places, along, right)
    centres = np.stack([depth[levels], places], axis=1)
    routes = _routes(edges, centres, along / 2, across / 2, bends, depth)
    centres = _turn(centres, right)
    routes = [_turn(route, right) for route in routes]

    half = np.stack([widths, heights], axis=1) / 2
    ax = _frame(ax, centres - half, centres + half, routes)
    scale = _scale(ax)
    _draw_arrows(ax, routes, right=right, scale=scale)
    for k, name in enumerate(nodes):
        x, y = centres[k] - half[k]
        style = f"round,pad=0,rounding_size={heights[k] * 0.36 if shown else heights[k] / 2}"
        ax.add_patch(
            FancyBboxPatch(
                (x, y),
                widths[k],
                heights[k],
                boxstyle=style,
                fc=colors.get(name, _FILL),
                ec=_EDGE,
                lw=1.1 * scale,
                zorder=3,
            )
        )
        if shown:
            box = letters[k].get_extents()
            shift = centres[k] - [(box.x0 + box.x1) / 2, _FONT * 0.36]
            ax.add_patch(PathPatch(letters[k].transformed(Affine2D().translate(*shift)), fc=_INK, lw=0, zorder=4))
    return ax


def _read_colors(colors: Any, nodes: Sequence[Hashable]) -> Mapping[Hashable, Any]:
    from matplotlib.colors import is_color_like

    if colors is None:
        return {}
    if not isinstance(colors, Mapping):
        raise GraphError(f"colors={show(colors)}, expected a mapping from names to colors: colors={{name: 'gold'}}.")
    known = set(nodes)
    for name, color in colors.items():
        if name not in known:
            raise GraphError(f"colors names {show(name)}, which is not a node{suggest(name, nodes)}.")
        if not is_color_like(color):
            raise GraphError(f"the color of {show(name)} is {show(color)}, expected a matplotlib color such as 'gold'.")
    return colors


def _letters(name: Hashable) -> Any:
    from matplotlib.textpath import TextPath

    return TextPath((0, 0), cut(name).replace("$", r"\$"), size=_FONT)


def _turn(points: NDArray[np.float64], right: bool) -> NDArray[np.float64]:  # noqa: FBT001
    # From (along, across) to the axes, where y points upwards.
    turned: NDArray[np.float64] = (points if right else points[:, ::-1]) * [1.0, -1.0]
    return turned


def _depths(
    levels: NDArray[np.int64],
    edges: list[tuple[int, int]],
    places: NDArray[np.float64],
    along: NDArray[np.float64],
    right: bool,  # noqa: FBT001
) -> NDArray[np.float64]:
    # The centre of each generation; the further edges have to climb between two, the more room lies between them.
    count = int(levels.max(initial=-1)) + 1
    thick = np.zeros(count)
    np.maximum.at(thick, levels, along)
    climb = np.zeros(count)
    for a, b in edges:
        climb[levels[b]] = max(climb[levels[b]], abs(places[a] - places[b]) / (levels[b] - levels[a]))
    gaps = np.clip(climb * 0.45, 40.0 if right else 34.0, 110.0)
    depth = np.zeros(count)
    for level in range(1, count):
        depth[level] = depth[level - 1] + (thick[level - 1] + thick[level]) / 2 + gaps[level]
    return depth


def _routes(
    edges: list[tuple[int, int]],
    centres: NDArray[np.float64],
    along: NDArray[np.float64],
    across: NDArray[np.float64],
    bends: list[list[tuple[int, float]]],
    depth: NDArray[np.float64],
) -> list[NDArray[np.float64]]:
    # Points of each edge from the rim of the parent to the rim of the child; edges of one node spread along its rim.
    middles = [[(depth[level], place) for level, place in each] for each in bends]
    leave = [each[0] if each else tuple(centres[b]) for each, (_, b) in zip(middles, edges, strict=True)]
    arrive = [each[-1] if each else tuple(centres[a]) for each, (a, _) in zip(middles, edges, strict=True)]
    start = _spread([a for a, _ in edges], leave, across)
    stop = _spread([b for _, b in edges], arrive, across)
    return [
        np.array(
            [
                (centres[a, 0] + along[a], centres[a, 1] + start[k]),
                *middles[k],
                (centres[b, 0] - along[b], centres[b, 1] + stop[k]),
            ]
        )
        for k, (a, b) in enumerate(edges)
    ]


def _spread(owners: list[int], towards: list[tuple[float, ...]], across: NDArray[np.float64]) -> list[float]:
    shift = [0.0] * len(owners)
    groups: dict[int, list[int]] = {}
    for edge, owner in enumerate(owners):
        groups.setdefault(owner, []).append(edge)
    for owner, group in groups.items():
        group.sort(key=lambda edge: towards[edge][1])
        reach = min(across[owner] * 0.55, 4.0 * (len(group) - 1))
        for edge, offset in zip(
            group, np.linspace(-reach, reach, len(group)) if len(group) > 1 else [0.0], strict=True
        ):
            shift[edge] = float(offset)
    return shift


def _frame(ax: Any, low: NDArray[np.float64], high: NDArray[np.float64], routes: list[NDArray[np.float64]]) -> Any:
    import matplotlib.pyplot as plt

    corners = np.concatenate([low, high, *routes, np.zeros((0, 2))]) if len(low) else np.zeros((1, 2))
    bottom, top = corners.min(axis=0) - 12, corners.max(axis=0) + 12
    if ax is None:
        inches = (top - bottom) / 72
        inches = np.maximum(inches * min(1.0, 16 / inches[0], 12 / inches[1]), 1.0)
        figure = plt.figure(figsize=tuple(inches))
        ax = figure.add_axes((0, 0, 1, 1))
    ax.set_xlim(bottom[0], top[0])
    ax.set_ylim(bottom[1], top[1])
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def _scale(ax: Any) -> float:
    # How large a point of the axes is on paper, so that lines shrink with the boxes.
    box = ax.get_window_extent()
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    fit = min(box.width / (right - left), box.height / (top - bottom)) * 72 / ax.figure.dpi
    return float(np.clip(fit, 0.35, 1.0))


def _draw_arrows(ax: Any, routes: list[NDArray[np.float64]], *, right: bool, scale: float) -> None:
    from matplotlib.collections import PathCollection
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    paths = []
    for route in routes:
        points, codes = [route[0]], [Path.MOVETO]
        for a, b in pairwise(route):
            # Leave and arrive along the direction in which the generations follow one another.
            middle = (a + b) / 2
            points += [[middle[0], a[1]], [middle[0], b[1]], b] if right else [[a[0], middle[1]], [b[0], middle[1]], b]
            codes += [Path.CURVE4] * 3
        paths.append(Path(np.array(points), codes))
    if len(paths) > _MOST_ARROWS:
        ax.add_collection(
            PathCollection(paths, facecolors="none", edgecolors=_ARROW, linewidths=0.5, alpha=0.5, zorder=1)
        )
        return
    for path in paths:
        ax.add_patch(
            FancyArrowPatch(
                path=path,
                arrowstyle="-|>",
                mutation_scale=9 * scale,
                color=_ARROW,
                lw=1.2 * scale,
                zorder=2,
                joinstyle="miter",
                capstyle="butt",
            )
        )
