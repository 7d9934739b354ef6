"""Where to draw the nodes and edges of a layered graph: Sugiyama's method."""

from __future__ import annotations

from bisect import bisect_right, insort
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

__all__ = ["lay_out"]

_MOST_BENDS = 4000
_SWEEPS = 12
_WEIGHT_ALONE, _WEIGHT_NODE, _WEIGHT_BEND = 0.1, 1.0, 4.0  # bends weigh most, so that long edges run straight


def lay_out(
    levels: NDArray[np.int64], edges: list[tuple[int, int]], sizes: NDArray[np.float64], bend: float
) -> tuple[NDArray[np.float64], list[list[tuple[int, float]]]]:
    """Place nodes across their layer, and give every edge its course through the layers between its ends.

    An edge that spans several layers gets a bend in each layer between, so that it runs around the nodes there. Layers
    are ordered by barycentre sweeps, keeping the order with the fewest crossings; then every layer in turn moves as
    close to its neighbours as the room between its members allows, which is an isotonic regression.

    Args:
        levels: Layer of every node.
        edges: Pairs (parent, child) of node numbers.
        sizes: Room that every node takes across its layer.
        bend: Room that a bend takes.

    Returns:
        The place of every node across its layer, and for every edge its bends (layer, place).

    References:
        Sugiyama, K., Tagawa, S., Toda, M. (1981). Methods for visual understanding of hierarchical system structures.
        IEEE Transactions on Systems, Man, and Cybernetics 11(2).

    Examples:
        >>> import numpy as np
        >>> from weft.graph._layout import lay_out
        >>> places, bends = lay_out(np.array([0, 1, 1]), [(0, 1), (0, 2)], np.ones(3), 0.5)
        >>> bool(places[1] < places[0] < places[2]), bends
        (True, [[], []])
    """
    layer_of = levels.tolist()
    room = sizes.tolist()
    layers: list[list[int]] = [[] for _ in range(int(levels.max(initial=-1)) + 1)]
    for node, level in enumerate(layer_of):
        layers[level].append(node)
    count = len(layer_of)
    bent = sum(layer_of[b] - layer_of[a] - 1 for a, b in edges) <= _MOST_BENDS
    paths = [[a, *_bends(a, b, layers, layer_of, room, bend), b] if bent else [a, b] for a, b in edges]
    before: list[list[int]] = [[] for _ in layer_of]
    after: list[list[int]] = [[] for _ in layer_of]
    for path in paths:
        for a, b in pairwise(path):
            after[a].append(b)
            before[b].append(a)
    layers = _order(layers, before, after)
    places = _place(layers, before, after, room, count)
    return places[:count], [[(layer_of[each], float(places[each])) for each in path[1:-1]] for path in paths]


def _bends(a: int, b: int, layers: list[list[int]], layer_of: list[int], room: list[float], bend: float) -> list[int]:
    made = []
    for level in range(layer_of[a] + 1, layer_of[b]):
        made.append(len(layer_of))
        layers[level].append(len(layer_of))
        layer_of.append(level)
        room.append(bend)
    return made


def _order(layers: list[list[int]], before: list[list[int]], after: list[list[int]]) -> list[list[int]]:
    best, fewest = layers, _crossings(layers, after)
    current = [list(layer) for layer in layers]
    for sweep in range(_SWEEPS):
        if fewest == 0:
            break
        near = before if sweep % 2 == 0 else after
        for level in range(len(current)) if sweep % 2 == 0 else range(len(current) - 1, -1, -1):
            rank = {node: place for layer in current for place, node in enumerate(layer)}
            current[level] = sorted(
                current[level],
                key=lambda node: sum(rank[n] for n in near[node]) / len(near[node]) if near[node] else rank[node],
            )
        crossings = _crossings(current, after)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in current], crossings
    return best


def _crossings(layers: list[list[int]], after: list[list[int]]) -> int:
    rank = {node: place for layer in layers for place, node in enumerate(layer)}
    total = 0
    for layer in layers:
        seen: list[int] = []
        for node in layer:
            ends = sorted(rank[other] for other in after[node])
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _place(
    layers: list[list[int]], before: list[list[int]], after: list[list[int]], room: list[float], count: int
) -> NDArray[np.float64]:
    places = np.zeros(len(room))
    offsets = []
    for layer in layers:
        widths = np.array([room[node] for node in layer])
        offset = np.cumsum(widths) - widths / 2
        offsets.append(offset - offset.mean())
        places[layer] = offsets[-1]
    for sweep in range(2 * _SWEEPS):
        order = range(len(layers)) if sweep % 2 == 0 else range(len(layers) - 1, -1, -1)
        for level in order:
            layer = layers[level]
            wish, weight = places[layer], np.full(len(layer), _WEIGHT_ALONE)
            for k, node in enumerate(layer):
                near = before[node] + after[node]
                if near:
                    wish[k] = np.mean(places[near])
                    weight[k] = _WEIGHT_NODE if node < count else _WEIGHT_BEND
            fitted = isotonic_regression(wish - offsets[level], weights=weight).x
            places[layer] = fitted + offsets[level]
    return places
