"""What a person sees while a fit runs."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["Bar"]


class Bar:
    """A progress bar on standard error, silent where nobody looks.

    Args:
        epochs: The most epochs that there will be.
        steps: Batches in one, where known.
        shown: Whether to show it; None for where standard error is a terminal.
    """

    def __init__(self, epochs: int, steps: int | None, *, shown: bool | None) -> None:
        console = Console(stderr=True)
        self._shown = console.is_terminal if shown is None else shown
        self._share = 1 / steps if steps else 0.0
        columns = (TextColumn("Fitting"), BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
        self._progress = Progress(*columns, console=console, transient=console.is_terminal, disable=not self._shown)
        self._task = self._progress.add_task("", total=epochs)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def step(self, epoch: int, number: int) -> None:
        """Tell of batch ``number`` of an epoch, from 1."""
        if self._shown:
            self._progress.update(self._task, completed=epoch - 1 + min(1.0, number * self._share))

    def epoch(self, number: int, text: str) -> None:
        """Tell of the end of an epoch."""
        if self._shown:
            self._progress.update(self._task, completed=number, description=text)
