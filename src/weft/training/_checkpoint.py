"""A file from which a fit that was killed goes on as if it had not been."""

from __future__ import annotations

import os
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from .._arguments import check_number
from .._errors import show

__all__ = ["Checkpoint", "read_checkpoint"]

VERSION = 1

CHECKSUMS = ("training rows", "validation rows", "models")
"""What a run is identified by that says nothing to a reader."""


@dataclass(frozen=True)
class Checkpoint:
    """Where a fit writes its state, and how often.

    The file is data, no code: ``torch.load(path, weights_only=True)`` reads it. It is written beside its place, flushed
    to the disk and moved there, so that a kill leaves either the old file or the new one.

    Args:
        path: The file. If it exists, `weft.fit` goes on from there, and gives what it would have given without a stop.
        every: Least number of seconds between two writes; the end of a fit is always written.

    Examples:
        >>> import weft
        >>> weft.training.Checkpoint("run.checkpoint", every=60).every
        60
    """

    path: str | os.PathLike[str]
    every: float = 10.0

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, os.PathLike)):
            raise ValueError(f"checkpoint is {show(self.path)}, expected the path of a file.")  # noqa: TRY004
        if Path(self.path).is_dir() or not Path(self.path).parent.is_dir():
            raise ValueError(f"checkpoint is {str(self.path)!r}, expected a file in a folder that exists.")
        if not os.access(Path(self.path).parent, os.W_OK):
            raise ValueError(f"checkpoint is {str(self.path)!r}, expected a file in a folder that can be written to.")
        check_number("every", self.every, error=ValueError)

    def write(self, state: dict[str, Any]) -> None:
        """Write the state so that the file is whole at any time."""
        path = Path(self.path)
        beside = path.with_name(f"{path.name}.tmp")
        try:
            with beside.open("wb") as file:
                torch.save({"version": VERSION, **state}, file)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
        if os.name == "posix":  # the move itself must reach the disk
            folder = os.open(path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)

    def due(self, last: float) -> bool:
        """Tell whether the next write is due, given the time of the last."""
        return time.monotonic() - last >= self.every


def read_checkpoint(path: Path, run: dict[str, Any]) -> dict[str, Any]:
    """Read the state of the same run, refusing files that are broken, foreign, or of another run."""
    try:
        with zipfile.ZipFile(path) as file:
            if broken := file.testzip():  # torch does not look at the checksums
                raise ValueError(f"its part {broken!r} is broken")
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # broken bytes raise whatever they happen to mean
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise ValueError(f"the checkpoint {str(path)!r} cannot be read: {reason}. Delete it to start anew.") from error
    if (
        not isinstance(state, dict)
        or not isinstance(state.get("run"), dict)
        or not isinstance(state.get("version"), int)
    ):
        raise ValueError(f"{str(path)!r} is no checkpoint of weft.fit; name another file.")  # noqa: TRY004
    if state["version"] > VERSION:
        raise ValueError(f"the checkpoint {str(path)!r} was written by a newer Weft; install that one to go on.")
    for what, now in run.items():
        then = state["run"].get(what)
        if then != now:
            shown = what not in CHECKSUMS
            differ = f"its {what} was {show(then)}, now it is {show(now)}" if shown else f"its {what} were others"
            raise ValueError(
                f"the checkpoint {str(path)!r} is of another run: {differ}. Name another file, or delete it to start "
                f"anew."
            )
    return state
