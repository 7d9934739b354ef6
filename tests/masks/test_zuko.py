"""The masks of method zuko are those that the installed zuko builds, wherever that loses nothing."""

import numpy as np
import pytest
import torch
import zuko
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import weft

# Structures are drawn here, those that are strictly upper triangular too.
pytestmark = pytest.mark.filterwarnings("ignore:the matrix is strictly upper triangular")

SEEDED = settings(derandomize=True, database=None, deadline=None, max_examples=200)
STRUCTURES = st.tuples(st.integers(1, 6), st.integers(1, 5)).flatmap(lambda shape: arrays(bool, shape))
WIDTHS = st.lists(st.integers(1, 9), min_size=1, max_size=3)


def masks_of(net):
    return [layer.mask.numpy() for layer in net if isinstance(layer, zuko.nn.MaskedLinear)]


def carries_everything(A, masks):
    product = masks[0].astype(object)
    for mask in masks[1:]:
        product = mask.astype(object) @ product
    return np.array_equal(product > 0, A)


def zuko_is_zuko(A, widths):
    expected = masks_of(zuko.nn.MaskedMLP(torch.from_numpy(A), widths))
    if carries_everything(A, expected):
        masks = weft.factorize(A, widths, method="zuko").masks
        assert len(masks) == len(expected)
        for mask, theirs in zip(masks, expected, strict=True):
            np.testing.assert_array_equal(mask, theirs)
    else:
        with pytest.raises(weft.FactorizationError, match="cannot carry the edge"):
            weft.factorize(A, widths, method="zuko")


@SEEDED
@given(STRUCTURES.filter(np.any), WIDTHS)
def test_equals_masked_mlp_or_raises(A, widths):
    zuko_is_zuko(A, widths)


@pytest.mark.parametrize("widths", [(64, 64), (70,), (40, 90, 50)], ids=str)
@pytest.mark.parametrize(
    "graph",
    [
        weft.graph.chain(30),
        weft.graph.star(30),
        weft.graph.full(30),
        weft.graph.every_other(30),
        weft.graph.neighbourhood(5, 6, radius=1),
        weft.graph.random_dag(50, parents=3.0, hubs=1.0, seed=2),
    ],
    ids=repr,
)
def test_equals_masked_mlp_on_graphs(graph, widths):
    zuko_is_zuko(graph.adjacency(), widths)


def test_counts_repeated_rows_once():
    # The paper's star: the last output reads the second input, the others the first; both get half of the units.
    A = np.zeros((10, 10), dtype=bool)
    A[1:9, 0] = A[9, 1] = True
    first = weft.factorize(A, (10,), method="zuko").masks[0]
    assert first.sum(axis=0).tolist() == [5, 5, *[0] * 8]
