"""Rows of Parquet files that may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Generator, Tensor

from ..data import read_table
from ..models import DensityModel
from ._sources import BATCH, LARGEST_SAMPLE, Batch, Source, check_present, check_rows, checksum, present

__all__ = ["Parquet"]

POOL = 2**18
"""Rows that are shuffled together."""


class Parquet(Source):
    """The rows of Parquet files, streamed by row groups; all members get the same batches.

    Row groups come in random order, and about a quarter of a million rows are shuffled together. Some rows are set
    apart for validation, and some, in memory, to take centre and spread from.

    Args:
        paths: The files.
        model: A model that the rows are for.
        context: The columns of the context.
        share: Share of the rows that are set apart for validation, at most 200,000 of them.
        seed: Seed of the choice of rows.
        batch: Rows of a batch.
        what: How errors call the files.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        model: DensityModel,
        context: Sequence[str],
        share: float,
        seed: int,
        batch: int | None,
        what: str,
    ) -> None:
        self.model, self.seed, self.what = model, seed, what
        self._files = [_open(path) for path in paths]
        self._paths = list(paths)
        self._names = [*model.graph.nodes, *context]
        self._groups = [
            (number, group) for number, file in enumerate(self._files) for group in range(file.metadata.num_row_groups)
        ]
        total: int = sum(file.metadata.num_rows for file in self._files)
        if not total:
            raise ValueError(f"{what} has no rows.")
        self._share = min(share, LARGEST_SAMPLE / total)
        self.apart, self._sampled = self._first_pass(total)
        self.rows = total - len(self.apart)
        if not self.rows or (share > 0 and not len(self.apart)):
            raise ValueError(
                f"validation={share:g} sets {len(self.apart)} of {total:,} rows apart, expected at least one for "
                f"validation and one for training."
            )
        self.batch = min(batch or BATCH, self.rows)

    @property
    def steps(self) -> int:
        """Batches in one epoch."""
        return -(-self.rows // self.batch)

    def batches(self, generators: Sequence[Generator] | None) -> Iterator[Batch]:
        """Stream the rows that train, pool by pool."""
        generator = None if generators is None else generators[0]
        order = range(len(self._groups)) if generator is None else self._mix(len(self._groups), generator).tolist()
        pool: list[Tensor] = []
        for place, number in enumerate(order):
            rows = self._read(number)
            pool.append(rows[torch.from_numpy(~self._set_apart(number, len(rows)))])
            last = place == len(order) - 1
            if sum(map(len, pool)) < max(POOL, self.batch) and not last:
                continue
            mixed = torch.cat(pool)
            if generator is not None:
                mixed = mixed[self._mix(len(mixed), generator)]
            whole = len(mixed) if last else len(mixed) // self.batch * self.batch
            pool = [mixed[whole:]]
            if whole:
                yield from map(self.pair, torch.split(mixed[:whole], self.batch))

    def sample(self, member: int) -> Tensor:
        """Return training rows that were held in memory."""
        return self._sampled[:, : len(self.model.graph)].to(next(self.model.parameters()))

    def pair(self, rows: Tensor) -> Batch:
        """Split rows into values and context, on the device of the model."""
        rows = rows.to(next(self.model.parameters())).unsqueeze(0)
        columns = len(self.model.graph)
        return rows[..., :columns], rows[..., columns:] if self.model.context else None

    def fingerprint(self) -> list[int]:
        """Return the number of rows and the checksum of those in memory."""
        return [self.rows, checksum(self._sampled)]

    def _first_pass(self, total: int) -> tuple[Tensor, Tensor]:
        """Check every row; return those set apart and a sample of the others."""
        held, sampled, found = [], [], torch.zeros(2, len(self.model.graph), dtype=torch.bool)
        for number, (file, group) in enumerate(self._groups):
            rows = self._read(number)
            x, context = self.pair(rows)
            where = f"row group {group} of {str(self._paths[file])!r}"
            check_rows(self.model, x[0], None if context is None else context[0], where)
            found |= present(self.model, x[0])
            apart = self._set_apart(number, len(rows))
            held.append(rows[torch.from_numpy(apart)])
            some = np.random.default_rng((self.seed, number, 1)).random(len(rows)) < LARGEST_SAMPLE / total
            sampled.append(rows[torch.from_numpy(~apart & some)])
        check_present(self.model, found, self.what)
        return torch.cat(held), torch.cat(sampled)

    def _set_apart(self, number: int, rows: int) -> np.ndarray:
        drawn: np.ndarray = np.random.default_rng((self.seed, number)).random(rows) < self._share
        return drawn

    def _read(self, number: int) -> Tensor:
        place, group = self._groups[number]
        file, what = self._files[place], f"row group {group} of {str(self._paths[place])!r}"
        wanted = {*self._names, *map(str, self._names)}  # files know columns by strings alone
        columns = [name for name in file.schema_arrow.names if name in wanted]
        # Booleans that may be missing would become objects.
        kinds = {pa.bool_(): pd.BooleanDtype()}
        try:
            rows = file.read_row_group(group, columns=columns).to_pandas(types_mapper=kinds.get)
        except (OSError, pa.ArrowException) as error:
            raise ValueError(f"{what} cannot be read: {str(error).splitlines()[0]}") from error
        return read_table(rows, self._names, next(self.model.parameters()).dtype, what=what)

    @staticmethod
    def _mix(count: int, generator: Generator) -> Tensor:
        return torch.randperm(count, generator=generator)


def _open(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except FileNotFoundError as error:
        raise ValueError(f"there is no file {str(path)!r}.") from error
    except (OSError, ValueError) as error:
        raise ValueError(f"{str(path)!r} is no Parquet file: {str(error).splitlines()[0]}") from error
