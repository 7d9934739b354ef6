"""The data sets on small made-up files: what each loader makes of what it reads."""

import dataclasses

import numpy as np
import pytest
import torch

from weft import GraphError
from weft.data import _mnist, _published, _sachs, binarized_mnist, mnist, published_binary, sachs
from weft.data._source import digest

from .test_source import idx, npz

PROTEINS = ["Raf", "Mek", "Plcg", "PIP2", "PIP3", "Erk", "Akt", "PKA", "PKC", "P38", "Jnk"]


def put(folder, name, data):
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)


@pytest.fixture
def digits(home, monkeypatch):
    """A small MNIST: image k of a file has its place in the first pixels, and grey everywhere else."""
    generator = np.random.default_rng(0)
    arrays = {}
    for part, count in (("train", 300), ("t10k", 60)):
        images = np.full((count, 28, 28), 128, dtype=np.uint8)
        images[:, 0, :9] = (
            255 * np.unpackbits(np.arange(count, dtype=">u2").view(np.uint8).reshape(-1, 2), axis=1)[:, -9:]
        )
        images[:, 1, :4] = [0, 127, 128, 255]
        arrays[f"{part}-images-idx3-ubyte.gz"] = images
        arrays[f"{part}-labels-idx1-ubyte.gz"] = generator.integers(10, size=count, dtype=np.uint8)
    for name, array in arrays.items():
        put(home / "mnist", name, idx(array))
        small = dataclasses.replace(_mnist._SOURCES[name], sha256=digest(array))
        monkeypatch.setitem(_mnist._SOURCES, name, small)
    return arrays


def places(rows):
    """Which images of the file the rows are."""
    return (rows[:, :9].round() @ 2.0 ** torch.arange(8, -1, -1)).int().tolist()


def of_labels(digits, part, labels):
    return np.flatnonzero(np.isin(digits[f"{part}-labels-idx1-ubyte.gz"], labels)).tolist()


def test_mnist_holds_validation_rows_out_of_the_training_file(digits):
    parts = mnist(validation=50)
    assert repr(parts) == "Splits(250 rows to train, 50 to validate, 60 to test, 784 columns)"
    train, validation = places(parts.train), places(parts.validation)
    assert sorted(train + validation) == list(range(300))
    assert train != sorted(train)
    assert places(parts.test) == list(range(60))
    assert parts.graph is None
    assert parts.train.dtype == torch.float32
    assert parts.train.is_contiguous()


def test_mnist_seeds(digits):
    first, again, other = (mnist(binarize="stochastic", validation=50, seed=seed) for seed in (0, 0, 1))
    for part in ("train", "validation", "test"):
        assert torch.equal(getattr(first, part), getattr(again, part))
        assert not torch.equal(getattr(first, part), getattr(other, part))
    assert places(first.validation) == places(mnist(binarize=None, validation=50).validation)


@pytest.mark.parametrize("labels", [3, (0, 2), [2, 0, 0], np.array([0, 2]), {7}, np.int64(4), range(10)], ids=str)
def test_mnist_labels(digits, labels):
    wanted = [labels] if isinstance(labels, int | np.integer) else list(labels)
    parts = mnist(labels, validation=5)
    assert sorted(places(parts.train) + places(parts.validation)) == of_labels(digits, "train", wanted)
    assert places(parts.test) == of_labels(digits, "t10k", wanted)


def test_mnist_threshold(digits):
    assert mnist(validation=50).train[0, 28:34].tolist() == [0, 0, 1, 1, 1, 1]


def test_mnist_brightness(digits):
    expected = torch.tensor([0, 127 / 255, 128 / 255, 1])
    torch.testing.assert_close(mnist(binarize=None, validation=50).train[0, 28:32], expected, rtol=1e-7, atol=0)


def test_mnist_stochastic(digits):
    # 250 rows of 743 pixels with brightness 128 / 255: the share of ones within 4.5 standard errors of it.
    train = mnist(binarize="stochastic", validation=50).train
    assert train.unique().tolist() == [0, 1]
    assert train[:, [28, 31]].unique(dim=0).tolist() == [[0, 1]]  # black and white stay
    grey = train[:, 32:]
    assert abs(grey.mean().item() - 128 / 255) < 4.5 * 0.5 / grey.numel() ** 0.5
    assert len(grey.unique(dim=0)) == 250


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": 10}, "labels is 10, expected whole numbers from 0 to 9, or None for all"),
        ({"labels": (0, -1)}, r"labels is \(0, -1\), expected"),
        ({"labels": "02"}, "labels is '02', expected"),
        ({"labels": 1.0}, r"labels is 1\.0, expected"),
        ({"labels": True}, "labels is True, expected"),
        ({"labels": []}, "labels is empty, expected"),
        ({"binarize": "treshold"}, r"binarize is 'treshold', expected .* \(did you mean 'threshold'\?\)"),
        ({"validation": 300}, "validation is 300, expected less than the 300 rows of the training file"),
        ({"labels": 3, "validation": 100}, "validation is 100, expected less than the .* that have the labels 3"),
        ({"validation": 0.2}, r"validation is 0\.2, expected a whole number"),
        ({"seed": -1}, "seed is -1, expected a whole number"),
    ],
    ids=str,
)
def test_mnist_arguments(digits, arguments, message):
    with pytest.raises(ValueError, match=message):
        mnist(**arguments)


@pytest.mark.parametrize("container", ["npz", "amat"])
def test_binarized_mnist(home, monkeypatch, container):
    generator = np.random.default_rng(1)
    arrays = {
        part: generator.integers(2, size=(n, 784), dtype=np.uint8) for part, n in zip(_PARTS, (6, 3, 4), strict=True)
    }
    for part, array in arrays.items():
        text = "\n".join(" ".join(map(str, row)) for row in array)
        if container == "amat":
            put(home / "binarized_mnist", f"binarized_mnist_{part}.amat", text.encode())
    if container == "npz":
        put(home / "binarized_mnist", "binarized_mnist.npz", npz(**arrays))
    small = [dataclasses.replace(s, sha256=digest(arrays[p])) for s, p in zip(_mnist._BINARIZED, _PARTS, strict=True)]
    monkeypatch.setattr(_mnist, "_BINARIZED", small)
    found = binarized_mnist()
    for rows, array in zip((found.train, found.validation, found.test), arrays.values(), strict=True):
        assert rows.dtype == torch.float32
        assert np.array_equal(rows.numpy(), array)


_PARTS = ("train", "valid", "test")


def test_published_binary(home, monkeypatch):
    rows = {f"{part}_data": np.eye(3)[: 3 - k] for k, part in enumerate(_PARTS)}
    edges = {"arr_0": np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])}
    for file, arrays in {"binary_every_other_d15_n2000.npz": rows, "every_other_d15_adj.npz": edges}.items():
        put(home / "strnn_synthetic", file, npz(**arrays))
        monkeypatch.setitem(_published._FILES, file, ("0", {key: digest(array) for key, array in arrays.items()}))
    found = published_binary("every_other")
    assert repr(found).startswith("Splits(3 rows to train, 2 to validate, 1 to test, 3 columns, Graph(3 nodes, 2 edges")
    assert found.graph.edges == (("x0", "x1"), ("x1", "x2"))
    assert found.validation.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert found.train.dtype == torch.float32


def test_published_binary_names():
    with pytest.raises(ValueError, match=r"name is 'every-other', expected 'every_other' or 'random_sparse' \(did you"):
        published_binary("every-other")


@pytest.fixture
def cells(home, monkeypatch):
    """Made-up levels in a file of the form that is downloaded."""
    levels = np.random.default_rng(2).lognormal(3, 1, size=(7466, 11)).round(4)
    text = "\n".join(["\t".join(PROTEINS)] + ["\t".join(map(repr, row)) for row in levels.tolist()])
    put(home / "sachs", "sachs.2005.continuous.txt", text.encode())
    monkeypatch.setattr(_sachs, "_SOURCE", dataclasses.replace(_sachs._SOURCE, sha256=digest(levels)))
    return levels


def test_sachs(cells):
    found = sachs()
    assert repr(found) == "Sachs(853 rows, Graph(11 nodes, 17 edges, depth 5))"
    assert list(found.table.columns) == PROTEINS == list(found.graph.nodes)
    assert np.array_equal(found.table.to_numpy(), cells[:853])
    assert np.array_equal(sachs(log=True).table.to_numpy(), np.log(cells[:853]))


def test_sachs_conditions(cells):
    found = sachs(interventions=True, log=True).table
    assert list(found.columns) == [*PROTEINS, "condition", "condition_name", "target", "kind"]
    assert np.array_equal(found[PROTEINS].to_numpy(), np.log(cells))
    counts = [853, 902, 911, 723, 810, 799, 848, 913, 707]
    assert found["condition"].tolist() == np.repeat(np.arange(1, 10), counts).tolist()
    targets = found.groupby("condition")["target"].unique().map(list)
    assert targets.tolist() == [["none"], ["none"], ["Akt"], ["PKC"], ["PIP2"], ["Mek"], ["Akt"], ["PKC"], ["PKA"]]


@pytest.mark.parametrize(
    ("name", "edges", "example"), [("gnf20", 20, "PIP3"), ("cmu20", 20, "PIP3"), ("bnlearn17", 17, "PKA")]
)
def test_sachs_graphs(cells, name, edges, example):
    graph = sachs(name).graph
    assert graph.edges_count == edges
    assert example in graph.parents("Akt")
    assert list(graph.nodes) == PROTEINS


def test_a_graph_with_a_cycle_is_refused():
    with pytest.raises(
        GraphError, match=r"the graph 'cdt18' has a cycle: .*PIP2 -> PIP3 -> Plcg.*Pass graph='bnlearn17'"
    ):
        sachs("cdt18")
    with pytest.raises(ValueError, match=r"graph is 'bnlearn', expected .* \(did you mean 'bnlearn17'\?\)"):
        sachs("bnlearn")


@pytest.mark.parametrize(
    "load",
    [mnist, binarized_mnist, sachs, lambda: published_binary("random_sparse")],
    ids=["mnist", "binarized_mnist", "sachs", "published_binary"],
)
def test_every_set_says_what_to_do_without_a_network(load, offline):
    with pytest.raises(
        FileNotFoundError, match=r"could not be downloaded from http.*by hand.*WEFT_DATA_HOME"
    ) as caught:
        load()
    assert str(offline) in str(caught.value)
