"""The loop: epochs of steps, with a validation, a decision for each member, and a checkpoint at the end of each."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pandas as pd
import torch
from torch import Generator, Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from .._errors import show, warn
from ._checkpoint import Checkpoint
from ._members import Members, buffers_of
from ._progress import Bar
from ._result import Epoch, FitResult, Reason
from ._sources import Source

__all__ = ["Course", "Loop", "Schedule"]

Schedule = Callable[[Optimizer], LRScheduler]

COLUMNS = ["epoch", "train", "validation", "lr", "seconds"]

FLUSH = 256
"""Steps after which losses are looked at: a look waits for the device."""


class Course:
    """What is decided for one member alone: its order of rows, its learning rate, its best epoch, and when it stops.

    Args:
        seed: Seed of the order of rows.
        lr: Learning rate to begin with.
        schedule: Makes a learning rate scheduler of an optimizer.
    """

    def __init__(self, seed: int, lr: float, schedule: Schedule | None) -> None:
        self.generator = Generator().manual_seed(seed)
        # Holds the learning rate for the scheduler, no weights.
        self._holder = torch.optim.SGD([torch.zeros(())], lr=lr)
        self._scheduler = None if schedule is None else schedule(self._holder)
        self.history: list[list[float]] = []
        self.best, self.best_epoch, self.stopped = math.inf, 0, ""

    @property
    def lr(self) -> float:
        """The learning rate of the present epoch; 0 once the member has stopped, so that it stays where it is."""
        return 0.0 if self.stopped else float(self._holder.param_groups[0]["lr"])

    def close_epoch(self, row: Sequence[float], patience: int | None) -> bool:
        """Take note of an epoch, and tell whether it was the best; decide on the rate and whether to go on."""
        epoch, train, validation, *_ = row
        self.history.append(list(row))
        alone = math.isnan(validation)
        better = alone or validation < self.best
        if better:
            self.best, self.best_epoch = validation, int(epoch)
        elif patience is not None and epoch - self.best_epoch >= patience:
            self.stopped = "patience"
        self._holder.step()  # no weights move; schedulers warn where an optimizer has never stepped
        if isinstance(self._scheduler, ReduceLROnPlateau):
            self._scheduler.step(train if alone else validation)
        elif self._scheduler is not None:
            self._scheduler.step()
        return better

    def result(self, seconds: float) -> FitResult:
        """Return what the member leaves behind."""
        history = pd.DataFrame(self.history, columns=COLUMNS).astype({"epoch": int})
        reason = cast("Reason", self.stopped or "epochs")
        return FitResult(history, self.best_epoch, self.best if self.best_epoch else math.nan, seconds, reason)

    def state(self) -> dict[str, Any]:
        """Return all that `load` needs to go on."""
        return {
            "generator": self.generator.get_state(),
            "lr": self._holder.param_groups[0]["lr"],
            "schedule": None if self._scheduler is None else self._scheduler.state_dict(),
            "history": self.history,
            "best": [self.best, self.best_epoch, self.stopped],
        }

    def load(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.generator.set_state(state["generator"])
        self._holder.param_groups[0]["lr"] = state["lr"]
        if self._scheduler is not None:
            self._scheduler.load_state_dict(state["schedule"])
        self.history = [list(row) for row in state["history"]]
        self.best, self.best_epoch, self.stopped = state["best"]


@dataclass
class Loop:
    """A fit under way.

    Args:
        members: The models, and how they step.
        courses: One for each.
        train: The rows that train.
        validation: The rows that say which epoch is best.
        epochs: Most epochs.
        patience: Epochs without a better one after which a member stops.
        clip: Largest norm of a gradient.
        callbacks: Called for every member after every epoch; one that returns True stops the member.
        checkpoint: Where and when to write the state.
        run: What identifies the run, written with the state.
    """

    members: Members
    courses: list[Course]
    train: Source
    validation: Source | None
    epochs: int
    patience: int | None
    clip: float | None
    callbacks: Sequence[Callable[[Epoch], object]]
    checkpoint: Checkpoint | None
    run: dict[str, Any]
    epoch: int = field(default=0, init=False)
    seconds: float = field(default=0.0, init=False)

    def go(self, bar: Bar) -> list[FitResult]:
        """Train until every member has stopped; leave the best weights in the models."""
        began = time.monotonic() - self.seconds
        written = time.monotonic()
        try:
            while self.epoch < self.epochs and not all(course.stopped for course in self.courses):
                self.epoch += 1
                train = self._train_epoch(bar)
                validation = self._validate()
                self.seconds = time.monotonic() - began
                self._close_epoch(train, validation)
                bar.epoch(self.epoch, self._describe(train, validation))
                if self.checkpoint is not None and self.checkpoint.due(written):
                    self.checkpoint.write(self.state())
                    written = time.monotonic()
            if self.checkpoint is not None:
                self.checkpoint.write(self.state())
        finally:
            self.members.restore()
            self.members.train(mode=False)
        return [course.result(self.seconds) for course in self.courses]

    def state(self) -> dict[str, Any]:
        """Return all that `load` needs to go on."""
        return {
            "run": self.run,
            "epoch": self.epoch,
            "seconds": self.seconds,
            "buffers": [buffers_of(model) for model in self.members.models],
            "weights": self.members.weights(),
            "optimizer": self.members.optimizer.state_dict(),
            "courses": [course.state() for course in self.courses],
            "random": [torch.get_rng_state(), *_cuda_states(self.members)],
        }

    def load(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.epoch, self.seconds = state["epoch"], state["seconds"]
        self.members.load(state["weights"])
        self.members.optimizer.load_state_dict(state["optimizer"])
        for course, saved in zip(self.courses, state["courses"], strict=True):
            course.load(saved)
        torch.set_rng_state(state["random"][0])
        if len(state["random"]) > 1:
            torch.cuda.set_rng_state(state["random"][1], _device(self.members))

    def _train_epoch(self, bar: Bar) -> list[float]:
        """Go through all rows once and return the mean loss of each member, as it was on the way."""
        members, meter = self.members, Meter(len(self.courses), self._look)
        members.train(mode=True)
        rates = [course.lr for course in self.courses]
        batches = self.train.batches([course.generator for course in self.courses])
        for number, (x, context) in enumerate(batches, start=1):
            terms = members.terms(self._spread(x), None if context is None else self._spread(context))
            means = terms.mean(dim=1)
            (-means.sum()).backward()  # type: ignore[no-untyped-call]
            members.step(rates, self.clip)
            meter.add(means.detach(), x.shape[1])
            bar.step(self.epoch, number)
        return meter.close()

    @torch.no_grad()
    def _validate(self) -> list[float]:
        if self.validation is None:
            return [math.nan] * len(self.courses)
        self.members.train(mode=False)
        total, rows = torch.zeros(()), 0
        for x, context in self.validation.batches(None):
            terms = self.members.terms(self._spread(x), None if context is None else self._spread(context))
            total, rows = total.to(terms.device) + terms.sum(dim=1, dtype=torch.float64), rows + x.shape[1]
        means = (total / rows).cpu()
        self._look(means.unsqueeze(0), None)
        return cast("list[float]", (-means.sum(dim=1)).tolist())

    def _close_epoch(self, train: list[float], validation: list[float]) -> None:
        better, told = [False] * len(self.courses), []
        for member, course in enumerate(self.courses):
            if not course.stopped:
                lr, values = course.lr, (train[member], validation[member])
                better[member] = course.close_epoch([self.epoch, *values, lr, self.seconds], self.patience)
                told.append(Epoch(self.members.models[member], member, self.epoch, *values, lr, better[member]))
        self.members.keep(better)  # before callbacks, which may raise
        if self.callbacks:
            self.members.show()
        for epoch in told:
            answers = [callback(epoch) for callback in self.callbacks]
            if any(isinstance(answer, (bool, np.bool_)) and answer for answer in answers):
                self.courses[epoch.member].stopped = self.courses[epoch.member].stopped or "callback"

    def _look(self, means: Tensor, first: int | None) -> None:
        """Stop each member of whose mean terms (batches, members, variables) one is no number.

        A model alone cannot go on. The batches are those from number ``first`` on, or the validation rows for None.
        """
        for member, course in enumerate(self.courses):
            broken = ~torch.isfinite(means[:, member])
            if course.stopped or not bool(broken.any()):
                continue
            batch, column = (int(place) for place in broken.nonzero()[0])
            of = f" of model {member}" if len(self.courses) > 1 else ""
            when = f"after epoch {self.epoch}, on validation rows"
            if first is not None:
                when = f"in epoch {self.epoch}, batch {first + batch} (from 0)"
            name, value = self.members.models[member].graph.nodes[column], float(means[batch, member, column])
            text = (
                f"the log-likelihood of {show(name)}{of} became {value:g} {when}; the weights of the best epoch are "
                f"kept. Take a smaller lr, or clip=1.0."
            )
            if len(self.courses) == 1:
                raise FloatingPointError(text)
            course.stopped = "diverged"
            warn(text, RuntimeWarning)

    def _spread(self, x: Tensor) -> Tensor:
        """Give rows that are for all members to each."""
        return x.expand(len(self.courses), -1, -1)

    def _describe(self, train: list[float], validation: list[float]) -> str:
        running = [m for m, course in enumerate(self.courses) if not course.stopped] or [0]
        parts = [f"epoch {self.epoch}", f"train {sum(train[m] for m in running) / len(running):.4f}"]
        if self.validation is not None:
            best = sum(course.best for course in self.courses) / len(self.courses)
            parts.append(f"validation {sum(validation[m] for m in running) / len(running):.4f} (best {best:.4f})")
        if len(self.courses) > 1:
            parts.append(f"{len(running)} of {len(self.courses)} models")
        return ", ".join(parts)


class Meter:
    """The mean loss of an epoch, collected without waiting for the device at every step.

    Args:
        members: Number of models.
        look: Called with the mean terms (batches, members, variables) of some batches, and the number of the first.
    """

    def __init__(self, members: int, look: Callable[[Tensor, int], None]) -> None:
        self._look = look
        self._waiting: list[Tensor] = []
        self._sizes: list[int] = []
        self._total = torch.zeros(members, dtype=torch.float64)
        self._rows = self._seen = 0

    def add(self, means: Tensor, rows: int) -> None:
        """Take the mean terms (members, variables) of a batch."""
        self._waiting.append(means)
        self._sizes.append(rows)
        if len(self._waiting) == FLUSH:
            self._flush()

    def close(self) -> list[float]:
        """Return the mean negative log-likelihood of each member."""
        if self._waiting:
            self._flush()
        return cast("list[float]", (self._total / max(1, self._rows)).tolist())

    def _flush(self) -> None:
        means = torch.stack(self._waiting).cpu().double()
        self._look(means, self._seen)
        self._total -= torch.tensor(self._sizes, dtype=torch.float64) @ means.sum(dim=2)
        self._rows += sum(self._sizes)
        self._seen += len(self._sizes)
        self._waiting, self._sizes = [], []


def _device(members: Members) -> torch.device:
    return next(members.models[0].parameters()).device


def _cuda_states(members: Members) -> list[Tensor]:
    device = _device(members)
    return [torch.cuda.get_rng_state(device)] if device.type == "cuda" else []
