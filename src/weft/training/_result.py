"""What a fit leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import pandas as pd

from ..models import DensityModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Epoch", "FitResult", "Reason"]

Reason = Literal["patience", "epochs", "callback", "diverged"]


@dataclass(frozen=True)
class Epoch:
    """What a callback is told after each epoch of a model.

    Args:
        model: The model, with the weights of this epoch.
        member: Its place in the ensemble, 0 for a model alone.
        number: The epoch, from 1.
        train: Mean negative log-likelihood of the training rows, while they trained.
        validation: That of the validation rows, after the epoch; NaN without any.
        lr: The learning rate.
        best: Whether no epoch before was as good.
    """

    model: DensityModel = field(repr=False)
    member: int
    number: int
    train: float
    validation: float
    lr: float
    best: bool


@dataclass(frozen=True)
class FitResult:
    """How a fit went; the best weights are in the model.

    Args:
        history: One row per epoch: ``epoch``, ``train`` and ``validation`` (mean negative log-likelihood), ``lr``, and
            ``seconds`` since the start.
        best_epoch: The epoch whose weights were kept: the best on the validation rows, the last without any.
        best_validation: Mean negative log-likelihood of the validation rows in that epoch; NaN without any.
        seconds: Time taken, of the whole ensemble where the model is a member of one.
        stopped: What ended it: ``"patience"``, ``"epochs"``, ``"callback"``, or ``"diverged"`` where a member of an
            ensemble broke down.
    """

    history: pd.DataFrame = field(repr=False)
    best_epoch: int
    best_validation: float
    seconds: float
    stopped: Reason

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how the negative log-likelihood fell on training and validation rows.

        Examples:
            >>> import torch, weft
            >>> result = weft.fit(weft.StrNNDensity(weft.graph.chain(3), "gaussian"), torch.randn(100, 3), epochs=2)
            >>> len(result.plot().lines)
            3
        """
        import matplotlib.pyplot as plt

        if ax is None:
            ax = plt.subplots(layout="constrained")[1]
        for name in ("train", "validation"):
            if self.history[name].notna().any():
                ax.plot(self.history["epoch"], self.history[name], label=name)
        ax.axvline(self.best_epoch, color="black", linewidth=0.8, linestyle="--", label=f"kept: {self.best_epoch}")
        ax.set(xlabel="epoch", ylabel="negative log-likelihood, nats")
        ax.legend(frameon=False)
        return ax
