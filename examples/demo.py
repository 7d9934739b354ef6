"""Weft in one run: read a graph, turn it into masks, build a density on them, fit it, check it, draw it.

Run it with `make demo`, or with `python examples/demo.py`.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # pictures go to files, so no screen is needed

import matplotlib.pyplot as plt
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

import weft

console = Console()

NOISE = 0.5
"""Standard deviation of every variable, given its parents."""


def main(folder: Path) -> None:
    """Go through the whole job, step by step."""
    torch.manual_seed(0)

    console.rule("1. A graph says which variable may depend on which")
    graph = weft.Graph.read(Path(__file__).with_name("trial.dot"))
    print(graph)
    for name in graph.order:
        print(f"  {name} <- {', '.join(graph.parents(name)) or '(nothing)'}")

    console.rule("2. The graph becomes masks: one per layer, no edge lost and none invented")
    compare_factorizations(graph, widths=(14,))
    masks = weft.factorize(graph, widths=(14,))
    masks.explain()

    console.rule("3. The masks become a density, which is fitted to data")
    model = weft.StrNNDensity(graph, "gaussian", hidden=(64, 64))
    print(model)
    data, _ = simulate(graph, rows=2000)
    result = weft.fit(model, data, lr=3e-3, epochs=200)
    print(f"The best of {len(result.history)} epochs was {result.best_epoch}; its weights were kept.")

    console.rule("4. What was promised, checked")
    test_data, true_means = simulate(graph, rows=2000)
    compare_densities(model, graph, data, test_data, true_means)
    slopes = torch.func.vmap(torch.func.jacrev(model.net))(test_data).detach()  # rows x outputs x inputs
    slopes = slopes.unflatten(1, (len(graph), -1))[:, :, 0]  # of the mean, the first parameter of each variable
    largest = slopes.abs().amax(dim=0)
    edges = torch.from_numpy(graph.adjacency())  # row i marks the parents of variable i
    print(f"Of {graph.edges_count} edges, {(largest[edges] > 0).sum()} move the mean of their child.")
    print(f"The largest slope where the graph has no edge is {largest[~edges].max()}.")

    console.rule("5. Pictures")
    graph.plot().figure.savefig(folder / "graph.png", dpi=110)
    masks.plot().savefig(folder / "factorization.png", dpi=110)
    draw_network(graph, slopes, fitted_means(model, graph, test_data), true_means).savefig(
        folder / "network.png", dpi=110
    )
    draw_fit(result, graph, test_data, model.sample(2000)).savefig(folder / "fit.png", dpi=110)
    for picture in sorted(folder.glob("*.png")):
        print(f"  {picture}")


def compare_factorizations(graph: weft.Graph, widths: tuple[int, ...]) -> None:
    """Print how many paths from parents to children each method finds room for."""
    table = Table("method", "paths", "fewest per edge", "objective", "bound", "proven")
    edges = graph.adjacency()
    for method, objective in [("greedy", "paths"), ("exact", "paths"), ("exact", "balanced")]:
        f = weft.factorize(graph, widths, method, objective)
        name = f"{method} ({objective})" if method == "exact" else method
        values = (f.total_paths, f.paths[edges].min(), f.objective[0], f.bound[0], f.optimal[0])
        table.add_row(name, *(f"{value:.4g}" if isinstance(value, float) else str(value) for value in values))
    console.print(table)


def simulate(graph: weft.Graph, rows: int) -> tuple[Tensor, Tensor]:
    """Draw data that obey the graph: each variable is a sum of waves of its parents, plus noise.

    Returns the data and the means that the noise was added to, both with one column per node.
    """
    data, means = torch.zeros(rows, len(graph)), torch.zeros(rows, len(graph))
    for name in graph.order:
        column = graph.index(name)
        for parent in graph.parents(name):
            means[:, column] += torch.sin(1.5 * data[:, graph.index(parent)])
        data[:, column] = means[:, column] + NOISE * torch.randn(rows)
    return data, means


def compare_densities(
    model: weft.StrNNDensity, graph: weft.Graph, data: Tensor, test_data: Tensor, true_means: Tensor
) -> None:
    """Print how far from the truth the density is on new rows, and one that does not know the edges."""
    blind = weft.baselines.MADE(graph, "gaussian", hidden=(64, 64))
    weft.fit(blind, data, lr=3e-3, epochs=200)
    noise = (test_data - true_means) / NOISE
    truth = (-0.5 * noise**2 - math.log(NOISE) - 0.5 * math.log(2 * math.pi)).sum(dim=1)
    table = Table("density", "negative log-likelihood of new rows, nats", "above the truth")
    with torch.no_grad():
        for name, scores in [
            ("the truth", truth),
            (f"StrNN, {model.graph.edges_count} edges", model.log_prob(test_data)),
            (f"MADE, {blind.graph.edges_count} edges", blind.log_prob(test_data)),
        ]:
            table.add_row(name, f"{-scores.mean():.3f}", f"{(truth - scores).mean():.3f}")
    console.print(table)


@torch.no_grad()
def fitted_means(model: weft.StrNNDensity, graph: weft.Graph, data: Tensor) -> Tensor:
    """Return the mean of every variable given its parents, as the density has it."""
    means = []
    for name in graph.nodes:
        parents = {parent: data[:, graph.index(parent)] for parent in graph.parents(name)}
        means.append(model.conditional(name, parents).mean.expand(len(data)))
    return torch.stack(means, dim=1)


def draw_network(graph: weft.Graph, slopes: Tensor, fitted: Tensor, true_means: Tensor) -> plt.Figure:
    """Draw the mean size of every slope beside the graph's edges, and fitted means against true ones."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.8), layout="constrained")

    image = left.imshow(slopes.abs().mean(dim=0), cmap="Blues")
    left.set(xlabel="input", ylabel="output", title="Mean |slope| of the fitted means; edges outlined")
    left.set_xticks(range(len(graph)), graph.nodes, rotation=45, ha="right")
    left.set_yticks(range(len(graph)), graph.nodes)
    for parent, child in graph.edges:
        corner = (graph.index(parent) - 0.5, graph.index(child) - 0.5)
        left.add_patch(plt.Rectangle(corner, 1, 1, fill=False, edgecolor="#c2571a", linewidth=1.5))
    figure.colorbar(image, ax=left, shrink=0.85)

    for name in graph.nodes:
        if graph.parents(name):
            column = graph.index(name)
            right.scatter(true_means[:, column], fitted[:, column], s=8, alpha=0.3, linewidths=0, label=name)
    right.axline((0, 0), slope=1, color="black", linewidth=0.8)
    right.set(xlabel="true mean given the parents", ylabel="fitted mean")
    right.set_title(f"Fitted against true means, {len(fitted):,} new rows")
    for handle in right.legend(markerscale=2, frameon=False).legend_handles:
        handle.set_alpha(1)
    return figure


def draw_fit(result: weft.FitResult, graph: weft.Graph, data: Tensor, drawn: Tensor) -> plt.Figure:
    """Draw the course of the fit, and rows drawn from the density over new data, for one edge."""
    parent, child = max(graph.edges, key=lambda edge: -len(graph.parents(edge[1])))
    columns = graph.index(parent), graph.index(child)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.8), layout="constrained")
    result.plot(left).set_title("Training")
    for rows, label, color in [(data, "new data", "#7f7f7f"), (drawn, "drawn from the density", "#c2571a")]:
        right.scatter(*(rows[:, column] for column in columns), s=6, alpha=0.35, linewidths=0, label=label, color=color)
    right.set(xlabel=parent, ylabel=child, title="Data and draws")
    for handle in right.legend(markerscale=2, frameon=False).legend_handles:
        handle.set_alpha(1)
    return figure


def read_folder() -> Path:
    """Read from the command line where the pictures go, and make that folder."""
    parser = argparse.ArgumentParser(description="Go from a graph to a fitted network, with pictures.")
    parser.add_argument(
        "folder", nargs="?", type=Path, default="demo-output", help="where the pictures go (%(default)s)"
    )
    folder: Path = parser.parse_args().folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"cannot make the folder {str(folder)!r}: {error.strerror}; name another")
    return folder


if __name__ == "__main__":
    main(read_folder())
