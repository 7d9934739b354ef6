"""StrNN against MADE on one data set at several numbers of rows: search, training, and rows to report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..baselines import MADE
from ..data import BinaryNetwork, LinearGaussian
from ..graph import Graph, every_other, previous, random_sparse
from ..models import StrNNDensity
from ._density import Recipe, Trial, learn
from ._density_search import GRID, Grid, Make, choose_recipe, search_recipes
from ._record import Row, where

__all__ = [
    "ACTIVATION",
    "GRAPH_SEED",
    "THRESHOLD",
    "Task",
    "compare_on",
    "makers",
    "network_trial",
    "paper_graph",
    "searched_size",
]

ACTIVATION = "relu"
"""That of the paper's grid, the only one in it."""

GRAPH_SEED = 2547
"""The seed of the paper's code; one graph for all trials."""

THRESHOLD = 0.8
"""Share of possible edges that random sparse graphs lack. The paper states it for its flows alone."""

TEST_ROWS = 2000
"""Test rows of a drawn data set; the paper has 500."""

APART = 10_000
"""Added to the seeds of the search, so that its trials are others than those reported."""


@dataclass(frozen=True)
class Task:
    """A data set on which models are compared.

    Args:
        name: What tables call it.
        d: Variables.
        models: What makes each model, by name; the baseline is among them.
        draw: Makes the trial of a seed with n rows.
        sizes: The numbers of rows.
        searched: The number of rows at which recipes are searched.
        recipes: Recipes that are given, by model.
        like: Models that take the recipe of another; all others are searched.
        source: Where the given recipes are from.
        grid: What is searched.
    """

    name: str
    d: int
    models: Mapping[str, Make]
    draw: Callable[[int, int], Trial]
    sizes: Sequence[int]
    searched: int = 0
    recipes: Mapping[str, Recipe] = field(default_factory=dict)
    like: Mapping[str, str] = field(default_factory=dict)
    source: str = "published"
    grid: Grid = GRID


def compare_on(
    tasks: Sequence[Task],
    seeds: int,
    track: Callable[[Sequence[Any]], Iterable[Any]] = iter,
    also: Callable[[Task, int, Mapping[str, Sequence[StrNNDensity]]], list[Row]] | None = None,
    **options: Any,
) -> list[Row]:
    """Search the recipe of each model where none is published, then compare the models at every number of rows.

    Args:
        tasks: The data sets.
        seeds: Trials of each number of rows.
        track: Wrapped around the steps, to show progress.
        also: Makes further rows from the trained models.
        options: Further arguments of `weft.fit`, for the models that are compared.

    Returns:
        Rows of the parts ``"search"`` and ``"test"``, with the data set, the number of rows and the model.
    """
    rows: list[Row] = []

    def search(task: Task, model: str, recipes: Sequence[Recipe]) -> list[Row]:
        trials = [task.draw(APART + seed, task.searched) for seed in range(task.grid.seeds)]
        found = search_recipes(task.models[model], trials, recipes, task.grid.epochs)
        return [{"part": "search", "data": task.name, "n": task.searched, "model": model, **row} for row in found]

    def recipe(task: Task, model: str) -> tuple[Recipe, str]:
        if model in task.recipes:
            return task.recipes[model], task.source
        known = task.like.get(model, model)
        tried = where(rows, part="search", data=task.name, model=known)
        of = "" if known == model else f"of {known}, "
        points = len(tried) // task.grid.seeds
        return choose_recipe(tried), f"{of}best of {points} on validation rows, n = {task.searched:,}"

    def test(task: Task, n: int) -> list[Row]:
        recipes = {model: recipe(task, model) for model in task.models}
        models = {model: (make(recipes[model][0].hidden), recipes[model][0]) for model, make in task.models.items()}
        found, trained = learn(models, [task.draw(seed, n) for seed in range(seeds)], **options)
        more = [] if also is None else also(task, n, trained)
        setting = {"part": "test", "data": task.name, "n": n}
        return [{**setting, **row, "recipe": recipes[row["model"]][1]} for row in found] + more

    steps: list[Callable[[], list[Row]]] = []
    for task in tasks:
        searched = [model for model in task.models if model not in task.recipes and model not in task.like]
        steps += [partial(search, task, model, run) for model in searched for run in task.grid.runs(task.d)]
        steps += [partial(test, task, n) for n in task.sizes]
    for step in track(steps):
        rows += step()
    return rows


def makers(graph: Any, kind: str, device: str, activation: str = ACTIVATION) -> dict[str, Make]:
    """Return what makes the two models, by name, from a number of hidden units."""

    def strnn(hidden: int) -> StrNNDensity:
        return StrNNDensity(graph, kind, hidden=(hidden,), activation=activation, device=device)

    def made(hidden: int) -> StrNNDensity:
        return MADE(graph, kind, hidden=(hidden,), activation=activation, device=device)

    return {"StrNN": strnn, "MADE": made}


def paper_graph(name: str, d: int) -> Graph:
    """Return a graph of the paper by its name: every_other, prev_k or random_sparse."""
    if name.startswith("prev_"):
        return previous(d, int(name.removeprefix("prev_")))
    return every_other(d) if name == "every_other" else random_sparse(d, THRESHOLD, GRAPH_SEED)


def searched_size(sizes: Sequence[int], most: int) -> int:
    """Return the largest number of rows up to ``most``, at which recipes are searched, or the smallest of all."""
    return max([n for n in sizes if n <= most], default=min(sizes))


def network_trial(graph: Graph, kind: str, seed: int, n: int, test_rows: int = TEST_ROWS) -> Trial:
    """Draw the weights of a network over a graph, and rows of it, a fifth of them for validation.

    Args:
        graph: The graph.
        kind: ``"binary"`` or ``"gaussian"``.
        seed: Seed of the weights; the same seed has the same test rows for every n.
        n: Rows for training and validation together, as the paper counts.
        test_rows: Rows to score.
    """
    network = BinaryNetwork.draw(graph, seed) if kind == "binary" else LinearGaussian.draw(graph, seed)
    own, other = (int(each) for each in np.random.SeedSequence(seed).generate_state(2))  # streams of their own
    rows, test = network.sample(n, seed=own), network.sample(test_rows, seed=other)
    held_out = n // 5
    return Trial(seed, rows[held_out:], rows[:held_out], test, network.log_prob(test))
