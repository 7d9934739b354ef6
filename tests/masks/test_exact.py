"""Exact masks against exhaustive search and the integer programme written out directly."""

from functools import cache
from itertools import chain, combinations, combinations_with_replacement, product

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import block_diag
from scipy.optimize import Bounds, LinearConstraint, milp

import weft
from weft.masks import Exact

# Structures are drawn here, those that are strictly upper triangular too.
pytestmark = pytest.mark.filterwarnings("ignore:the matrix is strictly upper triangular")

OBJECTIVES = ["paths", "paths-variance", "balanced"]


def value(objective, paths, A):
    """State the objectives of path counts of shape (..., outputs, inputs)."""
    total = paths.sum(axis=(-2, -1))
    if objective == "paths":
        return total
    if objective == "paths-variance":
        return total - paths.var(axis=(-2, -1))
    return np.where(A, np.log(np.maximum(paths, 1)), 0).sum(axis=(-2, -1))


def all_binary(rows, columns):
    return np.array(list(product([0, 1], repeat=rows * columns)), dtype=np.float32).reshape(-1, rows, columns)


@cache
def all_lossless_counts(rows, columns, width, bits):
    """The path counts of all pairs of masks whose product has the support of A."""
    A = np.array(bits, dtype=bool).reshape(rows, columns)
    above, below = all_binary(rows, width), all_binary(width, columns)
    # A row of the upper mask alone tells whether it invents anything: drop what cannot be in any lossless pair.
    found = []
    for mask in below:
        counts = above @ mask
        found.append(np.unique(counts[((counts > 0) == A).all(axis=(1, 2))], axis=0))
    return np.unique(np.concatenate(found), axis=0).astype(int)


def best_of_all_masks(objective, A, width):
    counts = all_lossless_counts(*A.shape, width, tuple(A.ravel().tolist()))
    return float(value(objective, counts, A).max()) if len(counts) else None


def best_of_all_unit_choices(objective, A, width):
    """The same for wider layers: a unit is a block of ones, or idle, and the order of the units does not matter."""
    rows, columns = A.shape

    def parts(size):
        return [list(part) for part in chain.from_iterable(combinations(range(size), k) for k in range(1, size + 1))]

    blocks = [np.zeros(A.shape, dtype=int)]
    for outputs, inputs in product(parts(rows), parts(columns)):
        if A[np.ix_(outputs, inputs)].all():
            blocks.append(np.zeros(A.shape, dtype=int))
            blocks[-1][np.ix_(outputs, inputs)] = 1
    best = None
    for chosen in combinations_with_replacement(range(len(blocks)), width):
        paths = sum(blocks[each] for each in chosen)
        if ((paths > 0) == A).all():
            reached = float(value(objective, paths, A))
            best = reached if best is None else max(best, reached)
    return best


def best_of_integer_programme(objective, A, width):
    """The paper's programme with every product of two binaries written out, solved to proven optimality."""
    rows, columns = A.shape
    ones = [tuple(each) for each in np.argwhere(A)]
    zeros = np.argwhere(~A)
    names = [("V", i, k) for i in range(rows) for k in range(width)]
    names += [("W", k, j) for k in range(width) for j in range(columns)]
    names += [("product", i, k, j) for i, j in ones for k in range(width)]
    names += [("worth", i, j) for i, j in ones]
    names += [("total", t) for t in range(width * len(ones) + 1)] if objective == "paths-variance" else []
    place = {name: number for number, name in enumerate(names)}
    constraints = []

    def constrain(terms, low, high):
        constraints.append(({place[name]: factor for name, factor in terms}, low, high))

    for i, j in zeros:
        for k in range(width):
            constrain([(("V", i, k), 1), (("W", k, j), 1)], 0, 1)
    cost, integral = np.zeros(len(names)), np.ones(len(names))
    low, high = np.zeros(len(names)), np.ones(len(names))
    size = A.size
    for i, j in ones:
        through = [("product", i, k, j) for k in range(width)]
        for k, name in enumerate(through):
            constrain([(name, 1), (("V", i, k), -1)], -np.inf, 0)
            constrain([(name, 1), (("W", k, j), -1)], -np.inf, 0)
            constrain([(name, 1), (("V", i, k), -1), (("W", k, j), -1)], -1, np.inf)
        constrain([(name, 1) for name in through], 1, np.inf)
        # What a count is worth is concave, and counts are integers: chords between neighbours are exact.
        curve = {
            "paths": lambda t: float(t),
            "paths-variance": lambda t: t - t**2 / size,
            "balanced": lambda t: float(np.log(t)),
        }[objective]
        worth = ("worth", i, j)
        low[place[worth]], high[place[worth]], integral[place[worth]] = -np.inf, np.inf, 0
        cost[place[worth]] = -1
        for t in range(1, max(2, width)):
            slope = curve(t + 1) - curve(t)
            constrain([(worth, 1), *((name, -slope) for name in through)], -np.inf, curve(t) - slope * t)
    if objective == "paths-variance":  # the squared mean, by which total the counts have
        totals = [(name, name[1]) for name in names if name[0] == "total"]
        constrain([(name, 1) for name, _ in totals], 1, 1)
        constrain([*((name, -t) for name, t in totals), *((name, 1) for name in names if name[0] == "product")], 0, 0)
        for name, t in totals:
            cost[place[name]] = -((t / size) ** 2)
    rows_, columns_, factors = zip(
        *((r, c, f) for r, (terms, _, _) in enumerate(constraints) for c, f in terms.items()), strict=True
    )
    matrix = sp.csr_array((factors, (rows_, columns_)), shape=(len(constraints), len(names)))
    found = milp(
        cost,
        integrality=integral,
        bounds=Bounds(low, high),
        constraints=LinearConstraint(matrix, [c[1] for c in constraints], [c[2] for c in constraints]),
        options={"mip_rel_gap": 0},
    )
    assert found.status in (0, 2), found.message
    return None if found.status == 2 else -found.fun


def exact(A, width, objective, **options):
    return weft.factorize(A, (width,), method="exact", objective=objective, **options)


def agrees(objective, A, width, best):
    """Compare with the best that there is, or with the knowledge that no masks carry everything."""
    if best is None:
        with pytest.raises(weft.FactorizationError, match="cannot carry the edge"):
            exact(A, width, objective)
        return
    f = exact(A, width, objective)
    assert f.optimal == (True,)
    assert f.objective == f.bound
    np.testing.assert_allclose(f.objective, [best], rtol=1e-9)
    np.testing.assert_allclose(value(objective, f.paths, A), best, rtol=1e-9)


TINY = [
    ((2, 2), range(1, 5)),
    ((2, 3), range(1, 4)),
    ((3, 2), range(1, 4)),
    ((3, 3), range(1, 4)),
]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("shape", "width"), [(shape, width) for shape, widths in TINY for width in widths], ids=str)
def test_equals_exhaustive_search(shape, width, objective):
    bits = np.array(list(product([False, True], repeat=shape[0] * shape[1]))).reshape(-1, *shape)
    if len(bits) > 30:
        bits = np.random.default_rng(width).permutation(bits)[:20]
    for A in bits[bits.any(axis=(1, 2))]:
        agrees(objective, A, width, best_of_all_masks(objective, A, width))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    ("A", "width"),
    [
        ([[1, 1], [1, 0]], 8),
        ([[1, 1], [1, 0]], 5),
        ([[1, 0], [0, 1]], 7),
        ([[0, 0], [1, 0]], 9),
        ([[1, 1], [1, 1]], 6),
        ([[1, 1, 0], [0, 1, 0]], 6),
        ([[1], [1], [0]], 9),
        ([[1, 1, 1]], 5),
    ],
    ids=str,
)
def test_equals_exhaustive_search_where_units_outnumber_entries(A, width, objective):
    A = np.array(A, dtype=bool)
    agrees(objective, A, width, best_of_all_unit_choices(objective, A, width))


def test_variance_needs_more_than_maximal_bicliques():
    # Of the 1287 choices of eight units, those with maximal blocks only are not the best.
    A = np.array([[1, 1], [1, 0]], dtype=bool)
    maximal = [np.array([[1, 1], [0, 0]]), np.array([[1, 0], [1, 0]])]
    with_maximal = max(
        value("paths-variance", n * maximal[0] + m * maximal[1], A) for n in range(1, 8) for m in range(1, 9 - n)
    )
    f = exact(A, 8, "paths-variance")
    assert f.optimal == (True,)
    assert f.objective[0] > with_maximal + 1e-6


def structures_up_to_six():
    yield "chain", weft.graph.chain(6).adjacency(), 6
    yield "every other", weft.graph.every_other(5).adjacency(), 4
    yield "full", weft.graph.full(5).adjacency(), 5
    for seed in range(4):
        graph = weft.graph.random_sparse(6, threshold=0.2 + 0.1 * seed, seed=seed)
        yield f"random {seed}", graph.adjacency(), 6 + seed % 2
    yield "rectangular", np.random.default_rng(5).random((3, 5)) < 0.6, 4
    yield "too narrow", np.eye(4, dtype=bool), 3


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("A", "width"), [pytest.param(A, h, id=name) for name, A, h in structures_up_to_six()])
def test_equals_the_integer_programme_written_out(A, width, objective):
    agrees(objective, A, width, best_of_integer_programme(objective, A, width))


def structure_above(f, layer):
    """Which outputs may read which unit of a hidden layer: what the next layer factorizes."""
    reached = f.masks[-1].astype(int)
    for mask in f.masks[-2:layer:-1]:
        reached = (reached @ mask > 0).astype(int)
    return reached.astype(bool)


LAYERED = [
    ([[1, 1], [1, 0]], (3, 3)),
    ([[1, 0], [0, 1]], (3, 2)),
    ([[1, 1, 0], [0, 1, 1]], (2, 3)),
    ([[1, 1, 0], [0, 1, 1]], (3, 2)),
    ([[1, 0], [1, 1], [1, 1]], (2, 2, 2)),
    ([[1, 1], [1, 0]], (3, 2, 3)),
    ([[1, 0], [0, 1], [1, 1], [1, 1]], (3, 2)),
]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(("A", "widths"), LAYERED, ids=str)
def test_each_layer_is_bounded_by_the_best_given_those_before(A, widths, objective):
    below = np.array(A, dtype=bool)
    f = weft.factorize(below, widths, method="exact", objective=objective)
    assert f.lost == ()
    assert len(f.objective) == len(f.bound) == len(f.optimal) == len(widths)
    for layer, width in enumerate(widths):
        above = structure_above(f, layer)
        reached = float(value(objective, above.astype(int) @ f.masks[layer], below))
        best = best_of_all_masks(objective, below, width)
        np.testing.assert_allclose(f.objective[layer], reached, rtol=1e-9)
        assert reached <= best + 1e-9
        assert f.bound[layer] >= best - 1e-9
        if f.optimal[layer]:
            np.testing.assert_allclose(reached, best, rtol=1e-9)
        below = above


def test_a_bound_holds_for_masks_that_a_narrower_layer_carries():
    # Three kinds of units can be carried by two, because the readers of the third are those of the other two together.
    A = np.array([[1, 0, 1, 1, 1], [0, 1, 1, 1, 1], [1, 1, 1, 1, 1]])
    first = np.array([[1, 0, 1, 1, 1], [0, 1, 1, 1, 1], [0, 0, 1, 1, 1]])
    second = np.array([[1, 0, 1], [0, 1, 1]])
    last = np.array([[1, 0], [0, 1], [1, 1]])
    assert np.array_equal(last @ second @ first > 0, A)
    reached = (last @ second > 0).astype(int) @ first
    f = weft.factorize(A, (3, 2), method="exact")
    assert f.lost == ()
    assert f.bound[0] >= reached.sum() == 25


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(4))
def test_equal_layers_are_each_optimal(seed, objective):
    graph = weft.graph.random_sparse(10, threshold=0.6, seed=seed)
    f = weft.factorize(graph, (16, 16, 16), method="exact", objective=objective)
    assert f.optimal == (True,) * 3
    assert f.objective == f.bound


@pytest.mark.parametrize("width", [12, 25])
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
def test_nothing_that_another_method_finds_is_better(threshold, width):
    graph = weft.graph.random_sparse(12, threshold=threshold, seed=7)
    A = graph.adjacency()
    for objective in OBJECTIVES:
        f = exact(graph, width, objective)
        assert f.optimal == (True,)
        for method in ("greedy", "grouped", "zuko"):
            other = weft.factorize(graph, (width,), method=method).paths
            assert value(objective, other, A) <= f.bound[0] + 1e-9


def test_balanced_starves_no_edge():
    A = [[1, 0], [1, 0], [1, 1]]
    assert exact(A, 8, "paths").paths.tolist() == [[7, 0], [7, 0], [8, 1]]
    assert exact(A, 8, "balanced").paths.tolist() == [[5, 0], [5, 0], [8, 3]]


def test_one_layer_of_paths_counts_the_paths():
    f = exact(weft.graph.every_other(9), 14, "paths")
    assert f.objective == (f.total_paths,)


# No time at all: what comes back is the first guess with the first bound, whatever the machine.

NO_TIME = 1e-9


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("widths", [(30,), (30, 25)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_out_of_time_gives_masks_with_a_valid_bound(seed, widths, objective):
    graph = weft.graph.random_sparse(12, threshold=0.5, seed=seed)
    f = weft.factorize(graph, widths, method="exact", objective=objective, time_limit=NO_TIME)
    assert f.lost == ()
    assert f.optimal[0] is False
    assert all(reached <= bound for reached, bound in zip(f.objective, f.bound, strict=True))
    best = exact(graph, widths[0], objective)
    assert best.optimal == (True,)
    assert f.objective[0] <= best.objective[0] + 1e-9
    assert f.bound[0] >= best.objective[0] - 1e-9


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_out_of_time_still_carries_every_edge_where_rows_can_be_copied(objective):
    graph = weft.graph.random_dag(60, parents=3.0, hubs=1.0, seed=4)
    f = weft.factorize(graph, (60, 60), method="exact", objective=objective, time_limit=NO_TIME)
    assert f.lost == ()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_more_bicliques_than_can_be_listed_end_in_a_bound(objective):
    A = ~np.eye(40, dtype=bool)  # a trillion maximal bicliques
    f = exact(A, 50, objective, time_limit=1.0)
    assert f.lost == ()
    assert f.objective[0] <= f.bound[0] < np.inf
    greedy = weft.factorize(A, (50,)).paths
    assert value(objective, greedy, A) <= f.bound[0] + 1e-9


def fewest_blocks(A):
    """The Boolean rank, by trying all sets of rectangles inside A."""
    rows, columns = A.shape
    blocks = []
    for inputs in product([False, True], repeat=columns):
        outputs = [bool(A[i][list(inputs)].all()) for i in range(rows)]
        blocks.append(np.outer(outputs, inputs))
    for count in range(rows + 1):
        for chosen in combinations(blocks, count):
            if np.array_equal(np.any([*chosen, np.zeros_like(A)], axis=0), A):
                return count
    raise AssertionError("rows are blocks")


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(12))
def test_least_width_is_the_boolean_rank(seed, objective):
    generator = np.random.default_rng(seed)
    A = generator.random((5, 4)) < generator.uniform(0.3, 0.8)
    structure = weft.graph.Structure.of(A)
    assert Exact(objective=objective).least_width(structure) == max(1, fewest_blocks(A))


def test_fewer_units_than_rows_suffice_where_rows_are_unions():
    A = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1], [0, 1, 1]])
    assert exact(A, 3, "paths").lost == ()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_same_masks_every_time(objective):
    graph = weft.graph.random_sparse(10, threshold=0.5, seed=3)
    first, again = (exact(graph, 15, objective).masks for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_a_sparse_graph_is_solved_by_relaxations_alone(seed, monkeypatch):
    # Ways of covering that alternate along a cycle of bicliques share the units of a relaxed choice. To round each of
    # them by itself mixes the ways, and leaves a gap that only a long search closes.
    searches = []

    def counted(*arguments, integrality, **options):
        searches.append(bool(np.any(integrality)))
        return milp(*arguments, integrality=integrality, **options)

    monkeypatch.setattr("weft.masks._programme.milp", counted)
    graph = weft.graph.random_dag(100, parents=3.0, seed=seed)
    f = exact(graph, 200, "paths-variance")
    assert f.optimal == (True,)
    assert searches.count(True) == 0 < searches.count(False)


def test_the_solver_looks_at_the_clock(monkeypatch):
    # Its presolving does not: on 300,000 coefficients it ran for seven seconds where half a second was left.
    asked = []

    def recorded(*arguments, options, **others):
        asked.append(options)
        return milp(*arguments, options=options, **others)

    monkeypatch.setattr("weft.masks._programme.milp", recorded)
    structure = weft.graph.Structure.of(weft.graph.random_dag(20, parents=3.0, seed=0))
    assert exact(structure, 40, "paths").optimal == (True,)
    solved = len(asked)
    assert Exact().least_width(structure) >= 1
    assert 0 < solved < len(asked)
    assert all(options["presolve"] is False and 0 < options["time_limit"] <= 60 for options in asked)


def test_a_large_objective_is_proven_to_the_last_path():
    # Two blocks that take a search, beside one so large that a relative tolerance would hide the last path.
    b = np.array([[1, 1, 0, 0], [0, 0, 1, 1], *[[0, 1, 1, 0]] * 10, [0, 1, 0, 0], [0, 0, 1, 0]], dtype=bool)
    b = np.repeat(b, [1, 50, 50, 1], axis=1)
    f = exact(block_diag(b, b.T, np.ones((1, 1001), dtype=bool)), 2000, "paths")
    assert f.optimal == (True,)
    assert f.objective == f.bound == (1_996_596.0,)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 3)], ids=str)
def test_nothing_to_carry_is_worth_nothing(shape, objective):
    f = weft.factorize(np.zeros(shape), (2, 3), method="exact", objective=objective)
    assert f.objective == f.bound == (0.0, 0.0)
    assert f.optimal == (True, True)
    assert weft.factorize(weft.graph.chain(0), (2,), "exact", objective).objective == (0.0,)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("transposed", [False, True])
def test_rows_or_columns_are_copied_where_bicliques_cover_too_much(transposed, objective, monkeypatch):
    for module in ("_bicliques", "_exact", "_programme"):
        monkeypatch.setattr(f"weft.masks.{module}.MOST_CELLS", 500)
    A = np.tril(np.ones((60, 40), dtype=bool), -1)
    A = A.T if transposed else A
    f = weft.factorize(A, (50, 45), "exact", objective)
    assert f.lost == ()
    assert f.optimal == (False, False)
    assert all(value <= bound for value, bound in zip(f.objective, f.bound, strict=True))
    np.testing.assert_allclose(f.objective[0], value(objective, structure_above(f, 0).astype(int) @ f.masks[0], A))
    with pytest.raises(weft.FactorizationError, match=r"at least 40 units"):
        weft.factorize(A, (39,), "exact", objective)


def test_a_dense_graph_is_never_looked_at_closely(monkeypatch):
    def refused(*_):
        raise AssertionError

    for work in ("_bitsets", "Bicliques.covers"):
        monkeypatch.setattr(f"weft.masks._bicliques.{work}", refused)
    f = weft.factorize(weft.graph.full(1500), (1500,), "exact")
    assert f.lost == ()
    assert f.optimal == (False,)
    assert f.objective[0] == f.total_paths <= f.bound[0]
