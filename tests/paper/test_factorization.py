"""The paper's figure of greedy against exact masks, through the command that writes it."""

import json
import os

import numpy as np
import pytest

import weft
from weft.paper import EXPERIMENTS, Experiment, compare_factorizations, compare_masks, write
from weft.paper.__main__ import main

QUICK = ["factorization", "--quick"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "made"
    main([*QUICK, "--out", str(folder)])
    return folder


@pytest.fixture(scope="module")
def record(folder):
    return json.loads((folder / "factorization_figure_quick.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def figure():
    """The figure at its full size: ten graphs for each setting."""
    return compare_factorizations(large=())


def settings(rows):
    return list(dict.fromkeys((row["d"], row["h"], row["sparsity"]) for row in rows))


def means(rows, **values):
    chosen = [row for row in rows if all(row[key] == value for key, value in values.items())]
    return tuple(float(np.mean([row[method] for row in chosen])) for method in ("greedy", "exact"))


def without_times(rows):
    return [{key: value for key, value in row.items() if not key.endswith("_seconds")} for row in rows]


# What the paper says of its figure.


def test_the_figure_is_of_the_published_size(figure):
    sparsities = [round(0.1 * tenth, 1) for tenth in range(1, 10)]
    sizes = [(10, 10), (10, 20), (15, 15), (15, 30)]
    assert settings(figure) == [(d, h, sparsity) for d, h in sizes for sparsity in sparsities]
    assert len(figure) == 10 * len(settings(figure))
    assert {row["seed"] for row in figure} == set(range(10))


def test_exact_is_proven_and_greedy_never_exceeds_it(figure, record):
    for row in [*figure, *record["rows"]]:
        assert row["proven"] is True
        assert row["bound"] == row["exact"]
        assert row["greedy"] <= row["exact"] * (1 + 1e-12)
        assert 0 <= row["gap"] < 1


def test_exact_is_higher_at_every_sparsity(figure):
    for d, h, sparsity in settings(figure):
        greedy, exact = means(figure, d=d, h=h, sparsity=sparsity)
        assert greedy < exact


def test_greedy_has_at_least_half_of_the_paths_on_average(figure):
    # 0.652 at the least, at d = 15, h = 30 and sparsity 0.3.
    for d, h, sparsity in settings(figure):
        greedy, exact = means(figure, d=d, h=h, sparsity=sparsity)
        assert greedy > exact / 2


def test_the_difference_grows_with_variables_and_with_units(figure):
    difference = {}
    for d, h in [(10, 10), (10, 20), (15, 15), (15, 30)]:
        greedy, exact = means(figure, d=d, h=h)
        difference[d, h] = exact - greedy
    assert difference[10, 10] < difference[15, 15] < difference[15, 30]
    assert difference[10, 10] < difference[10, 20] < difference[15, 30]


def test_each_verdict_says_what_the_rows_show(figure, record):
    [table, *_] = EXPERIMENTS["factorization"].tables(figure).values()
    assert [row["verdict"].split(":")[0] for row in table] == ["confirmed", "not confirmed", "confirmed"]
    # What is not confirmed: greedy misses a larger share where the graph is dense than where it is very sparse.
    shares = {at: np.mean([row["gap"] for row in figure if row["sparsity"] == at]) for at in (0.1, 0.9)}
    assert shares[0.9] < shares[0.1]
    assert f"{shares[0.9]:.0%} at sparsity 0.9 and {shares[0.1]:.0%} at 0.1" in table[1]["computed"]
    *_, feasible = next(iter(record["summary"].values()))
    assert feasible["verdict"] == "overcome"
    assert "12 of 12 up to d = 50, h = 100" in feasible["computed"]


def test_verdicts_can_be_negative(figure):
    turned = [{**row, "greedy": row["exact"], "exact": row["greedy"], "gap": -row["gap"]} for row in figure]
    [table, *_] = EXPERIMENTS["factorization"].tables(turned).values()
    assert [row["verdict"] for row in table] == ["not confirmed", "confirmed", "not confirmed"]
    unproven = [{**row, "part": "beyond", "d": 30, "proven": False} for row in figure[:3]]
    [table, *_] = EXPERIMENTS["factorization"].tables([*figure, *unproven]).values()
    assert table[-1]["verdict"] == "confirmed"


# One comparison.


@pytest.mark.parametrize("objective", ["paths", "paths-variance", "balanced"])
def test_a_comparison_states_the_objective_of_each(objective):
    graph = weft.graph.random_sparse(12, threshold=0.6, seed=1)
    row = compare_masks(graph, 24, objective)
    A = graph.adjacency()
    value = {
        "paths": lambda paths: paths.sum(),
        "paths-variance": lambda paths: paths.sum() - paths.var(),
        "balanced": lambda paths: np.log(paths[A]).sum(),
    }[objective]
    greedy = weft.factorize(graph, (24,)).paths
    exact = weft.factorize(graph, (24,), "exact", objective).paths
    np.testing.assert_allclose([row["greedy"], row["exact"]], [value(greedy), value(exact)], rtol=1e-12)
    np.testing.assert_allclose(row["gap"], 1 - value(greedy) / value(exact), rtol=1e-12)
    assert row["edges"] == graph.edges_count
    assert row["greedy_seconds"] > 0 < row["exact_seconds"]


def test_a_graph_without_edges_has_no_gap():
    row = compare_masks(weft.Graph.from_adjacency(np.zeros((4, 4))), 4)
    assert (row["edges"], row["greedy"], row["exact"], row["gap"], row["proven"]) == (0, 0.0, 0.0, 0.0, True)


def test_out_of_time_is_not_called_proven():
    row = compare_masks(weft.graph.random_sparse(12, threshold=0.5, seed=0), 30, time_limit=1e-9)
    assert row["proven"] is False
    assert row["exact"] < row["bound"]


def test_the_same_seeds_give_the_same_rows():
    first, again = (compare_factorizations(2, (10,), (0.4,), (20,)) for _ in range(2))
    assert without_times(first) == without_times(again)
    more = compare_factorizations(3, (10,), (0.4,), (20,))
    assert [row for row in without_times(more) if row["seed"] < 2] == without_times(first)


# What the command writes and prints.


def test_the_record_holds_machine_versions_and_rows(record):
    facts = {"machine", "device", "threads", "versions", "title", "command", "summary", "rows"}
    assert record.keys() == facts, "and nothing that names a host"
    assert record["threads"] >= 1
    assert {"python", "weft", "torch", "numpy", "scipy"} <= record["versions"].keys()
    assert record["versions"]["weft"] == weft.__version__
    assert record["command"] == "python -m weft.paper factorization --quick"
    assert list(dict.fromkeys(row["part"] for row in record["rows"])) == ["figure", "beyond"]
    beyond = [row for row in record["rows"] if row["part"] == "beyond"]
    assert {(row["d"], row["h"]) for row in beyond} == {(20, 40), (50, 100)}
    assert {row["objective"] for row in beyond} == {"paths", "paths-variance", "balanced"}


def test_the_rows_are_those_of_the_function(record):
    rows = compare_factorizations(**EXPERIMENTS["factorization"].quick)
    assert without_times(rows) == without_times(record["rows"])


def test_the_page_shows_the_tables(folder, record):
    page = (folder / "factorization_figure_quick.md").read_text(encoding="utf-8")
    lines = page.splitlines()
    assert "| published | computed | verdict |" in lines
    for title, table in record["summary"].items():
        start = lines.index(f"**{title}**") + 2
        assert lines[start] == f"| {' | '.join(table[0])} |"
        shown = lines[start + 2 : start + 2 + len(table)]
        assert all(line.count("|") == len(table[0]) + 1 for line in shown)
    for finding in next(iter(record["summary"].values())):
        assert f"| {finding['published']} | {finding['computed']} | {finding['verdict']} |" in lines
    greedy, exact = means(record["rows"][:24], d=15, h=30, sparsity=0.1)
    assert f"{greedy:.1f} / {exact:.1f} |" in page
    assert "python -m weft.paper factorization --quick" in page
    assert f"weft {weft.__version__}" in lines[-1]


def test_the_picture_is_a_png(folder):
    picture = (folder / "factorization_figure_quick.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(picture) > 20_000


def test_the_picture_draws_the_means(record):
    drawn = EXPERIMENTS["factorization"].draw(record["rows"])
    assert [axes.get_title() for axes in drawn.axes] == ["d = 10", "d = 15", "What greedy misses", "Time"]
    lines = {line.get_label(): line for line in drawn.axes[1].lines}
    assert lines.keys() == {f"{method}, {h} hidden units" for method in ("greedy", "exact") for h in (15, 30)}
    for place, method in enumerate(("greedy", "exact")):
        drawn_means = [means(record["rows"][:24], d=15, h=30, sparsity=at)[place] for at in (0.1, 0.5, 0.9)]
        np.testing.assert_allclose(lines[f"{method}, 30 hidden units"].get_ydata(), drawn_means)


def test_seeds_and_the_published_finding_are_on_the_screen(tmp_path, capsys):
    main([*QUICK, "--seeds", "1", "--out", str(tmp_path)])
    out = capsys.readouterr().out
    assert {"published", "computed", "verdict", "confirmed", "overcome"} <= set(out.replace("│", " ").split())
    assert "factorization_figure_quick.png" in out.replace("\n", "")
    record = json.loads((tmp_path / "factorization_figure_quick.json").read_text(encoding="utf-8"))
    assert {row["seed"] for row in record["rows"]} == {0}
    assert record["command"] == "python -m weft.paper factorization --quick --seeds 1"


def test_without_a_name_the_experiments_are_listed(capsys):
    main([])
    out = capsys.readouterr().out
    assert all(name in out and each.title in out for name, each in EXPERIMENTS.items())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["factorisation"], "unknown experiment 'factorisation' (did you mean 'factorization'?); known: factorization"),
        (["nothing"], "unknown experiment 'nothing'; known: factorization"),
        ([*QUICK, "--seeds", "0"], "argument --seeds: got '0', expected a whole number from 1 to 10,000"),
        ([*QUICK, "--seeds", "few"], "argument --seeds: got 'few', expected a whole number from 1 to 10,000"),
        ([*QUICK, "--seeds", "10001"], "argument --seeds: got '10001', expected a whole number from 1 to 10,000"),
        ([*QUICK, "--seeds", "9" * 5000], "expected a whole number from 1 to 10,000"),
        ([*QUICK, "--seeds", "²"], "argument --seeds: got '²', expected a whole number"),
        ([*QUICK, "--seeds", "1.5"], "argument --seeds: got '1.5', expected a whole number from 1 to 10,000"),
        (["--quick"], "options need an experiment; name one of: factorization"),
        (["--seeds", "3"], "options need an experiment"),
        ([*QUICK, "--fast"], "unrecognized arguments: --fast"),
    ],
    ids=" ".join,
)
def test_bad_arguments_are_refused(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_place_of_the_folder_is_refused_before_any_work(tmp_path, capsys):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    with pytest.raises(SystemExit):
        main([*QUICK, "--out", str(taken)])
    assert f"argument --out: cannot make the folder '{taken}'" in capsys.readouterr().err
    assert taken.read_text() == "mine"


def test_what_cannot_be_written_is_refused_before_any_work(tmp_path, capsys):
    (tmp_path / "factorization_figure_quick.md").mkdir()
    with pytest.raises(SystemExit):
        main([*QUICK, "--out", str(tmp_path)])
    assert "argument --out: cannot write to" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["factorization_figure_quick.md"]


def test_the_record_names_the_device_that_it_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.get_device_name", lambda: "a GPU")
    for device, named in (("cpu", f"{os.cpu_count()} CPU cores"), ("cuda", "a GPU")):
        write(tmp_path, "made", [], {}, device=device)
        assert json.loads((tmp_path / "made.json").read_text())["device"] == named
        assert named in (tmp_path / "made.md").read_text()
    with pytest.raises(ValueError, match=r"^device is 'gpu', expected 'cpu' or 'cuda'"):
        write(tmp_path, "made", [], {}, device="gpu")


def test_numbers_of_numpy_are_plain_in_the_record(tmp_path):
    row = {"count": np.int64(3000), "share": np.float32(0.5), "so": np.bool_(True), "all": np.arange(2)}
    write(tmp_path, "made", [row], {"": [row]})
    plain = {"count": 3000, "share": 0.5, "so": True, "all": [0, 1]}
    assert json.loads((tmp_path / "made.json").read_text())["rows"] == [plain]
    assert "| 3,000 | 0.5 | yes | [0 1] |" in (tmp_path / "made.md").read_text()
    with pytest.raises(TypeError, match="is a set, which JSON cannot hold"):
        write(tmp_path, "made", [{"what": {1}}], {})


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_complete(name):
    experiment = EXPERIMENTS[name]
    assert isinstance(experiment, Experiment)
    assert experiment.title
    assert experiment.output.replace("_", "").isalnum()
    assert "seeds" in experiment.quick
