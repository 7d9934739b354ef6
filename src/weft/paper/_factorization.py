"""The paper's figure of greedy against exact masks, and what lies beyond it: larger graphs, more objectives, times.

The paper draws ten strictly lower triangular matrices for every sparsity and averages the number of paths. It states
neither the hidden width nor any number. Here a layer has one unit per variable, the fewest that always carry every
edge, and two; for the large graphs, two.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph import Graph, random_dag, random_sparse
from ..masks import Factorization, factorize
from ._experiment import Experiment
from ._record import Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FACTORIZATION", "compare_factorizations", "compare_masks"]

OBJECTIVES = ("paths", "paths-variance", "balanced")
SPARSITIES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
PUBLISHED_LIMIT = 20  # variables, up to which the paper found exact solutions


def compare_factorizations(
    seeds: int = 10,
    sizes: Sequence[int] = (10, 15),
    sparsities: Sequence[float] = SPARSITIES,
    large: Sequence[int] = (20, 50, 100, 200, 500),
    track: Callable[[Sequence[Any]], Iterable[Any]] = iter,
) -> list[Row]:
    """Compare greedy with exact masks as the paper's figure does, and on larger sparse graphs.

    Args:
        seeds: Graphs drawn for each setting.
        sizes: Numbers of variables of the paper's figure, each with d and 2d hidden units, objective ``"paths"``.
        sparsities: Shares of possible edges that the graphs of the figure lack.
        large: Numbers of variables of the sparse random DAGs with three parents drawn per node, each with 2d hidden
            units and every objective.
        track: Wrapped around the settings, to show progress.

    Returns:
        What `compare_masks` returns for each graph, with the setting.

    Examples:
        >>> from weft.paper import compare_factorizations
        >>> rows = compare_factorizations(seeds=2, sizes=(10,), sparsities=(0.5,), large=(20,))
        >>> len(rows), all(row["proven"] for row in rows)
        (10, True)

    References:
        Structured Neural Networks for Density Estimation and Causal Inference (Chen et al., 2023), appendix A,
        "Mask Factorization: Integer Programming and Greedy Algorithm".
    """
    figure = [
        {"part": "figure", "d": d, "h": units * d, "sparsity": sparsity, "seed": seed, "objective": "paths"}
        for d, units, sparsity, seed in product(sizes, (1, 2), sparsities, range(seeds))
    ]
    beyond = [
        {"part": "beyond", "d": d, "h": 2 * d, "seed": seed, "objective": objective}
        for d, seed, objective in product(large, range(seeds), OBJECTIVES)
    ]
    rows = []
    for case in track([*figure, *beyond]):
        d, seed = case["d"], case["seed"]
        graph = random_sparse(d, case["sparsity"], seed) if case["part"] == "figure" else random_dag(d, 3.0, seed=seed)
        rows.append({**case, **compare_masks(graph, case["h"], case["objective"])})
    return rows


def compare_masks(graph: Graph, width: int, objective: str = "paths", time_limit: float = 60.0) -> Row:
    """Return the objective and the seconds of greedy and of exact masks of one hidden layer.

    Args:
        graph: What to factorize.
        width: Number of hidden units.
        objective: What the exact masks maximise: ``"paths"``, ``"paths-variance"`` or ``"balanced"``.
        time_limit: Seconds for the exact masks.

    Returns:
        Edges of the graph, the objective of ``greedy`` and ``exact`` masks, the ``bound`` that no masks exceed, whether
        the exact masks are ``proven`` optimal, the ``gap``, which is the share of the exact objective that greedy
        misses, and the seconds of both.

    Examples:
        >>> import weft
        >>> from weft.paper import compare_masks
        >>> row = compare_masks(weft.graph.star(10), width=20)
        >>> row["greedy"], row["exact"], row["gap"], row["proven"]
        (180.0, 180.0, 0.0, True)
    """
    greedy_seconds, greedy = _timed(lambda: factorize(graph, (width,)))
    exact_seconds, exact = _timed(lambda: factorize(graph, (width,), "exact", objective, time_limit=time_limit))
    reached, best = _objective(greedy, objective), exact.objective[0]
    return {
        "edges": graph.edges_count,
        "greedy": reached,
        "exact": best,
        "bound": exact.bound[0],
        "proven": exact.optimal[0],
        "gap": (best - reached) / abs(best) if best else 0.0,
        "greedy_seconds": greedy_seconds,
        "exact_seconds": exact_seconds,
    }


def _objective(f: Factorization, objective: str) -> float:
    """Return the objective of masks with one hidden layer, from its definition."""
    paths = f.paths_sparse.data.astype(float)
    if objective == "balanced":
        return float(np.log(paths).sum())
    total = float(paths.sum())
    if objective == "paths":
        return total
    entries = f.structure.shape[0] * f.structure.shape[1]  # the variance counts the zeros too
    return total - (float((paths**2).sum()) / entries - (total / entries) ** 2)


def _timed(function: Callable[[], Factorization]) -> tuple[float, Factorization]:
    start = time.perf_counter()
    found = function()
    return time.perf_counter() - start, found


def _tables(rows: list[Row]) -> dict[str, list[Row]]:
    figure, beyond = (_where(rows, part=part) for part in ("figure", "beyond"))
    return {
        "What the paper found, and what is found here": [
            _exact_is_higher(figure),
            _sparse_is_different(figure),
            _difference_grows(figure),
            *([_exact_is_feasible(beyond)] if beyond else []),
        ],
        "The figure: paths of greedy masks / of exact masks, means over the graphs": [
            {"sparsity": f"{sparsity:g}"} | {f"d = {d}, h = {h}": _pair(each) for (d, h), each in settings.items()}
            for sparsity in _distinct(figure, "sparsity")
            for settings in [_by_size(_where(figure, sparsity=sparsity))]
        ],
        "Beyond it: sparse random DAGs with three parents drawn per node": [
            _summary(d, h, objective, _where(beyond, d=d, h=h, objective=objective))
            for (d, h), each in _by_size(beyond).items()
            for objective in _distinct(each, "objective")
        ],
    }


def _exact_is_higher(rows: list[Row]) -> Row:
    more, less = (sum(sign * (row["exact"] - row["greedy"]) > 1e-9 for row in rows) for sign in (1, -1))
    is_so = not less and all(
        _mean(each, "exact") > _mean(each, "greedy")
        for sparsity in _distinct(rows, "sparsity")
        for each in _by_size(_where(rows, sparsity=sparsity)).values()
    )
    return {
        "published": "The exact programme reaches higher objectives than greedy.",
        "computed": f"Higher for {more} of {len(rows)} graphs, lower for {less}; greedy misses {_missed(rows)}.",
        "verdict": "confirmed" if is_so else "not confirmed",
    }


def _sparse_is_different(rows: list[Row]) -> Row:
    dense, sparse = (pick(_distinct(rows, "sparsity")) for pick in (min, max))
    first, last = _where(rows, sparsity=dense), _where(rows, sparsity=sparse)
    return {
        "published": "It is better where the matrix is very sparse.",
        "computed": f"Greedy misses {_missed(last)} at sparsity {sparse:g} and {_missed(first)} at {dense:g}.",
        "verdict": "confirmed" if _gap(last) > _gap(first) else "not confirmed: sparse graphs are no exception",
    }


def _difference_grows(rows: list[Row]) -> Row:
    sizes = _by_size(rows)
    difference = {size: _mean(each, "exact") - _mean(each, "greedy") for size, each in sizes.items()}
    # Wherever a size has at least as many variables and hidden units as another.
    pairs = [(a, b) for a in sizes for b in sizes if a != b and a[0] <= b[0] and a[1] <= b[1]]
    listed = ", ".join(f"{each:.1f} at d = {d}, h = {h}" for (d, h), each in difference.items())
    return {
        "published": "The more neurons, the larger the difference.",
        "computed": f"Mean difference in paths: {listed}.",
        "verdict": "confirmed" if all(difference[a] < difference[b] for a, b in pairs) else "not confirmed",
    }


def _exact_is_feasible(rows: list[Row]) -> Row:
    proven = sum(row["proven"] for row in rows)
    beyond = [row for row in rows if row["d"] > PUBLISHED_LIMIT and row["proven"]]
    largest, slowest = max(rows, key=lambda row: row["d"]), max(row["exact_seconds"] for row in rows)
    return {
        "published": f"Exact masks can be had up to d = {PUBLISHED_LIMIT}; beyond, they are too expensive.",
        "computed": f"Proven optimal for {proven} of {len(rows)} up to d = {largest['d']}, h = {largest['h']}, "
        f"in at most {slowest:.2g} s.",
        "verdict": "overcome" if beyond else "confirmed",
    }


def _summary(d: int, h: int, objective: str, rows: list[Row]) -> Row:
    return {
        "d": d,
        "h": h,
        "objective": objective,
        "edges": round(_mean(rows, "edges")),
        "greedy": _mean(rows, "greedy"),
        "exact": _mean(rows, "exact"),
        "greedy misses": _missed(rows),
        "proven": f"{sum(row['proven'] for row in rows)} of {len(rows)}",
        "greedy, s": _mean(rows, "greedy_seconds"),
        "exact, s": _mean(rows, "exact_seconds"),
        "exact, longest s": max(row["exact_seconds"] for row in rows),
    }


def _where(rows: list[Row], **values: Any) -> list[Row]:
    return [row for row in rows if all(row.get(key) == value for key, value in values.items())]


def _distinct(rows: list[Row], key: str) -> list[Any]:
    return list(dict.fromkeys(row[key] for row in rows))


def _by_size(rows: list[Row]) -> dict[tuple[int, int], list[Row]]:
    sizes = dict.fromkeys((row["d"], row["h"]) for row in rows)
    return {(d, h): _where(rows, d=d, h=h) for d, h in sizes}


def _mean(rows: list[Row], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))


def _gap(rows: list[Row]) -> float:
    return _mean(rows, "gap")


def _missed(rows: list[Row]) -> str:
    return f"{_gap(rows):.0%}"


def _pair(rows: list[Row]) -> str:
    return f"{_mean(rows, 'greedy'):.1f} / {_mean(rows, 'exact'):.1f}"


_TONES = {
    "greedy": "#e59a5c",
    "exact": "#4b6a8f",
    "paths": "#4b6a8f",
    "paths-variance": "#8c6bb1",
    "balanced": "#4d9a7a",
}


def _draw(rows: list[Row]) -> Figure:
    """Draw the paper's figure above, and what lies beyond it below."""
    from matplotlib.figure import Figure

    figure, beyond = (_where(rows, part=part) for part in ("figure", "beyond"))
    sizes = _distinct(figure, "d")
    drawn = Figure(figsize=(10.5, 7.6 if beyond else 4.0), layout="constrained", facecolor="white")
    areas = drawn.subfigures(2 if beyond else 1, 1, squeeze=False).ravel()
    for axes, d in zip(areas[0].subplots(1, len(sizes), squeeze=False).ravel(), sizes, strict=True):
        _draw_figure(axes, d, _where(figure, d=d))
    if beyond:
        missed, times = areas[1].subplots(1, 2)
        _draw_beyond(missed, times, beyond)
    for axes in drawn.axes:
        axes.grid(color="#e6eaf0", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8)
    return drawn


def _draw_figure(axes: Any, d: int, rows: list[Row]) -> None:
    for (_, h), style in zip(_by_size(rows), ("-", "--"), strict=True):
        for method in ("exact", "greedy"):
            by_sparsity = {at: _where(rows, h=h, sparsity=at) for at in _distinct(rows, "sparsity")}
            means = [_mean(each, method) for each in by_sparsity.values()]
            label = f"{method}, {h} hidden units"
            axes.plot(list(by_sparsity), means, style, marker="o", markersize=3.5, color=_TONES[method], label=label)
    axes.set(title=f"d = {d}", xlabel="sparsity", ylabel="paths, mean over the graphs")


def _draw_beyond(missed: Any, times: Any, rows: list[Row]) -> None:
    sizes = _distinct(rows, "d")
    for objective in _distinct(rows, "objective"):
        by_size = [_where(rows, d=d, objective=objective) for d in sizes]
        style: dict[str, Any] = {"marker": "o", "markersize": 3.5, "color": _TONES[objective]}
        missed.plot(sizes, [100 * _gap(each) for each in by_size], label=objective, **style)
        times.plot(sizes, [_mean(each, "exact_seconds") for each in by_size], label=f"exact, {objective}", **style)
    greedy = [_mean(_where(rows, d=d), "greedy_seconds") for d in sizes]
    times.axvline(PUBLISHED_LIMIT, color="#5b6b7c", linestyle=":", label=f"the paper's limit, d = {PUBLISHED_LIMIT}")
    times.plot(sizes, greedy, marker="o", markersize=3.5, color=_TONES["greedy"], label="greedy")
    missed.set(
        title="What greedy misses", xlabel="d, with 2d hidden units", ylabel="percent of the optimum", ylim=(0, None)
    )
    times.set(title="Time", xlabel="d, with 2d hidden units", ylabel="seconds", xscale="log", yscale="log")
    times.set_xticks(sizes, [str(d) for d in sizes])
    times.set_xticks([], minor=True)


FACTORIZATION = Experiment(
    title="Greedy against exact masks: number of paths, optimality gap and time",
    output="factorization_figure",
    run=compare_factorizations,
    quick={"seeds": 2, "sparsities": (0.1, 0.5, 0.9), "large": (20, 50)},
    tables=_tables,
    draw=_draw,
)
"""The paper's figure of factorizations."""
