"""What all benchmarks share: fair timing, peak memory, and results written with the machine and the versions."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import resource
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

__all__ = ["alone", "seconds_of", "training_step", "write"]

RESULTS = Path(os.environ.get("WEFT_RESULTS", Path(__file__).parents[1] / "results"))
PACKAGES = ("weft", "torch", "numpy", "scipy", "networkx", "zuko", "strnn")


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


def alone(function: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """Run a function in a process of its own, and add that process's peak memory in GiB to what it returns."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_with_peak, (function, *arguments))


def _with_peak(function: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    found = function(*arguments)
    return {**found, "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}


def write(
    name: str, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], note: str = "", **facts: Any
) -> None:
    """Write rows to ``results/NAME.json`` with the machine and the versions, and as a table to ``results/NAME.md``.

    Args:
        name: Name of the files.
        rows: One mapping per row; the JSON keeps all of it.
        columns: Heading of each key that the table shows, in order.
        note: A sentence below the table.
        facts: Anything else that the JSON should hold.
    """
    RESULTS.mkdir(parents=True, exist_ok=True)
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else f"{os.cpu_count()} CPU cores"
    machine = {"machine": platform.machine(), "device": device, "threads": torch.get_num_threads()}
    versions = {"python": platform.python_version(), **{each: found for each in PACKAGES if (found := _version(each))}}
    record = {**machine, "versions": versions, **facts, "rows": list(rows)}
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")

    cells = [[_show(row.get(key, "")) for key in columns] for row in rows]
    lines = [" | ".join(columns.values()), " | ".join("---" for _ in columns), *(" | ".join(row) for row in cells)]
    known = ", ".join(f"{package} {number}" for package, number in versions.items())
    text = "\n".join(f"| {line} |" for line in lines) + f"\n\n{note}\n\n*{device}; {known}.*\n"
    (RESULTS / f"{name}.md").write_text(text.replace("\n\n\n", "\n"), encoding="utf-8")

    table = Table(*columns.values(), title=name)
    for row in cells:
        table.add_row(*row)
    Console(width=None if Console().is_terminal else 160).print(table)


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
