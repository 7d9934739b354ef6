"""``python -m weft.paper`` lists the experiments; with the name of one, it runs it and writes its results."""

from __future__ import annotations

import argparse
import hashlib
import inspect
import tempfile
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from rich.progress import track

from .._errors import shorten, suggest
from .._errors import show as show_value
from . import EXPERIMENTS, show, write
from ._journal import Journal

__all__ = ["main"]

SUFFIXES = ("json", "md", "png")

MOST_SEEDS = 10_000
"""More draws of each setting than anybody waits for."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line.

    Args:
        arguments: The words after the command, by default those it was called with.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.experiment is None:
        if options.quick or options.seeds or options.out or options.device:
            parser.error(f"options need an experiment; name one of: {shorten(EXPERIMENTS)}")
        show("Experiments of the paper", [{"name": name, "what": each.title} for name, each in EXPERIMENTS.items()])
        print("Run one with: python -m weft.paper NAME [--quick] [--seeds N] [--device cpu|cuda] [--out FOLDER]")
        return
    experiment = EXPERIMENTS[options.experiment]
    takes_device = "device" in inspect.signature(experiment.run).parameters
    if options.device and not takes_device:
        parser.error(f"argument --device: {options.experiment} computes on the CPU alone; leave it out")
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("argument --device: got 'cuda', but PyTorch finds no CUDA device; leave it out, or take 'cpu'")
    folder = options.out or Path("results")
    output = f"{experiment.output}_quick" if options.quick else experiment.output  # never in place of a full run
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"argument --out: cannot make the folder {str(folder)!r}: {error.strerror}")
    try:
        tempfile.TemporaryFile(dir=folder).close()  # what cannot be written is known at once
        for written in folder.glob(f"{output}.*"):
            written.open("ab").close()
    except OSError as error:
        parser.error(f"argument --out: cannot write to {str(error.filename or folder)!r}: {error.strerror}")

    sizes: dict[str, Any] = dict(experiment.quick) if options.quick else {}
    if options.seeds:
        sizes["seeds"] = options.seeds
    device = options.device or ("cuda" if takes_device and torch.cuda.is_available() else "cpu")
    if takes_device:
        sizes["device"] = device

    chosen = ["--quick"] * options.quick + ([f"--seeds {options.seeds}"] if options.seeds else [])
    chosen += [f"--device {options.device}"] if options.device else []
    command = " ".join(["python -m weft.paper", options.experiment, *chosen])
    journal = Journal(folder / f"{output}.partial", f"{command}, {device}, {_code()}")

    def progress(cases: Sequence[Any]) -> Iterable[Any]:
        return journal.steps(track(cases, options.experiment))

    try:
        rows = experiment.run(**sizes, track=progress)
    except FileNotFoundError as error:  # data that are not there say where to get them
        parser.exit(1, f"{parser.prog}: {error}\n")
    except KeyboardInterrupt:
        parser.exit(130, f"\n{parser.prog}: stopped; the same command goes on from here.\n")
    tables = {title: table for title, table in experiment.tables(rows).items() if table}
    for title, table in tables.items():
        show(title, table)
    note = f"Computed by `{command}`."
    if options.quick:
        note += " Quick runs are too short to compare models: they show that the command works."
        print(note)
    facts: dict[str, Any] = {"title": experiment.title, "command": command, "summary": tables}
    write(folder, output, rows, tables, note, device=device, **facts)
    experiment.draw(rows).savefig(folder / f"{output}.png", dpi=150)
    journal.close()
    for suffix in SUFFIXES:
        print(folder / f"{output}.{suffix}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m weft.paper", description="Run an experiment of the paper, or list them."
    )
    parser.add_argument("experiment", nargs="?", type=_name, help=f"one of: {shorten(EXPERIMENTS)}")
    parser.add_argument("--quick", action="store_true", help="a small version, in seconds")
    parser.add_argument("--seeds", type=_count, metavar="N", help="how many times each setting is drawn")
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), help="where to compute (default: a GPU where there is one)"
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="where the results go (default: results)")
    return parser


def _code() -> str:
    """Return a checksum of the library and the versions below it, so that no step of other code is taken up."""
    files = sorted(Path(__file__).parents[1].rglob("*.py"))
    read = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
    return f"code {read}, torch {version('torch')}, numpy {version('numpy')}"


def _name(word: str) -> str:
    if word not in EXPERIMENTS:
        known = f"known: {shorten(EXPERIMENTS)}"
        raise argparse.ArgumentTypeError(f"unknown experiment {word!r}{suggest(word, EXPERIMENTS)}; {known}")
    return word


def _count(word: str) -> int:
    digits = word.lstrip("0")
    if not word.isascii() or not digits.isdecimal() or len(digits) > len(str(MOST_SEEDS)) or int(word) > MOST_SEEDS:
        raise argparse.ArgumentTypeError(f"got {show_value(word)}, expected a whole number from 1 to {MOST_SEEDS:,}")
    return int(word)


if __name__ == "__main__":
    main()
