"""Greedy is the paper's Algorithm 1, taken literally, wherever that loses nothing; elsewhere it raises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import weft

SEEDED = settings(derandomize=True, database=None, deadline=None, max_examples=400)


def algorithm_1(A, h):
    """Factorize one layer, line by line as in the paper: the masks M^V (outputs, h) and M^W (h, inputs)."""
    nonzero_rows = [row for row in A if row.any()]
    MW = np.array([nonzero_rows[k % len(nonzero_rows)] for k in range(h)])
    MV = np.ones((len(A), h), dtype=bool)
    for i in range(len(A)):
        C = [j for j in range(A.shape[1]) if not A[i, j]]
        T = MW[:, C]
        R = [r for r in range(h) if T[r].any()]
        for r in R:
            MV[i, r] = False
    return MV, MW


def layer_by_layer(A, widths):
    """Factorize A, then what is left of it above each layer; nothing where a layer has no row left to copy."""
    masks, left = [], np.array(A, dtype=bool)
    for h in widths:
        if not left.any():
            return None
        left, below = algorithm_1(left, h)
        masks.append(below)
    return [*masks, left]


def carries_everything(A, masks):
    product = masks[0].astype(object)
    for mask in masks[1:]:
        product = mask.astype(object) @ product
    return np.array_equal(product > 0, A)


def matrices(shape):
    """Draw matrices whose rows repeat, are empty and contain one another more often than chance would have it."""
    rows, columns = shape
    pool = arrays(bool, (rows, columns), elements=st.booleans(), fill=st.nothing())
    picks = st.lists(st.integers(-1, rows - 1), min_size=rows, max_size=rows)  # -1 picks an empty row
    return st.tuples(pool, picks).map(lambda drawn: np.vstack([drawn[0], np.zeros((1, columns), bool)])[drawn[1]])


STRUCTURES = st.tuples(st.integers(1, 7), st.integers(1, 7)).flatmap(matrices)
WIDTHS = st.lists(st.integers(1, 10), min_size=1, max_size=4)


def greedy_is_literal(A, widths):
    expected = layer_by_layer(A, widths)
    if expected is None and not A.any():
        assert not any(mask.any() for mask in weft.factorize(A, widths).masks)
    elif expected is None or not carries_everything(A, expected):
        with pytest.raises(weft.FactorizationError, match="cannot carry the edge"):
            weft.factorize(A, widths)
    else:
        masks = weft.factorize(A, widths, method="greedy").masks
        assert len(masks) == len(expected)
        for mask, literal in zip(masks, expected, strict=True):
            np.testing.assert_array_equal(mask, literal)


@SEEDED
@given(STRUCTURES, WIDTHS)
def test_equals_the_literal_algorithm_or_raises(A, widths):
    greedy_is_literal(A, widths)


def test_the_drawn_cases_are_of_both_kinds():
    lossless = {True: 0, False: 0}

    @SEEDED
    @given(STRUCTURES, WIDTHS)
    def count(A, widths):
        if A.any():
            masks = layer_by_layer(A, widths)
            lossless[masks is not None and carries_everything(A, masks)] += 1

    count()
    assert min(lossless.values()) > 50


@pytest.mark.parametrize("widths", [(30,), (80, 61), (40, 90, 50)], ids=str)
@pytest.mark.parametrize(
    "graph",
    [
        weft.graph.chain(40),
        weft.graph.star(40),
        weft.graph.full(25),
        weft.graph.every_other(30),
        weft.graph.neighbourhood(6, 6, radius=1),
        weft.graph.random_sparse(30, threshold=0.7, seed=1),
        weft.graph.random_dag(60, parents=3.0, seed=2),
        weft.graph.random_dag(60, parents=3.0, hubs=1.5, seed=3),
    ],
    ids=repr,
)
def test_equals_the_literal_algorithm_on_graphs(graph, widths):
    greedy_is_literal(graph.adjacency(), widths)


# What the package that the authors published, strnn 0.2.0, gives for a structure with repeated and empty rows.
PUBLISHED_STRUCTURE = ["00000", "10000", "10000", "00000", "11010", "01000"]
PUBLISHED_MASKS = {
    (7,): [
        ["10000", "10000", "11010", "01000", "10000", "10000", "11010"],
        ["0000000", "1100110", "1100110", "0000000", "1111111", "0001000"],
    ],
    (7, 4): [
        ["10000", "10000", "11010", "01000", "10000", "10000", "11010"],
        ["1100110", "1100110", "1111111", "0001000"],
        ["0000", "1100", "1100", "0000", "1111", "0001"],
    ],
}


def bits(rows):
    return np.array([[int(bit) for bit in row] for row in rows])


@pytest.mark.parametrize("widths", PUBLISHED_MASKS, ids=str)
def test_equals_masks_recorded_from_the_published_package(widths):
    masks = weft.factorize(bits(PUBLISHED_STRUCTURE), widths).masks
    for mask, published in zip(masks, PUBLISHED_MASKS[widths], strict=True):
        np.testing.assert_array_equal(mask, bits(published))


@pytest.mark.parametrize("seed", range(10))
def test_equals_the_published_package_where_it_is_installed(seed):
    strnn = pytest.importorskip("strnn.factorizers", exc_type=ImportError)
    graph = weft.graph.random_sparse(20, threshold=seed / 10, seed=seed)
    widths = (25, 40, 30)
    masks = strnn.GreedyFactorizer(graph.adjacency().astype(int)).factorize(widths)
    for mask, published in zip(weft.factorize(graph, widths).masks, masks, strict=True):
        np.testing.assert_array_equal(mask, published.T)


def test_copies_rows_in_order_and_keeps_every_allowed_connection():
    A = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0]])
    first, second = weft.factorize(A, (5,)).masks
    assert first.astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 0, 0]]
    assert second.astype(int).tolist() == [[0, 0, 0, 0, 0], [1, 0, 1, 0, 1], [1, 1, 1, 1, 1]]


@pytest.mark.parametrize(
    ("graph", "widths", "mask"),
    [(weft.graph.star(20_000), (20_000, 20_000), 2), (weft.graph.full(600), (10**6,), 1)],
    ids=["hub", "dense"],
)
def test_refuses_quadratic_masks_and_names_the_way_out(graph, widths, mask):
    with pytest.raises(weft.FactorizationError, match=rf"mask {mask} .*[\d,]+ weights .*the method 'grouped'"):
        weft.factorize(graph, widths)
