"""Handwritten digits: MNIST, made binary in one of two ways, and its fixed binarization."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .._arguments import check_whole, check_word
from .._errors import shorten, show
from ._source import PublishedArray, read_amat, read_idx, read_npz
from ._splits import Splits

__all__ = ["binarized_mnist", "mnist"]

_FILES = {  # sha256 of the contents, and the published md5 of the file
    "train-images-idx3-ubyte.gz": (
        "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
        "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    ),
    "train-labels-idx1-ubyte.gz": (
        "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13",
        "d53e105ee54ea40749a09fcbcd1e9432",
    ),
    "t10k-images-idx3-ubyte.gz": (
        "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
        "9fb629c4189551a2d022fa330f9573f3",
    ),
    "t10k-labels-idx1-ubyte.gz": (
        "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5",
        "ec29112dd5afa0611ce80d1b7f02629c",
    ),
}

_SOURCES = {
    file: PublishedArray(
        f"{file} of MNIST",
        "mnist",
        {file: read_idx},
        f"https://ossci-datasets.s3.amazonaws.com/mnist/{file}",
        sha,
        f"md5:{md5}",
    )
    for file, (sha, md5) in _FILES.items()
}

_BINARIZED = [
    PublishedArray(
        f"the {part} rows of the binarized MNIST",
        "binarized_mnist",
        {"binarized_mnist.npz": read_npz(part), f"binarized_mnist_{part}.amat": read_amat},
        f"http://www.cs.toronto.edu/~larocheh/public/datasets/binarized_mnist/binarized_mnist_{part}.amat",
        sha256,
    )
    for part, sha256 in (
        ("train", "43490d4d6ac9002727af4426d8748609fdb7e4094fa65ad8d681ea60082a7a5a"),
        ("valid", "069b4f0beb389b776478c3e872b4df71c95ac4be64d7cbe6d32e24ebac8e6d5e"),
        ("test", "ca0294c3b8d984c7a1dc891015a8eea6f37bae59a34e35ea0fc8c47110a8dd86"),
    )
]


def mnist(
    labels: int | Iterable[int] | None = None,
    binarize: Literal["threshold", "stochastic"] | None = "threshold",
    validation: int = 500,
    seed: int = 0,
) -> Splits:
    """Return MNIST, or the digits of some labels, with one column per pixel in raster order.

    The files of the original are looked for in the folder ``mnist`` of the one that the environment variable
    ``WEFT_DATA_HOME`` names, then in that of the cache, ``pooch.os_cache("weft")``, and else downloaded from the mirror
    that torchvision uses. The address may move: files put into one of these folders by hand do as well.

    Args:
        labels: A label, or several; all without it.
        binarize: ``"threshold"``: 1 where a pixel is above half of white. ``"stochastic"``: 1 with the probability that
            the pixel's brightness states, drawn once. None: the brightness, from 0 to 1.
        validation: Number of rows held out of the training file. What is left is in random order, so that the first n
            rows are a random choice. The test rows are the test file, in its order.
        seed: Seed of what is random.

    Examples:
        >>> from weft.data import mnist
        >>> mnist(labels=(0, 2))  # doctest: +SKIP
        Splits(11381 rows to train, 500 to validate, 2012 to test, 784 columns)

    References:
        Gradient-Based Learning Applied to Document Recognition (LeCun et al., 1998).
    """
    chosen = range(10) if labels is None else _read_labels(labels)
    if binarize is not None:
        check_word("binarize", binarize, "threshold", "stochastic", error=ValueError)
    check_whole("validation", validation, error=ValueError)
    check_whole("seed", seed, error=ValueError)
    generator = np.random.default_rng(seed)
    train, test = (_load_digits(part, chosen) for part in ("train", "t10k"))
    if validation >= len(train):
        raise ValueError(
            f"validation is {validation:,}, expected less than the {len(train):,} rows of the training file that have "
            f"the labels {shorten(chosen)}."
        )
    train = train[generator.permutation(len(train))]
    train, test = (_binarize(rows, binarize, generator) for rows in (train, test))
    return Splits(_to_tensor(train[validation:]), _to_tensor(train[:validation]), _to_tensor(test))


def binarized_mnist() -> Splits:
    """Return the fixed stochastic binarization of MNIST: 50,000, 10,000 and 10,000 rows, one column per pixel.

    It has no labels. Its test rows are sorted by digit, so that the first n are no fair sample.

    Files are looked for in the folder ``binarized_mnist`` of the one that the environment variable ``WEFT_DATA_HOME``
    names, then in that of the cache, ``pooch.os_cache("weft")``, and else downloaded from their public home. They are
    the three text files published there, or ``binarized_mnist.npz`` with the arrays ``train``, ``valid`` and ``test``.
    The address may move: files put into one of these folders by hand do as well.

    Examples:
        >>> from weft.data import binarized_mnist
        >>> binarized_mnist()  # doctest: +SKIP
        Splits(50000 rows to train, 10000 to validate, 10000 to test, 784 columns)

    References:
        The Neural Autoregressive Distribution Estimator (Larochelle & Murray, 2011), which published the files; the
        binarization is that of On the Quantitative Analysis of Deep Belief Networks (Salakhutdinov & Murray, 2008).
    """
    train, validation, test = (_to_tensor(source.load()) for source in _BINARIZED)
    return Splits(train, validation, test)


def _read_labels(labels: Any) -> list[int]:
    try:
        listed = list(labels) if isinstance(labels, Iterable) else [labels]
    except TypeError:  # a tensor or an array of one number
        listed = [labels]
    if not listed:
        raise ValueError("labels is empty, expected whole numbers from 0 to 9, or None for all.")
    try:
        return sorted({check_whole("label", label, most=9, error=ValueError) for label in listed})
    except ValueError as error:
        raise ValueError(f"labels is {show(labels)}, expected whole numbers from 0 to 9, or None for all.") from error


def _load_digits(part: str, labels: Iterable[int]) -> NDArray[np.uint8]:
    images = _SOURCES[f"{part}-images-idx3-ubyte.gz"].load()
    digits = _SOURCES[f"{part}-labels-idx1-ubyte.gz"].load()
    return images.reshape(len(images), -1)[np.isin(digits, list(labels))]


def _binarize(rows: NDArray[np.uint8], how: str | None, generator: np.random.Generator) -> NDArray[Any]:
    if how == "threshold":
        return rows > 127
    if how == "stochastic":  # 255 equally likely numbers, of which `rows` many are smaller: exactly rows / 255
        return generator.integers(255, size=rows.shape, dtype=np.uint8) < rows
    return rows / np.float32(255)


def _to_tensor(rows: NDArray[Any]) -> Tensor:
    return torch.from_numpy(rows.astype(np.float32))
