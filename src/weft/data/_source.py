"""Published arrays: looked for on this machine, else downloaded, and in any case compared with a known checksum."""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pooch
from numpy.typing import NDArray

from .._errors import show

__all__ = ["HOME", "PublishedArray", "digest", "read_amat", "read_idx", "read_npz", "read_text"]

HOME = "WEFT_DATA_HOME"
"""The environment variable that names the folder where data are looked for first."""

Reader = Callable[[Path], NDArray[Any]]

_UNREADABLE = (OSError, EOFError, ValueError, KeyError, zlib.error, zipfile.BadZipFile)


@dataclass(frozen=True)
class PublishedArray:
    """An array that somebody published, and how to be sure to have it.

    Args:
        what: What it is, for messages.
        folder: Where it lies in the folder of data and in the cache.
        readers: How to read each file that may hold it, by the name of the file.
        url: Where it is downloaded from; its last part is one of the names.
        sha256: Checksum of the array, as `digest` computes it, so that it does not matter which file held it.
        archive: Checksum of the downloaded file as pooch writes it, where it is published.
    """

    what: str
    folder: str
    readers: Mapping[str, Reader]
    url: str
    sha256: str
    archive: str | None = None

    def load(self) -> NDArray[Any]:
        """Return the array from the folder of data, else from the cache, else from its public home."""
        for folder in filter(None, (_home(), _cache())):
            for name, reader in self.readers.items():
                file = folder / self.folder / name
                if file.is_file():
                    mend = (
                        f"put the right file there, or delete it and it is looked for in other places and at {self.url}"
                    )
                    return self._read(file, reader, mend)
        return self._download()

    def _download(self) -> NDArray[Any]:
        name = self.url.rpartition("/")[2]
        folder = _cache() / self.folder
        by_hand = (
            f"get {name} by hand (its public address may have moved) and put it into {folder}, or into the folder "
            f"{self.folder!r} of one that the environment variable {HOME} names"
        )
        try:
            file = Path(pooch.retrieve(self.url, known_hash=self.archive, fname=name, path=folder))
        except (OSError, ValueError) as error:  # no network, an address that moved, a wrong file
            raise FileNotFoundError(
                f"{self.what}: no file {' or '.join(self.readers)} on this machine, and it could not be downloaded "
                f"from {self.url}; {by_hand}. The reason: {error}"
            ) from error
        try:
            return self._read(
                file, self.readers[name], f"it was downloaded from {self.url} and is deleted again; {by_hand}"
            )
        except ValueError:
            file.unlink()
            raise

    def _read(self, file: Path, reader: Reader, mend: str) -> NDArray[Any]:
        try:
            array = reader(file)
        except _UNREADABLE as error:
            raise ValueError(f"{file} cannot be read as {self.what} ({error}); {mend}.") from error
        got = digest(array)
        if got != self.sha256:
            raise ValueError(
                f"{file} holds something else than {self.what}: the sha256 of its contents is {got}, "
                f"expected {self.sha256}; {mend}."
            )
        return array


def digest(array: NDArray[Any]) -> str:
    """Return the sha256 of the bytes of an array, row after row and each number little-endian."""
    return hashlib.sha256(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()).hexdigest()


def read_idx(file: Path) -> NDArray[np.uint8]:
    """Read a gzipped IDX file of bytes, the format of MNIST."""
    data = gzip.decompress(file.read_bytes())
    if data[:3] != b"\0\0\x08" or len(data) < 4:
        raise ValueError("it does not start as an IDX file of bytes")
    start = 4 + 4 * data[3]
    shape = np.frombuffer(data[4:start], ">u4").tolist()
    if len(data) - start != math.prod(shape):
        raise ValueError(f"it has {len(data) - start} bytes of numbers, expected {shape}")
    return np.frombuffer(data, np.uint8, offset=start).reshape(shape)


def read_amat(file: Path) -> NDArray[np.uint8]:
    """Read a text of digits 0 and 1 with 784 in each line."""
    data = np.frombuffer(file.read_bytes(), np.uint8)
    digits: NDArray[np.uint8] = data[(data == ord("0")) | (data == ord("1"))] - np.uint8(ord("0"))
    return digits.reshape(-1, 784)


def read_npz(key: str) -> Reader:
    """Return a reader of one array of a NumPy archive."""

    def read(file: Path) -> NDArray[Any]:
        with file.open("rb") as stream, np.load(stream) as archive:
            array: NDArray[Any] = archive[key]
            return array

    return read


def read_text(columns: int, separator: str) -> Reader:
    """Return a reader of the first columns of a table with one line of names."""

    def read(file: Path) -> NDArray[np.float64]:
        return np.loadtxt(file, delimiter=separator, skiprows=1, usecols=range(columns))

    return read


def _home() -> Path | None:
    named = os.environ.get(HOME)
    if not named:
        return None
    if not Path(named).is_dir():
        raise ValueError(f"the environment variable {HOME} is {show(named)}, expected a folder that exists.")
    return Path(named)


def _cache() -> Path:
    return Path(pooch.os_cache("weft"))
