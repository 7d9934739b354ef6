"""Tables, data sets with checksums, and models that generate data."""

from __future__ import annotations

from ._binary import BinaryNetwork
from ._gaussian import LinearGaussian
from ._mnist import binarized_mnist, mnist
from ._published import published_binary
from ._sachs import Sachs, sachs
from ._splits import Splits, split
from ._table import read_table

__all__ = [
    "BinaryNetwork",
    "LinearGaussian",
    "Sachs",
    "Splits",
    "binarized_mnist",
    "mnist",
    "published_binary",
    "read_table",
    "sachs",
    "split",
]
