"""What `Factorization.explain` says and `Factorization.plot` draws, for every method and every shape of structure."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

import weft
from weft.graph import Structure
from weft.masks import FACTORIZERS, FactorizationError, Greedy

TRIAL = weft.Graph.from_parents(
    {
        "severity": ["age", "smoker"],
        "dose": ["age", "severity"],
        "marker": ["dose"],
        "toxicity": ["age", "dose"],
        "stay": ["toxicity", "marker"],
    }
)
FULL = weft.graph.full(5)
CROSS = "\N{MULTIPLICATION SIGN}"

METHODS = {
    f"{method}{widths}": (FULL if "made" in method else TRIAL, widths, method)
    for method in FACTORIZERS
    for widths in [(), (9, 12, 50)]
}
SHAPES = {
    "one layer": (TRIAL, (14,), "greedy"),
    "no edges": (np.zeros((3, 4)), (5,), "greedy"),
    "no outputs": (np.zeros((0, 4)), (5,), "greedy"),
    "no inputs": (np.zeros((3, 0)), (5,), "greedy"),
    "nothing": (np.zeros((0, 0)), (), "greedy"),
    "one": (weft.graph.chain(1), (3,), "made"),
    "rectangular": ([[1, 0, 1, 0], [0, 1, 1, 0]], (5, 3), "exact"),
    "odd names": (
        pd.DataFrame(np.eye(4), index=["$a", "n" * 50, "", 4], columns=[("t", 1), "\n", "_", 0]),
        (5,),
        "zuko",
    ),
    "context": (Structure.of(TRIAL).with_context(), (20,), "greedy"),
    "large": (weft.graph.random_dag(170, parents=2, seed=1), (300, 200), "grouped"),
}
CASES = METHODS | SHAPES


@pytest.fixture(params=CASES)
def f(request):
    structure, widths, method = CASES[request.param]
    return weft.factorize(structure, widths, method)


@pytest.fixture(autouse=True)
def _close():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def explained(f, capsys):
    f.explain()
    return capsys.readouterr().out


def written(figure):
    return " ".join(text.get_text() for text in figure.texts)


def labels(ticks):
    return [tick.get_text() for tick in ticks]


def sections(text):
    lines = text.splitlines()
    return [line for line, rule in pairwise(lines) if rule and set(rule) == {"-"}]


def test_the_text_tells_each_step(f, capsys):
    layers = [f"Hidden layer {number}: {width} units" for number, width in enumerate(f.widths, start=1)]
    steps = [*layers, f"The outputs: {f.structure.shape[0]}"] if layers else ["No hidden layer"]
    text = explained(f, capsys)
    assert sections(text) == ["The structure", f"The method: {f.method}", *steps, "What is guaranteed"]
    assert max(map(len, text.splitlines())) <= 140


def test_the_text_tells_what_is_guaranteed(f, capsys):
    said = " ".join(explained(f, capsys).split("What is guaranteed")[1].split())
    edges = f.structure.edges_count
    assert f"edges {edges - len(f.lost):,} of {edges:,} kept, none invented" in said
    assert f"weights {f.weights:,} of" in said
    assert f"paths {f.total_paths:,} in all" in said
    for number, (value, optimal) in enumerate(zip(f.objective, f.optimal, strict=True), start=1):
        assert f"layer {number} objective {value:,.6g} (" in said
        shown = said.split(f"layer {number} objective")[1].split(" layer ")[0]
        assert ("not proven optimal" in shown) != optimal
        assert ("bound unknown" in shown) == np.isinf(f.bound[number - 1])


def test_the_text_names_what_an_output_may_depend_on(capsys):
    lines = [line.split() for line in explained(weft.factorize(TRIAL, (14,)), capsys).splitlines()]
    assert ["toxicity", "age,", "dose"] in lines
    assert ["age", "(nothing)"] in lines


def test_the_text_tells_what_each_unit_reads(capsys):
    text = explained(weft.factorize(TRIAL, (11, 11)), capsys)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "3, 8 dose marker marker, toxicity" in lines  # units 3 and 8 copy the row of marker
    assert "4, 9 3, 4, 8, 9 age, dose toxicity toxicity" in lines  # and toxicity contains it
    assert "toxicity 3, 4, 8, 9 age 4, dose 12" in lines


@pytest.mark.parametrize("seed", range(4))
def test_the_text_says_which_edges_are_lost(seed, capsys):
    f = weft.factorize(FULL, (3,), "made-random", seed=seed)
    said = explained(f, capsys)
    lost = said.count(" LOST")
    assert f.lost
    assert lost == len(f.lost)
    assert all(f"{a} -> {b}" in " ".join(said.split()) for a, b in f.lost)
    assert f"seed {seed}" in " ".join(said.split())


def test_nothing_lost_is_said_too(capsys):
    assert "lost     none this time; method made-random may" in explained(
        weft.factorize(FULL, (99,), "made-random"), capsys
    )
    assert "lost     none\n" in explained(weft.factorize(FULL, (99,), "made"), capsys)


@pytest.mark.parametrize("objective", ["paths", "paths-variance", "balanced"])
def test_exact_tells_its_objective(objective, capsys):
    f = weft.factorize(TRIAL, (9,), "exact", objective)
    words = {"paths": "paths", "paths-variance": "paths, less their variance", "balanced": "sum of the logarithms"}
    said = " ".join(explained(f, capsys).split())
    assert f"the objective, the {words[objective]}" in said
    assert "; optimal, proven" in said


def test_a_large_structure_is_summed_up(capsys):
    text = explained(weft.factorize(weft.graph.random_dag(3000, parents=3, seed=1), (6000, 6000)), capsys)
    assert len(text.splitlines()) < 50


def test_equal_layers_are_told_once(capsys):
    text = explained(weft.factorize(TRIAL, (10,) * 8), capsys)
    assert "Hidden layer 1: 10 units" in sections(text)
    assert "Hidden layers 2 to 8: 10 units" in sections(text)
    assert len(explained(weft.factorize(TRIAL, (10,) * 200), capsys).splitlines()) == len(text.splitlines())


def test_counts_beyond_all_bounds_are_told(capsys):
    f = weft.factorize(FULL, (40,) * 30)
    with pytest.raises(OverflowError):
        f.paths_sparse  # noqa: B018
    text = explained(f, capsys)
    power = len(str(f.total_paths)) - 1
    assert f"about 1e{power} in all; fewest 1e" in text


def test_a_method_of_ones_own_is_told_by_its_docstring(capsys):
    class Mine(Greedy):
        """Masks made my way.

        At length.
        """

        name = "mine"

    text = explained(weft.factorize(TRIAL, (14,), Mine()), capsys)
    assert "The method: mine\n----------------\n  Masks made my way.\n\n" in text


def test_the_picture_has_structure_masks_and_paths(f):
    figure = f.plot()
    matrices = [f.structure.matrix.toarray(), *f.masks, f.reach.toarray()]
    for ax, matrix in zip(figure.axes, matrices, strict=True):
        assert len(ax.images) == (0 not in matrix.shape)
        if 0 < max(matrix.shape) <= 150 and ax.images:
            filled = ~np.isclose(ax.images[0].get_array(), to_rgb("#f1f4f8")).all(axis=-1)
            assert np.array_equal(filled, matrix)
    figure.canvas.draw()


def test_a_large_matrix_is_drawn_in_blocks():
    f = weft.factorize(weft.graph.chain(450), (450,))
    for ax in f.plot().axes:
        image = ax.images[0].get_array()
        filled = ~np.isclose(image, to_rgb("#f1f4f8")).all(axis=-1)
        assert image.shape == (150, 150, 3)
        assert filled.diagonal().all()
        assert filled.sum() <= 3 * 150


@pytest.mark.parametrize("output", TRIAL.nodes)
def test_what_leads_to_an_output_is_followed(output):
    f = weft.factorize(TRIAL, (9, 12))
    row = TRIAL.index(output)
    last = f.masks[2][row]
    leads = [last @ f.masks[1] > 0, last, np.arange(len(TRIAL)) == row]
    for ax, mask, led in zip(f.plot(output).axes[1:], f.masks, leads, strict=False):
        followed = np.isclose(ax.images[0].get_array(), to_rgb("#e59a5c")).all(axis=-1)
        assert np.array_equal(followed, mask & led[:, None])


def test_the_rows_copied_are_named():
    f = weft.factorize(TRIAL, (7,))
    structure, first, last, paths = f.plot().axes
    assert labels(structure.get_yticklabels()) == labels(structure.get_xticklabels()) == list(TRIAL.nodes)
    copied = ["severity  1", "dose  2", "marker  3", "toxicity  4", "stay  5", "severity  6", "dose  7"]
    assert labels(first.get_yticklabels()) == copied
    assert labels(last.get_xticklabels()) == ["1", "2", "3", "4", "5", "6", "7"]
    assert labels(first.texts[:2]) == ["inputs", "units of layer 1"]
    counts = {text.get_position()[::-1]: text.get_text() for text in paths.texts[2:]}
    assert counts == {(i, j): str(f.paths[i, j]) for i, j in zip(*f.paths.nonzero(), strict=True)}


def test_an_input_that_an_output_must_not_see_is_crossed():
    f = weft.factorize(TRIAL, (7,))
    crosses = {text.get_position()[::-1] for text in f.plot("marker").axes[1].texts if text.get_text() == CROSS}
    reads = f.masks[1][TRIAL.index("marker")]
    allowed = TRIAL.adjacency()[TRIAL.index("marker")]
    assert crosses == {(i, j) for i, j in zip(*f.masks[0].nonzero(), strict=True) if not reads[i] and not allowed[j]}


def test_the_last_output_with_inputs_is_followed():
    assert "Orange follows stay." in written(weft.factorize(TRIAL, (7,)).plot())
    assert "Orange" not in written(weft.factorize(np.zeros((2, 2)), (7,)).plot())


def test_lost_edges_are_marked():
    f = weft.factorize(FULL, (3,), "made-random")
    figure = f.plot()
    assert len(figure.axes[-1].patches) == len(f.lost)
    assert f"{len(f.lost)} edges lost" in written(figure)


def test_a_picture_keeps_its_own_look():
    with plt.style.context("dark_background"):
        figure = weft.factorize(TRIAL, (7,)).plot()
    assert figure.get_facecolor() == (1, 1, 1, 1)


@pytest.mark.parametrize("name", ["one layer", "made-random(9, 12, 50)", "odd names", "context", "rectangular"])
def test_no_text_leaves_the_picture_or_covers_another(name):
    structure, widths, method = CASES[name]
    figure = weft.factorize(structure, widths, method).plot()
    figure.canvas.draw()
    ticks = [label for ax in figure.axes for label in (*ax.get_yticklabels(), *(ax.texts))]
    boxes = [text.get_window_extent() for text in (*figure.texts, *ticks) if text.get_text()]
    for k, box in enumerate(boxes):
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
        assert not any(box.shrunk(0.98, 0.8).overlaps(other.shrunk(0.98, 0.8)) for other in boxes[:k])


def test_an_unknown_output_is_refused_with_the_closest():
    f = weft.factorize(TRIAL, (7,))
    with pytest.raises(FactorizationError, match=r"output='toxcity' is not an output \(did you mean 'toxicity'\?\)\."):
        f.plot("toxcity")
    with pytest.raises(FactorizationError, match=r"output=\['stay'\] is not an output"):
        f.plot(["stay"])


@pytest.mark.parametrize("widths", [(5001,), (5,) * 12])
def test_a_picture_that_none_could_read_is_refused(widths):
    with pytest.raises(FactorizationError, match=r"expected at most 12 masks and 5,000 rows .* `explain\(\)`"):
        weft.factorize(TRIAL, widths).plot()


@pytest.mark.parametrize("name", ["\ufeff", "\u200b", "\xad", "\u2060", "\ud800"], ids=ascii)
def test_names_of_invisible_signs_are_drawn_and_told(name, capsys):
    f = weft.factorize(weft.Graph.from_edges([(name, "b"), ("b", "c")]), (4,))
    figure = f.plot("b")
    figure.canvas.draw()
    f.explain()
    assert repr(name)[:10] in capsys.readouterr().out
