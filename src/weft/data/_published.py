"""The binary data sets that the authors of the paper published."""

from __future__ import annotations

from typing import Literal

import torch

from .._arguments import check_word
from ..graph import Graph
from ._source import PublishedArray, read_npz
from ._splits import Splits

__all__ = ["published_binary"]

_HOME = (
    "https://raw.githubusercontent.com/rgklab/StructuredNNs/79629f7b21d1775bad7db1b234853cde8f1ba8a3/"
    "experiments/binary_and_gaussian/synth_data_files"
)

_FILES = {  # sha256 of each file, and of the arrays in it
    "binary_every_other_d15_n2000.npz": (
        "47e077b9133334030e3364babf06c8bcbb90db9a5e56961e39c8e2e8b42075e9",
        {
            "train_data": "53314abda23ba91e01e969626ea22abf627577db95fb6995c62b287ea2000e85",
            "valid_data": "0917adaa77f8658c1a11e2ab7683ba4982783ef9137b0dd5b2ab40532dc36a1e",
            "test_data": "9a318f38674a15969adc5cc0c0c512c2ea778cdd66a7a281bb293dcb6c65ddb7",
        },
    ),
    "every_other_d15_adj.npz": (
        "56906c1d320e3cbd318a154047d58dbb011e0d0d7baa95d9643ef3dedc997e26",
        {"arr_0": "1f54692d960bc7e956d1ce3872e7b3808a5013f145001032cd5118ce1e0969ff"},
    ),
    "binary_random_sparse_d15_n2000.npz": (
        "945a5a14d3b8516916315befbc003d94687e94fddbf2e8abfeeb80098c68412d",
        {
            "train_data": "e9798edd13856710ed1289bb5b385799ee8f0c6ac6227e80e1724e6e57a5bba4",
            "valid_data": "93c07058b53baba7506f7a2ebd3ceadfd7040b6aee8ef39677553b91c87f44fb",
            "test_data": "92ce4c512821fc1ddb376956d319650ae76c2a9203b2d26a49fc7caaf3934446",
        },
    ),
    "random_sparse_d15_adj.npz": (
        "466116e6a7a48951b0a0801870742b6c0908a4fec41feb62ef5f44786b659970",
        {"arr_0": "a8b31707276d1a1b749d8b0b9a2c7a9f00afa96ef62d26848843097e66ad5a37"},
    ),
}


def published_binary(name: Literal["every_other", "random_sparse"]) -> Splits:
    """Return one of the paper's binary data sets of 15 variables: 1600, 400 and 500 rows, with the graph.

    The data were drawn without intercepts. Files are looked for in the folder ``strnn_synthetic`` of the one that the
    environment variable ``WEFT_DATA_HOME`` names, then in that of the cache, ``pooch.os_cache("weft")``, and else
    downloaded from the authors' repository (rgklab/StructuredNNs, MIT licence). The address may move: a file put into
    one of these folders by hand does as well.

    Args:
        name: ``"every_other"`` (56 edges) or ``"random_sparse"`` (47 edges).

    References:
        Structured Neural Networks for Density Estimation and Causal Inference (Chen et al., 2023).
        https://arxiv.org/abs/2311.02221

    Examples:
        >>> from weft.data import published_binary
        >>> published_binary("every_other").train.shape  # doctest: +SKIP
        torch.Size([1600, 15])
    """
    check_word("name", name, "every_other", "random_sparse", error=ValueError)
    rows = _sources(f"binary_{name}_d15_n2000.npz")
    [adjacency] = _sources(f"{name}_d15_adj.npz")
    train, validation, test = (torch.from_numpy(source.load()).float() for source in rows)
    return Splits(train, validation, test, Graph.from_adjacency(adjacency.load(), orientation="row_is_child"))


def _sources(file: str) -> list[PublishedArray]:
    archive, arrays = _FILES[file]
    return [
        PublishedArray(
            f"{key} of {file}", "strnn_synthetic", {file: read_npz(key)}, f"{_HOME}/{file}", sha256, f"sha256:{archive}"
        )
        for key, sha256 in arrays.items()
    ]
