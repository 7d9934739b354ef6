"""The proof object: exact counts or an error, dense matrices or an error, and what the check refuses."""

import copy
import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import weft
from weft.masks import FACTORIZERS, Factorizer, Greedy, Made, Solution, Zuko


class Given(Factorizer):
    """A factorizer that returns the masks it was given."""

    name = "given"

    def __init__(self, *masks, **told):
        self.masks = masks
        self.told = told

    def solve(self, structure, widths):
        return Solution(self.masks, **self.told)

    def least_width(self, structure):
        return 7


def csr(rows):
    return sp.csr_array(np.array(rows, dtype=bool))


def ones(*shape):
    return csr(np.ones(shape))


def test_a_count_too_large_raises_and_its_logarithm_does_not():
    f = weft.factorize(weft.graph.chain(2), (100,) * 9)
    with pytest.raises(OverflowError, match=r"2\*\*53.*log_paths"):
        f.paths  # noqa: B018
    with pytest.raises(OverflowError, match=r"2\*\*53.*log_paths"):
        f.paths_sparse  # noqa: B018
    assert f.total_paths == 100**9
    np.testing.assert_allclose(f.log_paths, [[-np.inf, -np.inf], [9 * math.log(100), -np.inf]], rtol=1e-12)


def test_counts_beyond_every_float_have_logarithms():
    f = weft.factorize(weft.graph.full(4), (60,) * 250)
    assert f.total_paths > 10**308
    assert f.log_paths[3, 0] > 709
    logs = f.log_paths[np.isfinite(f.log_paths)]
    np.testing.assert_allclose(np.logaddexp.reduce(logs), math.log(f.total_paths), rtol=1e-9)


def doubling(layers, extra):
    """Masks with 2**layers paths, and as many more as told, from one input to one output."""
    pair = ones(2, 2)
    carry = sp.block_diag([pair, ones(1, 1)], format="csr").astype(bool)
    masks = [ones(3 if extra else 2, 1), *([carry if extra else pair] * (layers - 1)), ones(1, 3 if extra else 2)]
    return Given(*masks), (3 if extra else 2,) * layers


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("layers", [10, 40, 51, 52, 53, 54])
def test_counts_at_the_edge_of_a_float_are_exact_or_refused(layers, extra):
    factorizer, widths = doubling(layers, extra)
    f = weft.factorize(np.ones((1, 1)), widths, method=factorizer)
    assert f.total_paths == 2**layers + extra
    try:
        counted = int(f.paths[0, 0])
    except OverflowError:
        assert layers >= 53
    else:
        assert counted == f.total_paths


def test_logarithms_hold_counts_that_no_common_scale_holds():
    layers = 1100
    both = [ones(3, 1), *([sp.block_diag([ones(2, 2), ones(1, 1)], format="csr").astype(bool)] * (layers - 1))]
    f = weft.factorize(np.ones((2, 1)), (3,) * layers, method=Given(*both, csr([[1, 1, 0], [0, 0, 1]])))
    assert f.total_paths == 2**layers + 1
    np.testing.assert_allclose(f.log_paths, [[layers * math.log(2)], [0.0]], rtol=1e-12)


LARGE = weft.graph.chain(20_000)  # 400 million entries, if it were dense


@pytest.mark.parametrize(
    ("read", "what", "instead"),
    [
        (lambda f: f.masks, "mask 1", "masks_sparse"),
        (lambda f: f.paths, "path counts", "paths_sparse"),
        (lambda f: f.log_paths, "log path counts", "paths_sparse"),
    ],
    ids=["masks", "paths", "log_paths"],
)
def test_dense_matrices_that_are_too_large_are_refused_with_their_size(read, what, instead):
    f = weft.factorize(LARGE, (20_000,))
    with pytest.raises(weft.FactorizationError, match=f"{what} has 20,000 x 20,000 entries.*`{instead}`"):
        read(f)
    assert f.paths_sparse.nnz == LARGE.edges_count
    assert f.paths_sparse.sum() == f.total_paths
    assert f.lost == ()


def test_greedy_at_a_hundred_thousand_nodes():
    graph = weft.graph.random_dag(100_000, parents=3.0, seed=0)
    f = weft.factorize(graph, (200_000, 200_000))
    assert f.lost == ()
    assert "about" not in repr(f)
    assert f.weights < 20 * graph.edges_count


def test_repr_tells_the_essentials():
    f = weft.factorize(weft.graph.full(3), (4, 5))
    for word in ("greedy", "3 inputs -> 4 -> 5 -> 3 outputs", "3 edges", f"{f.weights} weights", "nothing lost"):
        assert word in repr(f)
    assert "1 edge lost)" in repr(weft.factorize(weft.graph.full(3), (1,), method="made-random"))
    assert "about 1e18 paths" in repr(weft.factorize(weft.graph.chain(2), (100,) * 9))


def test_a_method_without_an_objective_proves_nothing():
    f = weft.factorize(weft.graph.chain(4), (6, 6))
    assert f.bound == (np.inf, np.inf)
    assert f.optimal == (False, False)
    assert f.method == "greedy"
    assert isinstance(f.factorizer, Greedy)


def test_lost_names_input_and_output():
    graph = weft.Graph.from_edges([("a", "b"), ("a", "c"), ("b", "c")])
    lost = weft.factorize(graph, (1,), method="made-random", seed=0).lost
    assert lost
    assert set(lost) <= set(graph.edges)


@pytest.mark.parametrize("method", FACTORIZERS)
def test_it_can_be_explained_and_drawn(method, capsys):
    f = weft.factorize(weft.graph.full(4), (5, 6), method=method)
    f.explain()
    assert method in capsys.readouterr().out
    assert f.plot().axes


# What a method returns is checked from outside.

STRUCTURE = np.array([[1, 0], [1, 1]])


def test_an_own_factorizer_that_is_right_is_accepted():
    f = weft.factorize(STRUCTURE, (2,), method=Given(csr([[1, 0], [1, 1]]), csr([[1, 0], [1, 1]])))
    assert f.method == "given"
    assert f.lost == ()
    assert f.paths.tolist() == [[1, 0], [2, 1]]


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ([ones(2, 2), ones(2, 2)], "'given' invents 1 dependence: x1 -> x0"),
        ([csr([[1, 0], [1, 0]]), csr([[1, 0], [1, 1]])], "cannot carry the edge x1 -> x1: .* at least 7 units"),
        ([csr([[1, 0], [0, 0]]), csr([[0, 0], [1, 1]])], "cannot carry the edge x0 -> x0 and 1 more"),
        ([ones(2, 2), ones(2, 3)], r"mask 2 of method 'given' has shape \(2, 3\), expected \(2, 2\)"),
        ([ones(3, 2), ones(2, 3)], r"mask 1 of method 'given' has shape \(3, 2\), expected \(2, 2\)"),
        ([ones(2, 2).T.tocsr(), ones(3, 2)], r"mask 2 of method 'given' has shape \(3, 2\), expected \(2, 2\)"),
        ([csr(STRUCTURE)], "'given' .*1 mask.*expected 2"),
        ([csr(STRUCTURE), csr(np.eye(2)), csr(np.eye(2))], "'given' .*3 masks.*expected 2"),
        ([], "'given' .*0 masks.*expected 2"),
        ([csr(STRUCTURE) * 2, csr(np.eye(2))], "mask 1.*0 and 1"),
        ([csr(STRUCTURE) * np.nan, csr(np.eye(2))], "mask 1.*0 and 1"),
        (["masks", "no"], "mask 1"),
        ([None, None], "mask 1"),
    ],
    ids=str,
)
def test_wrong_masks_are_refused(masks, message):
    with pytest.raises(ValueError, match=message):
        weft.factorize(STRUCTURE, (2,), method=Given(*masks))


@pytest.mark.parametrize(
    "form",
    [
        lambda mask: mask.toarray(),
        lambda mask: mask.astype(float),
        lambda mask: mask.astype(np.int8).tocoo(),
        lambda mask: mask.tocsc(),
        lambda mask: sp.csr_array((mask.data[::-1], mask.indices[::-1], [0, 2, 3]), shape=(2, 2)),
        lambda mask: sp.csr_array(([1, 1, 1, 0], [0, 1, 0, 1], [0, 2, 4]), shape=(2, 2)),
    ],
    ids=["dense", "float", "coo", "csc", "unsorted", "explicit zeros"],
)
def test_masks_of_any_form_become_boolean_csr(form):
    lower = csr([[1, 1], [1, 0]])  # the rows of the structure, last first
    upper = csr([[0, 1], [1, 1]])
    f = weft.factorize(STRUCTURE, (2,), method=Given(form(lower), upper))
    [mask, _] = f.masks_sparse
    assert isinstance(mask, sp.csr_array)
    assert mask.dtype == bool
    assert mask.indices.tolist() == [0, 1, 0]
    assert f.paths.tolist() == [[1, 0], [2, 1]]
    assert f.weights == 6


@pytest.mark.parametrize("told", ["objective", "bound", "optimal"])
def test_a_proof_of_the_wrong_length_is_refused(told):
    right = (csr(STRUCTURE), csr([[1, 0], [1, 1]]))
    with pytest.raises(weft.FactorizationError, match=f"{told}.*2.*expected 1"):
        weft.factorize(STRUCTURE, (2,), method=Given(*right, **{told: (1.0, 1.0)}))


COPIES = {"itself": lambda f: f, "deepcopy": copy.deepcopy, "pickle": lambda f: pickle.loads(pickle.dumps(f))}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("method", ["greedy", "grouped", "exact", "zuko", "made", "made-random"])
def test_the_proof_cannot_be_written_through(method, copied):
    f = weft.factorize(weft.graph.full(4), (6, 6), method)
    _ = f.reach, f.paths_sparse, f.log_paths
    f = copied(f)
    for matrix in (*f.masks_sparse, f.reach, f.paths_sparse, f.structure.matrix):
        for values in (matrix.data, matrix.indices, matrix.indptr):
            with pytest.raises(ValueError, match="read-only"):
                values[0] = 0
    with pytest.raises(ValueError, match="read-only"):
        f.log_paths[0, 0] = 0
    f.check()
    assert len(f.paths) == 4
    assert "weights" in repr(f)


def test_methods_are_values():
    assert [Greedy(), Zuko(), Made()] == [Greedy(), Zuko(), Made()]
    assert repr([Greedy(), Zuko(), Made()]) == "[Greedy(), Zuko(), Made()]"
    assert Greedy() != Zuko()
    assert hash(Made()) == hash(Made())
    with pytest.raises(AttributeError):
        Greedy().name = "mine"


def test_solutions_are_not_compared_by_their_masks():
    one, other = (weft.masks.Solution((np.eye(2),)) for _ in range(2))
    assert one != other
    assert one == one


def test_totals_of_any_size_are_written(capsys):
    f = weft.factorize(weft.graph.chain(3), (4,))
    f.__dict__["total_paths"] = 7 * 10**5000  # as thousands of layers would have
    assert "about 1e5000 paths" in repr(f)
    f.explain()
    assert "about 1e5000 in all" in capsys.readouterr().out


@pytest.mark.parametrize("layers", [1, 6, 7, 30])
def test_the_total_is_exact_on_both_sides_of_two_to_the_53(layers):
    f = weft.factorize(np.ones((1, 1)), (301,) * layers)
    assert f.total_paths == 301**layers


def test_a_number_of_one_is_singular():
    assert repr(weft.factorize([[1]], (1,))) == (
        "Factorization(greedy, 1 input -> 1 -> 1 output, 1 edge, 2 weights, 1 path, nothing lost)"
    )
