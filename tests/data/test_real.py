"""The published files themselves, where a folder of data is named: what is known of them holds."""

import csv
import gzip
import json

import numpy as np
import pytest
import torch

import weft
from weft.data import binarized_mnist, mnist, published_binary, sachs
from weft.graph import every_other

pytestmark = pytest.mark.usefixtures("real_home")


def independent_nll(train, test):
    """The NLL of independent Bernoulli variables with the frequencies of the training rows, in nats per row."""
    on = train.double().mean(dim=0).clamp(1e-6, 1 - 1e-6)
    return -(test.double() @ on.log() + (1 - test.double()) @ (1 - on).log()).mean().item()


@pytest.mark.parametrize(("name", "edges", "nll"), [("every_other", 56, 9.753), ("random_sparse", 47, 8.777)])
def test_the_published_sets(name, edges, nll):
    parts = published_binary(name)
    assert [tuple(part.shape) for part in (parts.train, parts.validation, parts.test)] == [
        (1600, 15),
        (400, 15),
        (500, 15),
    ]
    assert parts.train.unique().tolist() == [0, 1]
    assert parts.graph.edges_count == edges
    assert independent_nll(parts.train, parts.test) == pytest.approx(nll, abs=0.001)


def test_the_published_graph_is_that_of_the_rule():
    assert published_binary("every_other").graph == every_other(15)


@pytest.mark.parametrize(("name", "nll"), [("every_other", 8.329), ("random_sparse", 7.759)])
def test_the_published_rows_follow_the_published_graph(name, nll):
    # A logistic regression of each variable on its parents, without intercepts as the rows were drawn.
    parts = published_binary(name)
    rows, test = (part.double() for part in (torch.cat([parts.train, parts.validation]), parts.test))
    weights = torch.zeros(15, 15, dtype=torch.float64)
    for i, name_i in enumerate(parts.graph.nodes):
        parents = [parts.graph.index(parent) for parent in parts.graph.parents(name_i)]
        x, w = rows[:, parents], torch.zeros(len(parents), dtype=torch.float64)
        for _ in range(25):
            on = torch.sigmoid(x @ w)
            hessian = (x.T * (on * (1 - on))) @ x + 1e-6 * torch.eye(len(parents), dtype=torch.float64)
            w = w + torch.linalg.solve(hessian, x.T @ (rows[:, i] - on)) if parents else w
        weights[i, parents] = w
    fitted = weft.data.BinaryNetwork(parts.graph, weights)
    assert -fitted.log_prob(test).mean().item() == pytest.approx(nll, abs=0.02)


def test_binarized_mnist_has_its_known_nll():
    parts = binarized_mnist()
    assert [len(part) for part in (parts.train, parts.validation, parts.test)] == [50_000, 10_000, 10_000]
    assert independent_nll(parts.train, parts.test) == pytest.approx(205.79, abs=0.01)


def test_mnist_has_its_known_sizes():
    parts = mnist()
    assert [len(part) for part in (parts.train, parts.validation, parts.test)] == [59_500, 500, 10_000]
    assert parts.train.unique().tolist() == [0, 1]
    parts = mnist(labels=(0, 2), binarize=None)
    assert [len(part) for part in (parts.train, parts.validation, parts.test)] == [5923 + 5958 - 500, 500, 980 + 1032]
    mean = torch.cat([parts.train, parts.validation]).double().mean().item()
    assert 0.1 < mean < 0.2
    assert parts.train.max() == 1


def test_a_stochastic_binarization_is_of_the_brightness():
    grey, drawn = (mnist(labels=1, binarize=how) for how in (None, "stochastic"))
    off = (drawn.train.double() - grey.train.double()).sum(dim=0)
    error = (grey.train.double() * (1 - grey.train.double())).sum(dim=0).sqrt()
    assert bool((off.abs() <= 5 * error + 1e-3).all())  # 784 pixels, of which each fails once in two million draws
    assert bool((drawn.train[grey.train == 0] == 0).all())


def test_sachs_has_the_columns_of_the_local_files(real_home):
    found = sachs(interventions=True).table
    with (real_home / "sachs" / "sachs_cond1to9_7466.csv").open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    assert list(found.columns) == names
    assert np.array_equal(found.iloc[:, :11].to_numpy(), np.array([row[:11] for row in rows], dtype=float))
    assert [list(map(str, row)) for row in found.iloc[:, 11:].to_numpy().tolist()] == [row[11:] for row in rows]
    observed = np.loadtxt(real_home / "sachs" / "sachs_observational_853.csv", delimiter=",", skiprows=1)
    assert np.array_equal(sachs().table.to_numpy(), observed)
    assert sachs(log=True).table.to_numpy().min() == 0


def test_sachs_graphs_are_those_of_the_local_file(real_home):
    listed = json.loads((real_home / "sachs" / "sachs_graph_variants.json").read_text(encoding="utf-8"))["edges"]
    for name in ("bnlearn17", "gnf20", "cmu20"):
        assert set(sachs(name).graph.edges) == {tuple(edge) for edge in listed[name]}
    assert {tuple(edge) for edge in listed["grandag17"]} == set(sachs().graph.edges)


def test_a_file_of_other_contents_is_refused(real_home, home):
    name = "t10k-labels-idx1-ubyte.gz"
    (home / "mnist").mkdir()
    for file in (real_home / "mnist").iterdir():
        (home / "mnist" / file.name).symlink_to(file)
    content = bytearray(gzip.decompress((home / "mnist" / name).read_bytes()))
    content[-1] ^= 1
    (home / "mnist" / name).unlink()
    (home / "mnist" / name).write_bytes(gzip.compress(bytes(content)))
    with pytest.raises(ValueError, match=f"{name} holds something else than .*: the sha256 of its contents is"):
        mnist()
