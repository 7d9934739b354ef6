"""The paper's densities of drawn binary and Gaussian data: StrNN and MADE against the number of rows.

The paper shows curves without numbers, and states neither the numbers of rows nor the sparsity of the random graphs.
Here a trial draws weights and rows anew over one fixed graph, as the paper describes, and n counts the rows for
training and for validation together, a fifth for the latter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..graph import Graph
from ._density import Recipe
from ._density_pictures import draw_adjacency, draw_curves, draw_difference
from ._density_search import GRID, LARGE_GRID, QUICK_GRID, Grid
from ._density_tables import advantage, comparison, recipes_table
from ._density_tasks import Task, compare_on, makers, network_trial, paper_graph, searched_size
from ._experiment import Experiment
from ._record import Row, distinct, where

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["BINARY", "GAUSSIAN", "learn_binary", "learn_gaussian"]

SIZES = (200, 500, 1000, 2000, 5000)

SEARCHED = 1000
"""The number of rows at which recipes are searched."""

PREVIOUS_2 = {
    "StrNN": Recipe(hidden=80, lr=1e-3, weight_decay=5e-3, eps=1e-3),
    "MADE": Recipe(hidden=140, lr=1e-3, weight_decay=0.01, eps=0.1),
}
"""What the authors selected for Gaussian prev_2 at d = 20 and n = 5000."""

LOWER = "StrNN lower; values not stated"


def learn_binary(
    seeds: int = 8,
    sizes: Sequence[int] = SIZES,
    dimensions: tuple[int, int] = (800, 50),
    grid: Grid | None = None,
    track: Callable[[Sequence[Any]], Iterable[Any]] = iter,
    device: str = "cpu",
) -> list[Row]:
    """Compare StrNN and MADE on binary data of the paper's networks: every_other with d = 800, random_sparse with 50.

    Args:
        seeds: Trials of each number of rows; each draws weights, rows and the weights that a model begins with.
        sizes: Rows for training and validation together.
        dimensions: Variables of every_other and of random_sparse.
        grid: What is searched for each model, at n = 1000 or the largest size below; by default `GRID`, with fewer
            units for every_other.
        track: Wrapped around the steps, to show progress.
        device: Where to compute: ``"cpu"`` or ``"cuda"``.

    Returns:
        Rows of the search with its validation NLL, and rows of the test, one per model and trial.

    Examples:
        >>> from weft.paper import Grid, learn_binary
        >>> few = Grid(units=(4,), penalties=((0.05, 0.01),), rates=(0.01,), seeds=1, epochs=5)
        >>> rows = learn_binary(seeds=2, sizes=(100,), dimensions=(10, 10), grid=few)
        >>> [(row["data"], row["model"]) for row in rows if row["part"] == "test" and row["seed"] == 0]
        [('every_other, d = 10', 'StrNN'), ('every_other, d = 10', 'MADE'), ('random_sparse, d = 10', 'StrNN'),
         ('random_sparse, d = 10', 'MADE')]

    References:
        Structured Neural Networks for Density Estimation and Causal Inference (Chen et al., 2023), section 4.1 and
        appendices C and E.
    """
    graphs = {name: paper_graph(name, d) for name, d in zip(("every_other", "random_sparse"), dimensions, strict=True)}
    grids = {"every_other": grid or LARGE_GRID, "random_sparse": grid or GRID}
    tasks = [
        _task(f"{name}, d = {len(graph)}", graph, "binary", sizes, {}, grids[name], device)
        for name, graph in graphs.items()
    ]
    return compare_on(tasks, seeds, track)


def learn_gaussian(
    seeds: int = 8,
    sizes: Sequence[int] = SIZES,
    d: int = 20,
    grid: Grid = GRID,
    track: Callable[[Sequence[Any]], Iterable[Any]] = iter,
    device: str = "cpu",
) -> list[Row]:
    """Compare StrNN and MADE on Gaussian data of the paper's networks: prev_2 and random_sparse with d = 20.

    At d = 20 prev_2 is learned with the recipes that the authors selected; random_sparse has none and is searched.

    Args:
        seeds: Trials of each number of rows; each draws weights, rows and the weights that a model begins with.
        sizes: Rows for training and validation together.
        d: Variables.
        grid: What is searched for each model, at n = 1000 or the largest size below.
        track: Wrapped around the steps, to show progress.
        device: Where to compute: ``"cpu"`` or ``"cuda"``.

    Returns:
        Rows of the search with its validation NLL, and rows of the test, one per model and trial.

    Examples:
        >>> from weft.paper import Grid, learn_gaussian
        >>> few = Grid(units=(4,), penalties=((0.05, 0.01),), rates=(0.01,), seeds=1, epochs=5)
        >>> rows = learn_gaussian(seeds=2, sizes=(100,), d=5, grid=few)
        >>> sorted({row["data"] for row in rows})
        ['prev_2, d = 5', 'random_sparse, d = 5']

    References:
        Structured Neural Networks for Density Estimation and Causal Inference (Chen et al., 2023), section 4.2 and
        appendices C and E.
    """
    tasks = [
        _task(f"{name}, d = {d}", paper_graph(name, d), "gaussian", sizes, recipes if d == 20 else {}, grid, device)
        for name, recipes in (("prev_2", PREVIOUS_2), ("random_sparse", {}))
    ]
    return compare_on(tasks, seeds, track)


def _task(
    name: str,
    graph: Graph,
    kind: str,
    sizes: Sequence[int],
    recipes: Mapping[str, Recipe],
    grid: Grid,
    device: str,
) -> Task:
    searched = searched_size(sizes, SEARCHED)
    draw = partial(network_trial, graph, kind)
    return Task(name, len(graph), makers(graph, kind, device), draw, sizes, searched, recipes, grid=grid)


def _tables(rows: list[Row]) -> dict[str, list[Row]]:
    test = where(rows, part="test")
    return {
        "Published, and computed here: test NLL in nats and the paired difference (± standard error "
        "over the trials)": comparison(test, LOWER),
        "Whether the advantage is larger where rows are fewer": advantage(
            test, "StrNN is better than MADE especially in the low data regime."
        ),
        "Hyperparameters": recipes_table(rows),
    }


def _draw(rows: list[Row]) -> Figure:
    """Draw the paper's curves, the paired difference, and the adjacency of each data set."""
    from matplotlib.figure import Figure

    test = where(rows, part="test")
    names = distinct(test, "data")
    drawn = Figure(figsize=(12, 3.6 * len(names)), layout="constrained", facecolor="white")
    for line, data in zip(drawn.subplots(len(names), 3, squeeze=False), names, strict=True):
        each = where(test, data=data)
        draw_curves(line[0], each, data)
        draw_difference(line[1], each)
        name, d = data.split(", d = ")
        shown = min(int(d), 50)  # as in the paper
        draw_adjacency(line[2], paper_graph(name, int(d)), f"{name}, the first {shown} variables", shown)
    return drawn


BINARY = Experiment(
    title="Binary densities: StrNN and MADE against the number of rows",
    output="density_binary",
    run=learn_binary,
    quick={"seeds": 3, "sizes": (100, 400), "dimensions": (40, 20), "grid": QUICK_GRID},
    tables=_tables,
    draw=_draw,
)
"""The paper's figure of binary densities, its two drawn data sets."""

GAUSSIAN = Experiment(
    title="Gaussian densities: StrNN and MADE against the number of rows",
    output="density_gaussian",
    run=learn_gaussian,
    quick={"seeds": 3, "sizes": (100, 400), "d": 10, "grid": QUICK_GRID},
    tables=_tables,
    draw=_draw,
)
"""The paper's figure of Gaussian densities."""
