"""One `fit` for every density: best weights, early stopping, schedules, checkpoints, and ensembles in one run."""

from __future__ import annotations

from ._checkpoint import Checkpoint
from ._fit import fit
from ._result import Epoch, FitResult

__all__ = ["Checkpoint", "Epoch", "FitResult", "fit"]
