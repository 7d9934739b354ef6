"""Which rows contain which, and which are equal: against a comparison of every pair."""

from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import weft
from weft.masks import _containment, containment, distinct_rows

SEEDED = settings(derandomize=True, database=None, deadline=None, max_examples=150)
MATRICES = st.tuples(st.integers(0, 9), st.integers(0, 9)).flatmap(lambda shape: arrays(bool, shape))
FORCED = {
    "chosen": {"CHUNK": _containment.CHUNK},
    "dense": {"DENSE_FLOPS": np.inf},
    "sparse": {"DENSE_FLOPS": 1e-300},
    "sparse, in many chunks": {"DENSE_FLOPS": 1e-300, "CHUNK": 3},
}


def way(name):
    return mock.patch.multiple(_containment, **FORCED[name])


def contained_by_pairs(A):
    rows = [set(np.flatnonzero(row).tolist()) for row in A]
    table = [[bool(small) and small <= big for small in rows] for big in rows]
    return np.array(table, dtype=bool).reshape(len(rows), len(rows))


@pytest.mark.parametrize("name", FORCED)
@SEEDED
@given(A=MATRICES)
def test_equals_a_comparison_of_every_pair(name, A):
    with way(name):
        np.testing.assert_array_equal(containment(sp.csr_array(A)).toarray(), contained_by_pairs(A))


@pytest.mark.parametrize("name", FORCED)
@pytest.mark.parametrize(
    "graph",
    [
        weft.graph.full(30),
        weft.graph.star(50),
        weft.graph.random_dag(150, parents=2.0, hubs=2.0, seed=1),
        weft.graph.random_sparse(40, threshold=0.3, seed=2),
    ],
    ids=repr,
)
def test_equals_a_comparison_of_every_pair_on_graphs(name, graph):
    with way(name):
        np.testing.assert_array_equal(
            containment(graph.adjacency(sparse=True)).toarray(), contained_by_pairs(graph.adjacency())
        )


def test_each_way_is_taken():
    with way("dense"), mock.patch.object(_containment, "_contained_pairs", side_effect=AssertionError):
        containment(np.eye(5))
    with (
        way("sparse"),
        mock.patch.object(_containment, "_contained_pairs", side_effect=ZeroDivisionError),
        pytest.raises(ZeroDivisionError),
    ):
        containment(np.eye(5))


def test_a_long_sparse_relation_is_never_made_dense():
    inside = containment(weft.graph.chain(50_000).adjacency(sparse=True))
    assert inside.nnz == 49_999
    assert inside.format == "csr"


@SEEDED
@given(MATRICES)
def test_distinct_rows(A):
    first, like = distinct_rows(sp.csr_array(A))
    seen = {}
    for i, row in enumerate(A):
        if row.any():
            seen.setdefault(row.tobytes(), i)
    assert first.tolist() == list(seen.values())
    place = {key: position for position, key in enumerate(seen)}
    assert like.tolist() == [place.get(row.tobytes(), -1) for row in A]


@pytest.mark.parametrize("call", [containment, distinct_rows])
def test_any_0_1_matrix_is_read(call):
    A = np.array([[1, 0, 1], [0, 0, 0], [1, 0, 0]])
    unsorted = sp.csr_array(([1, 1, 1], [2, 0, 0], [0, 2, 2, 3]), shape=(3, 3))
    expected = written_out(call(sp.csr_array(A)))
    for form in (A, A.tolist(), sp.coo_array(A), sp.csc_array(A), unsorted):
        assert written_out(call(form)) == expected


def written_out(answer):
    return [each.tolist() for each in answer] if isinstance(answer, tuple) else answer.toarray().tolist()


@pytest.mark.parametrize("call", [containment, distinct_rows])
@pytest.mark.parametrize("matrix", [[[0, 2]], [[np.nan]], [1, 0], None, "rows"], ids=str)
def test_anything_else_is_refused(call, matrix):
    with pytest.raises(weft.GraphError, match="matrix"):
        call(matrix)
