"""What every method promises on every structure: nothing lost, nothing invented, and a proof that can be checked."""

import pickle
from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import weft
from weft.graph import Structure
from weft.masks import FACTORIZERS, reach

# Structures are drawn here, those that are strictly upper triangular too.
pytestmark = pytest.mark.filterwarnings("ignore:the matrix is strictly upper triangular")

SEEDED = settings(derandomize=True, database=None, deadline=None, max_examples=60)


def grid(height, width):
    edges = [((i, j), (i + 1, j)) for i in range(height - 1) for j in range(width)]
    edges += [((i, j), (i, j + 1)) for i in range(height) for j in range(width - 1)]
    return weft.Graph.from_edges(edges)


def sink(d):
    return weft.Graph.from_parents({d - 1: list(range(d - 1))})


def permuted_full(d):
    order = np.random.default_rng(d).permutation(d)
    return (order[:, None] > order).astype(int)


FULL = {
    "full": weft.graph.full(7),
    "full, permuted": permuted_full(6),
    "two nodes": weft.graph.full(2),
    "one node": weft.graph.full(1),
    "nothing": np.zeros((0, 0)),
}
OTHERS = {
    "chain": weft.graph.chain(9),
    "star": weft.graph.star(9),
    "sink": sink(9),
    "grid": grid(3, 4),
    "neighbourhood": weft.graph.neighbourhood(3, 4, radius=1),
    "every other": weft.graph.every_other(9),
    "random": weft.graph.random_dag(14, parents=2.0, seed=1),
    "hubs": weft.graph.random_dag(14, parents=3.0, hubs=1.5, seed=2),
    "dense random": weft.graph.random_sparse(9, threshold=0.3, seed=3),
    "backwards": weft.Graph.from_edges(
        [(f"x{i}", f"x{i - 1}") for i in range(6, 0, -1)] + [("x5", "x1")], nodes=[f"x{i}" for i in range(7)]
    ),
    "no edges": np.zeros((4, 4)),
    "no inputs": np.zeros((3, 0)),
    "no outputs": np.zeros((0, 3)),
    "itself": np.eye(4),
    "wide": np.random.default_rng(4).random((3, 8)) < 0.4,
    "tall": np.random.default_rng(5).random((9, 3)) < 0.5,
    "cycle": np.roll(np.eye(5), 1, axis=0),
    "dense cycle": 1 - np.eye(4),
    "all ones": np.ones((4, 3)),
    "duplicate rows": np.array([[1, 0, 1], [0, 0, 0], [1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 1], [1, 1, 1]]),
    "one row among many": np.eye(12, dtype=int)[[0] * 11 + [1]],
}
FULL_ONLY = {"made", "made-random"}
CASES = [
    pytest.param(structure, method, id=f"{method}, {name}")
    for method in FACTORIZERS
    for name, structure in (FULL if method in FULL_ONLY else FULL | OTHERS).items()
]
LOSSLESS = [case for case in CASES if not FACTORIZERS[case.values[1]].may_lose]


def matrix_of(structure):
    return Structure.of(structure).matrix.toarray()


def reached_by_walking(masks, inputs):
    """Follow every kept weight, unit by unit: which output sees which input."""
    seen = [{j} for j in range(inputs)]
    for mask in masks:
        seen = [set().union(*(seen[k] for k in np.flatnonzero(row))) for row in mask]
    table = np.zeros((len(seen), inputs), dtype=bool)
    for i, found in enumerate(seen):
        table[i, sorted(found)] = True
    return table


def integer_product(masks):
    counts = masks[0].astype(object)
    for mask in masks[1:]:
        counts = mask.astype(object) @ counts
    return counts


def least_of(structure, method):
    return FACTORIZERS[method]().least_width(Structure.of(structure))


def widths_to_try(structure, method):
    least = least_of(structure, method)
    return [(), "auto", (least,), (least + 5,), (least, least), (least + 4, least, least + 1), (least,) * 4]


@pytest.mark.parametrize(("structure", "method"), CASES)
def test_nothing_lost_and_nothing_invented(structure, method):
    A = matrix_of(structure)
    for widths in widths_to_try(structure, method):
        f = weft.factorize(structure, widths, method=method)
        sizes = (A.shape[1], *f.widths, A.shape[0])
        assert [mask.shape for mask in f.masks] == list(zip(sizes[1:], sizes[:-1], strict=True))
        found = reached_by_walking(f.masks, A.shape[1])
        np.testing.assert_array_equal(f.reach.toarray(), found)
        assert not (found & ~A).any()
        names = f.structure
        assert set(f.lost) == {(names.inputs[j], names.outputs[i]) for i, j in np.argwhere(A & ~found)}
        if not FACTORIZERS[method].may_lose:
            np.testing.assert_array_equal(found, A)


@SEEDED
@given(st.data())
@pytest.mark.parametrize("method", [method for method in FACTORIZERS if method not in FULL_ONLY])
def test_nothing_lost_and_nothing_invented_on_drawn_structures(method, data):
    A = data.draw(arrays(bool, data.draw(st.tuples(st.integers(0, 6), st.integers(0, 6)))))
    least = least_of(A, method)
    widths = data.draw(st.lists(st.integers(least, least + 6), max_size=3))
    f = weft.factorize(A, widths, method=method)
    np.testing.assert_array_equal(reached_by_walking(f.masks, A.shape[1]), A)
    assert f.lost == ()


@pytest.mark.parametrize(("structure", "method"), CASES)
def test_masks_are_boolean_csr_with_sorted_indices(structure, method):
    for widths in widths_to_try(structure, method):
        f = weft.factorize(structure, widths, method=method)
        assert isinstance(f.masks, tuple)
        for mask, dense in zip(f.masks_sparse, f.masks, strict=True):
            assert isinstance(mask, sp.csr_array)
            assert mask.dtype == dense.dtype == bool
            assert mask.data.all()
            fresh = sp.csr_array((mask.data, mask.indices, mask.indptr), shape=mask.shape)  # flags are not believed
            assert fresh.has_sorted_indices
            assert fresh.has_canonical_format
            np.testing.assert_array_equal(mask.toarray(), dense)
        assert f.weights == sum(int(mask.sum()) for mask in f.masks)


@pytest.mark.parametrize(("structure", "method"), CASES)
def test_path_counts_agree(structure, method):
    for widths in widths_to_try(structure, method):
        f = weft.factorize(structure, widths, method=method)
        counts = integer_product(f.masks)
        assert f.paths.dtype.kind == "i"
        np.testing.assert_array_equal(f.paths, counts)
        np.testing.assert_array_equal(f.paths_sparse.toarray(), counts)
        assert f.total_paths == counts.sum()
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(f.log_paths, np.log(counts.astype(float)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("structure", "method"), CASES)
def test_objective_bound_and_optimality_are_told_per_layer(structure, method):
    for widths in widths_to_try(structure, method):
        f = weft.factorize(structure, widths, method=method)
        assert len(f.objective) == len(f.bound) == len(f.optimal) == len(f.widths)
        for reached, bound, optimal in zip(f.objective, f.bound, f.optimal, strict=True):
            assert reached <= bound
            assert optimal is (reached == bound)


@pytest.mark.parametrize(("structure", "method"), CASES)
def test_the_objective_of_a_layer_is_the_papers_sum(structure, method):
    # Connections from the layer's inputs through a unit to the outputs that the unit reaches.
    for widths in widths_to_try(structure, method):
        f = weft.factorize(structure, widths, method=method)
        for layer, reached in enumerate(f.objective):
            above = reached_by_walking(f.masks[layer + 1 :], f.widths[layer])
            assert reached == (above.astype(int) @ f.masks[layer].astype(int)).sum()


@pytest.mark.parametrize(("structure", "method"), LOSSLESS)
def test_the_least_width_succeeds_and_no_smaller_does(structure, method):
    A = matrix_of(structure)
    least = least_of(structure, method)
    factorizer = FACTORIZERS[method]()
    for layers, width in product((1, 2, 3), range(1, least + 3)):
        widths = (width,) * layers
        masks = [mask.toarray() for mask in factorizer.solve(Structure.of(structure), widths).masks]
        missed = A & ~reached_by_walking(masks, A.shape[1])
        assert missed.any() == (width < least)
        if width < least:
            with pytest.raises(weft.FactorizationError, match=f"at least {least} units? in every layer") as caught:
                weft.factorize(structure, widths, method=method)
            lost = [Structure.of(structure).edge(i, j) for i, j in np.argwhere(missed)]
            assert any(f"cannot carry the edge {edge}" in str(caught.value) for edge in lost)
            assert f"such as ({least}," in str(caught.value)


@pytest.mark.parametrize(("structure", "method"), LOSSLESS)
def test_a_single_narrow_layer_is_refused_among_wide_ones(structure, method):
    least = least_of(structure, method)
    if least > 1:
        for place in range(3):
            widths = [least + 3] * 3
            widths[place] = 1
            with pytest.raises(weft.FactorizationError, match=f"at least {least} unit"):
                weft.factorize(structure, widths, method=method)


@pytest.mark.parametrize(("structure", "method"), CASES)
def test_the_same_masks_every_time(structure, method):
    first, again = (weft.factorize(structure, (20, 20), method=method) for _ in range(2))
    for mask, other in zip(first.masks, again.masks, strict=True):
        np.testing.assert_array_equal(mask, other)


@pytest.mark.parametrize(("structure", "method"), CASES)
def test_the_order_of_the_nodes_does_not_matter_to_the_guarantee(structure, method):
    A = matrix_of(structure)
    generator = np.random.default_rng(0)
    rows = generator.permutation(A.shape[0])
    columns = rows if A.shape[0] == A.shape[1] else generator.permutation(A.shape[1])
    shuffled = A[np.ix_(rows, columns)]
    f = weft.factorize(shuffled, "auto", method=method)
    assert not (f.reach.toarray() & ~shuffled).any()
    assert FACTORIZERS[method].may_lose or f.lost == ()


@pytest.mark.parametrize("method", FACTORIZERS)
def test_survives_pickling(method):
    f = weft.factorize(weft.graph.full(5), (8, 8), method=method)
    copy = pickle.loads(pickle.dumps(f))
    assert repr(copy) == repr(f)
    assert copy.structure.same_as(f.structure)
    for mask, other in zip(copy.masks, f.masks, strict=True):
        np.testing.assert_array_equal(mask, other)


@pytest.mark.parametrize("method", FACTORIZERS)
def test_reading_the_proof_changes_nothing(method):
    f = weft.factorize(weft.graph.full(6), (9, 9), method=method)
    before = [mask.copy() for mask in f.masks]
    f.reach, f.lost, f.paths, f.log_paths, f.total_paths, f.objective  # noqa: B018
    f.masks[0][:] = False  # a dense mask is the caller's own
    for mask, kept in zip(f.masks, before, strict=True):
        np.testing.assert_array_equal(mask, kept)


@pytest.mark.parametrize("method", FACTORIZERS)
def test_no_hidden_layer_is_the_structure_itself(method):
    graph = weft.graph.full(5)
    f = weft.factorize(graph, (), method=method)
    assert len(f.masks) == 1
    np.testing.assert_array_equal(f.masks[0], graph.adjacency())
    assert f.objective == f.bound == f.optimal == ()


@SEEDED
@given(st.data())
def test_reach_is_a_walk_over_kept_weights(data):
    sizes = data.draw(st.lists(st.integers(0, 5), min_size=2, max_size=5))
    masks = [data.draw(arrays(bool, (above, below))) for below, above in pairwise(sizes)]
    expected = reached_by_walking(masks, sizes[0])
    np.testing.assert_array_equal(reach(masks).toarray(), expected)
    sparse = [sp.csr_array(mask) for mask in masks]
    np.testing.assert_array_equal(reach(sparse).toarray(), expected)
    for mask, given_mask in zip(sparse, masks, strict=True):
        np.testing.assert_array_equal(mask.toarray(), given_mask)
