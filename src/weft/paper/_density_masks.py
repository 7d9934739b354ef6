"""The paper's table of mask factorization methods: which masks make the better density, at d = 20.

The masks of MADE are the fixed ones, which lose no dependence; the paper's draws may. The trials draw weights and rows
anew over one fixed graph, so the numbers themselves are of other data than the paper's, and the differences compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..graph import Graph
from ..masks import Exact, Factorizer, Greedy, Zuko
from ..models import StrNNDensity
from ._density import BASELINE, EPOCHS
from ._density_pictures import tidy
from ._density_search import GRID, QUICK_GRID, Grid, Make
from ._density_tables import nats, pair_between, pair_up, recipes_table
from ._density_tasks import (
    ACTIVATION,
    Task,
    compare_on,
    makers,
    network_trial,
    paper_graph,
    searched_size,
)
from ._experiment import Experiment
from ._record import Row, distinct, mean, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MASKS", "learn_with_masks"]

METHODS: dict[str, Factorizer] = {
    "Greedy": Greedy(),
    "IP": Exact("paths"),
    "IP-var": Exact("paths-variance"),
    "Zuko": Zuko(),
    "Balanced": Exact("balanced"),
}
"""The paper's names of its methods, and `exact` with the objective that it does not have."""

OURS = "Balanced"

PUBLISHED = {
    (
        "random_sparse",
        5000,
    ): "MADE 7.790 0.140, Greedy 7.758 0.137, IP 7.758 0.138, IP-var 7.757 0.137, Zuko 7.758 0.137",
    (
        "random_sparse",
        2000,
    ): "MADE 7.788 0.142, Greedy 7.778 0.142, IP 7.769 0.140, IP-var 7.768 0.140, Zuko 7.776 0.141",
    ("prev_3", 5000): "MADE 8.767 0.132, Greedy 8.757 0.131, IP 8.755 0.132, IP-var 8.758 0.132, Zuko 8.757 0.130",
    ("prev_3", 2000): "MADE 8.816 0.134, Greedy 8.768 0.130, IP 8.769 0.129, IP-var 8.770 0.131, Zuko 8.768 0.129",
    ("every_other", 5000): "MADE 8.373 0.120, Greedy 8.334 0.125, IP 8.333 0.129, IP-var 8.331 0.126, Zuko 8.334 0.126",
    ("every_other", 2000): "MADE 8.364 0.124, Greedy 8.315 0.123, IP 8.314 0.123, IP-var 8.314 0.124, Zuko 8.315 0.123",
}
"""Test NLL and its standard error across 500 test rows."""

SEARCHED = 2000
"""The number of rows at which recipes are searched."""


def learn_with_masks(
    seeds: int = 20,
    sizes: Sequence[int] = (2000, 5000),
    d: int = 20,
    structures: Sequence[str] = ("random_sparse", "prev_3", "every_other"),
    grid: Grid = GRID,
    epochs: int = EPOCHS,
    track: Callable[[Sequence[Any]], Iterable[Any]] = iter,
    device: str = "cpu",
) -> list[Row]:
    """Compare MADE with StrNN on the masks of each method, on binary data of the paper's networks.

    Recipes are searched for MADE and for greedy masks, at n = 2000 or the largest size below; the other methods take
    that of greedy.

    Args:
        seeds: Trials of each structure and number of rows.
        sizes: Rows for training and validation together.
        d: Variables.
        structures: Some of ``"random_sparse"``, ``"prev_3"`` and ``"every_other"``.
        grid: What is searched.
        epochs: Most epochs.
        track: Wrapped around the steps, to show progress.
        device: Where to compute: ``"cpu"`` or ``"cuda"``. Exact masks are always found on the CPU.

    Returns:
        Rows of the search with its validation NLL, rows of the test, one per method and trial, and rows of the part
        ``"silent"``: how many edges each trained network has lost to hidden units that are zero on every test row.

    Examples:
        >>> from weft.paper import Grid, learn_with_masks
        >>> few = Grid(units=(4,), penalties=((0.05, 0.01),), rates=(0.01,), seeds=1, epochs=5)
        >>> rows = learn_with_masks(seeds=2, sizes=(100,), d=8, structures=("prev_3",), grid=few)
        >>> [row["model"] for row in rows if row["part"] == "test" and row["seed"] == 0]
        ['MADE', 'Greedy', 'IP', 'IP-var', 'Zuko', 'Balanced']

    References:
        Structured Neural Networks for Density Estimation and Causal Inference (Chen et al., 2023), appendix A, "Mask
        Algorithms and Generalization".
    """
    tasks = []
    for name in structures:
        graph = paper_graph(name, d)
        models = {BASELINE: makers(graph, "binary", device)[BASELINE]}
        models |= {method: _maker(graph, factorizer, device) for method, factorizer in METHODS.items()}
        draw = partial(network_trial, graph, "binary")
        searched = searched_size(sizes, SEARCHED)
        like = {method: "Greedy" for method in METHODS if method != "Greedy"}
        tasks.append(Task(name, d, models, draw, sizes, searched, like=like, grid=grid))
    return compare_on(tasks, seeds, track, _silent_edges, epochs=epochs)


@torch.no_grad()
def _silent_edges(task: Task, n: int, trained: Mapping[str, Sequence[StrNNDensity]]) -> list[Row]:
    """Count, for each trained model, the edges whose hidden units are all zero on every test row: they are lost."""
    rows = []
    for name, members in trained.items():
        for seed, member in enumerate(members):
            first, last = (mask.astype(np.int64) for mask in member.net.factorization.masks_sparse)
            layer = member.net.to_execution("dense").layers[0]
            active = layer(task.draw(seed, n).test.to(layer.weight.device).t()).amax(dim=1) > 0
            places = np.flatnonzero(active.cpu().numpy())
            edges, carried = member.graph.edges_count, (last[:, places] @ first[places]).count_nonzero()
            setting = {"part": "silent", "data": task.name, "n": n, "model": name, "seed": seed}
            rows.append({**setting, "edges": edges, "silent": edges - int(carried)})
    return rows


def _maker(graph: Graph, factorizer: Factorizer, device: str) -> Make:
    def make(hidden: int) -> StrNNDensity:
        return StrNNDensity(graph, "binary", (hidden,), ACTIVATION, factorizer, device=device)

    return make


def _published(data: str, n: int) -> dict[str, tuple[float, float]]:
    each = [words.split() for words in PUBLISHED.get((data, n), "").split(", ") if words]
    return {method: (float(value), float(error)) for method, value, error in each}


def _tables(rows: list[Row]) -> dict[str, list[Row]]:
    test = where(rows, part="test")
    table = []
    for data in distinct(test, "data"):
        for n in distinct(where(test, data=data), "n"):
            table += [_line(where(test, data=data, n=n), method) for method in (BASELINE, *METHODS)]
    return {
        "Published, and computed here on other data: test NLL in nats and paired differences (± standard "
        "error over the trials; of the published across the test rows)": table,
        "What the paper found, and what is found here": [_all_beat_made(test), _no_winner(test), _balanced(test)],
        "Why: edges that a trained network has lost, all hidden units between their ends being zero on every test row; "
        "means over the trials": _silent(where(rows, part="silent")),
        "Hyperparameters": recipes_table(rows),
    }


def _line(rows: list[Row], method: str) -> Row:
    data, n = rows[0]["data"], rows[0]["n"]
    known = _published(data, n)
    ours, greedy = where(rows, model=method), where(rows, model="Greedy")
    stated = f"{known[method][0]:.3f} ± {known[method][1]:.3f}" if method in known else "not stated"
    gap = f"{known[method][0] - known[BASELINE][0]:+.3f}" if method in known else "not stated"
    base = method == BASELINE
    return {
        "data": data,
        "n": n,
        "method": method,
        "published": stated,
        f"published − {BASELINE}": "" if base else gap,
        "computed": nats(ours),
        "truth": f"{mean(ours, 'truth'):.3f}",
        f"computed − {BASELINE}": "" if base else str(pair_up(ours)),
        "computed − Greedy": "" if base or method == "Greedy" else str(pair_between(ours, greedy)),
        "pairs": len(ours),
        "verdict": "" if base else pair_up(ours).verdict(method, BASELINE),
    }


def _settings(rows: list[Row]) -> list[list[Row]]:
    return [where(rows, data=data, n=n) for data, n in dict.fromkeys((row["data"], row["n"]) for row in rows)]


def _all_beat_made(rows: list[Row]) -> Row:
    published = [method for method in METHODS if method != OURS]
    pairs = [pair_up(where(each, model=method)) for each in _settings(rows) for method in published]
    lower = sum(pair.mean < 0 for pair in pairs)
    clear = sum(pair.mean < 0 and pair.significant for pair in pairs)
    is_so = clear == len(pairs)
    return {
        "published": f"Greedy, IP, IP-var and Zuko perform better than {BASELINE}.",
        "computed": f"Lower in {lower} of {len(pairs)} comparisons, significantly in {clear}.",
        "verdict": "confirmed" if is_so else "not confirmed everywhere",
    }


def _no_winner(rows: list[Row]) -> Row:
    others = [method for method in METHODS if method not in (OURS, "Greedy")]
    pairs = [_to_greedy(each, method) for each in _settings(rows) for method in others]
    clear = sum(pair.significant for pair in pairs)
    largest = max(abs(pair.mean) for pair in pairs)
    return {
        "published": "They perform similarly to each other.",
        "computed": f"Of {len(pairs)} comparisons of IP, IP-var and Zuko with Greedy {clear} differ significantly, by "
        f"{largest:.4f} nats at most.",
        "verdict": "confirmed" if clear <= 0.1 * len(pairs) else "not confirmed",
    }


def _balanced(rows: list[Row]) -> Row:
    pairs = [_to_greedy(each, OURS) for each in _settings(rows)]
    better, worse = (sum(pair.significant and sign * pair.mean > 0 for pair in pairs) for sign in (-1, 1))
    listed = ", ".join(map(str, pairs))
    word = "better" if better > worse else "worse" if worse > better else "neither better nor worse"
    return {
        "published": "Not in the paper: exact masks with the objective balanced, against Greedy.",
        "computed": f"Significantly better in {better}, worse in {worse} of {len(pairs)} settings: {listed}.",
        "verdict": word,
    }


def _silent(rows: list[Row]) -> list[Row]:
    return [
        {"data": some[0]["data"], "n": some[0]["n"], "edges": where(some, model="Greedy")[0]["edges"]}
        | {method: f"{mean(where(some, model=method), 'silent'):.1f}" for method in METHODS}
        for some in _settings(rows)
    ]


def _to_greedy(rows: list[Row], method: str) -> Any:
    return pair_between(where(rows, model=method), where(rows, model="Greedy"))


def _draw(rows: list[Row]) -> Figure:
    """Draw the paired difference of each method to the baseline, as published and as computed."""
    from matplotlib.figure import Figure

    settings = _settings(where(rows, part="test"))
    drawn = Figure(figsize=(4.2 * min(3, len(settings)), 3.4 * -(-len(settings) // 3)), layout="constrained")
    areas = drawn.subplots(-(-len(settings) // 3), min(3, len(settings)), squeeze=False).ravel()
    for axes, each in zip(areas, sorted(settings, key=lambda some: some[0]["n"]), strict=False):
        known = _published(each[0]["data"], each[0]["n"])
        pairs = [pair_up(where(each, model=method)) for method in METHODS]
        places = range(len(METHODS))
        errors = [2 * pair.error for pair in pairs]
        axes.errorbar(places, [pair.mean for pair in pairs], errors, fmt="o", capsize=3, color="#4b6a8f", label="here")
        stated = [known[method][0] - known[BASELINE][0] if method in known else None for method in METHODS]
        marks = [(place, value) for place, value in zip(places, stated, strict=True) if value is not None]
        if marks:
            axes.plot(*zip(*marks, strict=True), "x", color="#e59a5c", label="published")
        axes.axhline(0, color="#5b6b7c", linewidth=0.8, linestyle=":")
        axes.set(title=f"{each[0]['data']}, n = {each[0]['n']:,}", ylabel=f"nats − {BASELINE}, ± 2 standard errors")
        axes.set_xticks(places, METHODS)
        tidy(axes)
        axes.legend(frameon=False, fontsize=8)
    return drawn


MASKS = Experiment(
    title="Mask factorization methods: the densities that their masks learn",
    output="density_masks",
    run=learn_with_masks,
    quick={"seeds": 3, "sizes": (400,), "d": 12, "grid": QUICK_GRID, "epochs": 60},
    tables=_tables,
    draw=_draw,
)
"""The paper's table of mask factorization methods."""
