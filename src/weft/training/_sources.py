"""Where rows come from: tables in memory and loaders."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, cast

import torch
from torch import Generator, Tensor
from torch.utils.data import DataLoader

from .._errors import shorten, show
from ..models import DensityModel

__all__ = [
    "BATCH",
    "LARGEST_SAMPLE",
    "Batch",
    "Loader",
    "Rows",
    "Source",
    "check_present",
    "check_rows",
    "checksum",
    "present",
]

Batch = tuple[Tensor, Tensor | None]
"""Rows (members, rows, columns) and their context; a leading 1 where all members get the same."""

BATCH = 256
"""Rows of a batch, where nobody says."""

LARGEST_SAMPLE = 200_000
"""Rows that are held in memory of a source that may be larger: for validation, and for centre and spread."""


class Source(ABC):
    """Rows that can be gone through, again and again."""

    @property
    @abstractmethod
    def steps(self) -> int | None:
        """Batches in one epoch, where that is known."""

    @abstractmethod
    def batches(self, generators: Sequence[Generator] | None) -> Iterator[Batch]:
        """Go through all rows once: in an order of its own for each member, or as they stand without generators."""

    @abstractmethod
    def sample(self, member: int) -> Tensor:
        """Return rows (rows, columns) from which a member takes centre and spread: all, or enough of them."""

    def fingerprint(self) -> list[int]:
        """Return numbers that other rows would hardly have; none where that would take too long."""
        return []


class Rows(Source):
    """Rows in memory, on the device of the model.

    Args:
        x: Rows (rows, columns) that all members draw from, or (members, rows, columns).
        context: Their context, alike.
        chosen: The rows (members, some) that each member uses, by default all.
        batch: Rows of a batch.
    """

    def __init__(self, x: Tensor, context: Tensor | None, chosen: Tensor | None, batch: int) -> None:
        self.x, self.context, self.chosen, self.batch = x, context, chosen, batch
        self.rows = x.shape[-2] if chosen is None else chosen.shape[1]

    @property
    def steps(self) -> int:
        """Batches in one epoch."""
        return -(-self.rows // self.batch)

    def batches(self, generators: Sequence[Generator] | None) -> Iterator[Batch]:
        """Gather batch by batch; each member in its own order."""
        if generators is None and self.chosen is None:
            for first in range(0, self.rows, self.batch):
                yield self._slice(self.x, first), None if self.context is None else self._slice(self.context, first)
            return
        order = self.chosen
        if generators is not None:
            mixed = torch.stack([torch.randperm(self.rows, generator=each) for each in generators])
            order = mixed if order is None else order.gather(1, mixed)
        for places in torch.split(cast("Tensor", order).to(self.x.device), self.batch, dim=1):
            yield _take(self.x, places), None if self.context is None else _take(self.context, places)

    def sample(self, member: int) -> Tensor:
        """Return the rows of a member."""
        rows = self.x if self.x.ndim == 2 else self.x[member]
        return rows if self.chosen is None else rows[self.chosen[member].to(rows.device)]

    def fingerprint(self) -> list[int]:
        """Return the number of rows and the checksums of the tables."""
        return [self.rows, *(checksum(table) for table in (self.x, self.context) if table is not None)]

    def _slice(self, rows: Tensor, first: int) -> Tensor:
        piece = rows[..., first : first + self.batch, :]
        return piece if piece.ndim == 3 else piece.unsqueeze(0)


class Loader(Source):
    """A DataLoader of rows, or of pairs of rows and context; all members get the same batches.

    Args:
        loader: The loader.
        model: A model that the rows are for; they are brought to its device and type, and checked the first time.
        what: How errors call the loader.
    """

    def __init__(self, loader: DataLoader[Any], model: DensityModel, what: str) -> None:
        self.loader, self.model, self.what = loader, model, what
        self._like = next(model.parameters())
        self._checked = False

    @property
    def steps(self) -> int | None:
        """Batches in one epoch, where the loader knows."""
        try:
            return len(self.loader)
        except TypeError:  # of an iterable data set
            return None

    def batches(self, generators: Sequence[Generator] | None) -> Iterator[Batch]:
        """Go through the loader, which shuffles for itself."""
        number = -1
        for number, batch in enumerate(self.loader):
            x, context = self._read(batch, number)
            yield x.unsqueeze(0), None if context is None else context.unsqueeze(0)
        if number < 0:
            raise ValueError(f"{self.what} is a DataLoader that gave no batch, expected rows.")
        self._checked = True

    def sample(self, member: int) -> Tensor:
        """Return the first rows that the loader gives, enough of them."""
        held, count = [], 0
        for x, _ in self.batches(None):
            held.append(x[0])
            count += len(held[-1])
            if count >= LARGEST_SAMPLE:
                break
        return torch.cat(held)

    def _read(self, batch: Any, number: int) -> tuple[Tensor, Tensor | None]:
        parts = tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)
        with_context = self.model.context > 0
        if len(parts) != 1 + with_context or not all(isinstance(part, Tensor) for part in parts):
            expected = "a pair of rows and context" if with_context else "a tensor of rows"
            raise ValueError(
                f"batch {number} of {self.what} is {show([type(part).__name__ for part in parts])}, expected "
                f"{expected}."
            )
        for part, count in zip(parts, (len(self.model.graph), self.model.context), strict=False):
            if part.ndim != 2 or part.shape[1] != count or not len(part):
                got = f"a tensor of the shape {tuple(part.shape)}"
                raise ValueError(f"batch {number} of {self.what} has {got}, expected (rows, {count}).")
        x, *context = (part.to(self._like) for part in parts)
        if not self._checked:
            check_rows(self.model, x, context[0] if context else None, f"batch {number} of {self.what}")
        return x, context[0] if context else None


def check_rows(model: DensityModel, x: Tensor, context: Tensor | None, what: str) -> None:
    """Raise at the first value or context that the model cannot take, saying where it is."""
    try:
        model.check(x, context)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error


def present(model: DensityModel, x: Tensor) -> Tensor:
    """Tell which variables (2, variables) some row has, and which it has together with all their parents."""
    there, graph = ~torch.isnan(x), model.graph
    if bool(there.all()):
        return torch.ones(2, len(graph), dtype=torch.bool)
    families = [[graph.index(name), *map(graph.index, graph.parents(name))] for name in graph.nodes]
    together = [there[:, family].all(dim=1).any() for family in families]
    return torch.stack([there.any(dim=0), torch.stack(together)]).cpu()


def check_present(model: DensityModel, found: Tensor, what: str) -> None:
    """Raise at the first variable that no row has, or that none has together with all its parents."""
    for some, with_parents in zip(found.tolist(), (False, True), strict=True):
        if not all(some):
            name = model.graph.nodes[some.index(False)]
            parents = shorten(map(show, model.graph.parents(name)))
            where = f"in a row that also has {parents}" if with_parents else "at all"
            raise ValueError(
                f"column {show(name)} of {what} has no value {where}; leave the variable out of the graph."
            )


def checksum(rows: Tensor) -> int:
    """Return a number that depends on every bit; a sum would depend on the number of threads too."""
    return zlib.crc32(rows.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)


def _take(rows: Tensor, places: Tensor) -> Tensor:
    """Return the rows (members, some, columns) at the places (members, some)."""
    if rows.ndim == 2:
        return rows.index_select(0, places.flatten()).reshape(*places.shape, rows.shape[1])
    return rows.gather(1, places.unsqueeze(2).expand(-1, -1, rows.shape[2]))
