"""What all benchmarks share: fair timing, peak memory, and results written with the machine and the versions."""

from __future__ import annotations

import multiprocessing
import os
import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from weft import paper

__all__ = ["DEVICE", "alone", "floor_step", "seconds_of", "training_step", "write"]

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

RESULTS = Path(os.environ.get("WEFT_RESULTS", Path(__file__).parents[1] / "results"))


def seconds_of(steps: Mapping[str, Callable[[], object]], rounds: int = 10, warmup: int = 2) -> dict[str, float]:
    """Return the median seconds of each step, the steps taking turns so that all meet the same machine."""
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(warmup + rounds):
        for name, step in steps.items():
            _synchronize()
            start = time.perf_counter()
            step()
            _synchronize()
            if number >= warmup:
                taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in taken.items()}


def training_step(net: torch.nn.Module, x: torch.Tensor) -> Callable[[], None]:
    """Return a step of Adam on a fixed batch; the loss is the same for all networks."""
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)

    def step() -> None:
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()

    return step


def floor_step(layers: Sequence[int], batch: int) -> Callable[[], None]:
    """Return what no step can spare: to activate all units and come back, with fresh tensors and without any weight."""

    def step() -> None:
        loss = torch.zeros((), device=DEVICE)
        for units in layers:
            h = torch.zeros(units, batch, device=DEVICE, requires_grad=True)
            loss = loss + torch.relu(h).square().mean()
        loss.backward()

    return step


def alone(function: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Run a function in a process of its own, and add the peak memory of its device, in GiB, to what it returns."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_with_peak, (function, *arguments))


def _with_peak(function: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    found = function(*arguments)
    if DEVICE == "cuda":
        return {**found, "peak_gib": torch.cuda.max_memory_allocated() / 2**30}
    return {**found, "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def write(
    name: str, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], note: str = "", **facts: Any
) -> None:
    """Write rows to ``results/NAME.json`` with the machine and the versions, and as a table to ``results/NAME.md``.

    What ran on a GPU has ``_cuda`` behind its name.

    Args:
        name: Name of the files.
        rows: One mapping per row; the JSON keeps all of it.
        columns: Heading of each key that the table shows, in order.
        note: A sentence below the table.
        facts: Anything else that the JSON should hold.
    """
    name += "_cuda" if DEVICE == "cuda" else ""
    table = [{heading: row.get(key, "") for key, heading in columns.items()} for row in rows]
    paper.write(RESULTS, name, rows, {"": table}, note, (*paper.PACKAGES, "zuko", "strnn"), DEVICE, **facts)
    paper.show(name, table)


def _synchronize() -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()
