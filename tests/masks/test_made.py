"""Made and made-random against a literal statement of the MADE masks, one-based as in the paper."""

from itertools import pairwise

import numpy as np
import pytest

import weft
from weft.masks import MadeRandom

# Structures are drawn here, those that are strictly upper triangular too.
pytestmark = pytest.mark.filterwarnings("ignore:the matrix is strictly upper triangular")

SIZES = [2, 3, 5, 8]
WIDTHS = [(), (7,), (9, 8), (12, 7, 10)]


def literal_masks(order, degrees):
    """Compare degrees entry by entry; order[j] is the place, from 1, of variable j."""
    layers = [order, *degrees]
    masks = []
    for below, above in pairwise(layers):
        masks.append([[above[k] >= below[j] for j in range(len(below))] for k in range(len(above))])
    masks.append([[order[i] > layers[-1][k] for k in range(len(layers[-1]))] for i in range(len(order))])
    return [np.array(mask, dtype=bool) for mask in masks]


def full_in(order):
    """The full autoregressive structure of variables in this order."""
    return np.array([[earlier < later for earlier in order] for later in order])


def lost_by_hand(A, masks):
    product = masks[0].astype(int)
    for mask in masks[1:]:
        product = mask.astype(int) @ product
    return {(f"x{j}", f"x{i}") for i, j in np.argwhere(A & (product == 0)).tolist()}


@pytest.mark.parametrize("widths", WIDTHS, ids=str)
@pytest.mark.parametrize("d", SIZES)
def test_made_gives_the_degrees_from_the_largest_down(d, widths):
    order = np.random.default_rng(d).permutation(d) + 1
    degrees = [[d - 1 - k % (d - 1) for k in range(width)] for width in widths]
    f = weft.factorize(full_in(order), widths, method="made")
    for mask, literal in zip(f.masks, literal_masks(order, degrees), strict=True):
        np.testing.assert_array_equal(mask, literal)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("widths", WIDTHS, ids=str)
@pytest.mark.parametrize("d", SIZES)
def test_made_random_follows_the_algorithm(d, widths, seed):
    order = np.random.default_rng(d).permutation(d) + 1
    generator, degrees, least = np.random.default_rng(seed), [], 1
    for width in widths:
        degrees.append(generator.integers(least, d - 1, size=width, endpoint=True))
        least = degrees[-1].min()
    A = full_in(order)
    masks = literal_masks(order, degrees)
    f = weft.factorize(A, widths, method="made-random", seed=seed)
    for mask, literal in zip(f.masks, masks, strict=True):
        np.testing.assert_array_equal(mask, literal)
    assert len(set(f.lost)) == len(f.lost)
    assert set(f.lost) == lost_by_hand(A, masks)


def test_made_random_draws_every_degree_equally_often():
    first = weft.factorize(weft.graph.full(6), (5000,), method="made-random").masks[0]
    counts = np.bincount(first.sum(axis=1), minlength=7)
    assert counts[[0, 6]].tolist() == [0, 0]
    assert (abs(counts[1:6] - 1000) < 150).all()  # five standard deviations


def test_made_random_is_reproducible_and_its_seeds_differ():
    first, again, other = (
        weft.factorize(weft.graph.full(8), (20, 20), method=MadeRandom(seed=seed)).masks for seed in (3, 3, 4)
    )
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_made_random_loses_with_too_few_units_and_says_which():
    graph = weft.Graph.from_edges([("a", "b"), ("a", "c"), ("b", "c")])
    losses = {weft.factorize(graph, (1,), method="made-random", seed=seed).lost for seed in range(10)}
    # A unit of degree 1 reads only a: then b -> c is lost. One of degree 2 feeds only c: then a -> b is lost.
    assert losses == {(("b", "c"),), (("a", "b"),)}


@pytest.mark.parametrize("method", ["made", "made-random"])
@pytest.mark.parametrize(
    "structure",
    [
        weft.graph.chain(3),
        np.zeros((2, 2)),
        [[0, 0, 0], [0, 0, 0], [1, 1, 0]],
        [[0, 0, 0], [1, 0, 0], [1, 0, 0]],
        [[1, 0], [1, 1]],
        [[0, 1], [1, 0]],
        [[0, 0, 0], [1, 0, 0]],
        np.zeros((3, 0)),
        weft.graph.chain(100_000),
    ],
    ids=["chain", "no edges", "tie", "missing", "diagonal", "cycle", "rectangular", "no inputs", "large"],
)
@pytest.mark.parametrize("widths", [(), (4,), "auto"], ids=str)
def test_only_the_full_structure_is_accepted(structure, method, widths):
    with pytest.raises(weft.FactorizationError, match=rf"'{method}' masks only the full autoregressive.*greedy"):
        weft.factorize(structure, widths, method=method)


@pytest.mark.parametrize("method", ["made", "made-random"])
def test_masks_too_large_to_build_are_refused_with_their_size(method):
    with pytest.raises(
        weft.FactorizationError, match=rf"mask 2 of method '{method}' .*100,000 x 100,000 .*smaller widths"
    ):
        weft.factorize(weft.graph.full(10), (100_000, 100_000), method=method)
