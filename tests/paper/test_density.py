"""The densities of drawn data, through the command that writes them: what follows from theory and from the rows."""

import json
import math
import os
from functools import partial

import numpy as np
import pytest
import torch

import weft
from weft.paper import EXPERIMENTS, Grid, Recipe, Trial, choose_recipe, search_recipes
from weft.paper.__main__ import main
from weft.paper._density import learn, standard_error, train
from weft.paper._density_masks import METHODS, PUBLISHED, _silent_edges
from weft.paper._density_tables import Paired, advantage, pair_between, pair_up
from weft.paper._density_tasks import Task, makers, network_trial

DRAWN = ["binary", "gaussian", "masks", "entropy"]

RECIPE = Recipe(hidden=20, lr=0.01, weight_decay=0.01, eps=1e-3)


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    """The quick run of every experiment that needs no data, as the command writes it."""
    folder = tmp_path_factory.mktemp("results")
    for name in DRAWN:
        main([name, "--quick", "--device", "cpu", "--out", str(folder)])
    return {name: json.loads((folder / f"{EXPERIMENTS[name].output}_quick.json").read_text()) for name in DRAWN} | {
        "folder": folder
    }


def part(record, which):
    return [row for row in record["rows"] if row["part"] == which]


def where(rows, **values):
    return [row for row in rows if all(row[key] == value for key, value in values.items())]


def first_table(name, rows):
    return next(iter(EXPERIMENTS[name].tables(rows).values()))


# What holds by theory.


@pytest.mark.parametrize("name", DRAWN)
def test_no_model_beats_the_truth(name, records):
    # The mean of log(true / model) over test rows is at least zero but for chance: here, over all trials of a setting.
    rows = part(records[name], "test")
    for data, n, model in {(row["data"], row["n"], row["model"]): None for row in rows}:
        each = where(rows, data=data, n=n, model=model)
        assert np.mean([row["nll"] - row["truth"] for row in each]) > 0


@pytest.mark.parametrize("name", ["binary", "gaussian", "entropy"])
def test_more_rows_bring_both_models_nearer_to_the_truth(name, records):
    rows = part(records[name], "test")
    for data, model in {(row["data"], row["model"]): None for row in rows}:
        each = where(rows, data=data, model=model)
        few, many = (where(each, n=pick(row["n"] for row in each)) for pick in (min, max))
        excess = [np.mean([row["nll"] - row["truth"] for row in some]) for some in (few, many)]
        assert excess[1] < excess[0]


def test_structure_helps_most_where_rows_are_fewest(records):
    for name in ("binary", "gaussian"):
        for row in first_table(name, records[name]["rows"]):
            assert float(row["StrNN − MADE"].split()[0]) < 0
        for row in list(records[name]["summary"].values())[1]:
            assert row["verdict"] in ("confirmed", "not significant")  # three trials are few
            assert float(row["change, paired"].split()[0]) < 0


@pytest.mark.parametrize(("slope", "verdict"), [(1, "confirmed"), (-1, "contradicted"), (0, "not significant")])
def test_the_change_of_an_advantage_is_paired_by_seed(slope, verdict):
    rows = [
        {
            "data": "x",
            "model": "StrNN",
            "n": n,
            "seed": seed,
            # Trials differ by far more than the change.
            "difference": -50 + 10 * seed + slope * (n == 200) * -3 + 0.1 * (-1) ** (seed + n // 100),
            "shared_error": None,
        }
        for n in (200, 500)
        for seed in range(6)
    ]
    assert [row["verdict"] for row in advantage(rows, "more")] == [verdict]


def test_the_entropy_is_that_of_the_network(records):
    rows = part(records["entropy"], "test")
    for row in where(rows, model="StrNN", n=500):
        graph = weft.graph.every_other(10) if row["data"] == "every_other" else weft.graph.random_sparse(10, 0.8, 2547)
        network = weft.data.BinaryNetwork.draw(graph, row["seed"])
        assert row["entropy"] == pytest.approx(network.entropy(), rel=1e-12)
        assert row["excess"] == pytest.approx(row["nll"] - row["truth"], abs=1e-12)
        # 20,000 test rows; the spread of a log-density of ten coins is below 3 nats: four standard errors.
        assert abs(row["truth"] - row["entropy"]) < 4 * 3 / math.sqrt(20_000)


def test_a_neighbourhood_of_the_whole_image_gives_the_structure_of_made():
    models = {name: make(784) for name, make in makers(weft.graph.neighbourhood(28, 28, 28), "binary", "cpu").items()}
    reached = [model.net.jacobian_structure(sparse=True) for model in models.values()]
    assert (reached[0] != reached[1]).nnz == 0
    assert reached[0].nnz == 784 * 783 // 2


# Pairs.


@pytest.mark.parametrize("name", DRAWN)
def test_each_difference_is_that_of_a_pair(name, records):
    rows = part(records[name], "test")
    assert [row for row in rows if row["model"] != "MADE"]
    for row in rows:
        if row["model"] == "MADE":
            assert "difference" not in row
            continue
        [made] = where(rows, data=row["data"], n=row["n"], model="MADE", seed=row["seed"])
        assert row["difference"] == pytest.approx(row["nll"] - made["nll"], abs=1e-9)
        assert row["truth"] == made["truth"], "the same test rows"
        assert 0 < row["difference_error"] < math.hypot(row["error"], made["error"]), "pairing takes the noise away"
        assert row["shared_error"] is None, "each trial has test rows of its own"


def test_the_error_of_a_mean_difference_is_over_the_trials():
    values = [0.3, -0.1, 0.4, 0.2]
    rows = [{"difference": value, "shared_error": None, "difference_error": 9.0} for value in values]
    paired = pair_up(rows)
    assert (paired.mean, paired.pairs) == (pytest.approx(0.2), 4)
    assert paired.error == pytest.approx(np.std(values, ddof=1) / 2)
    shared = pair_up([{**row, "shared_error": 0.5} for row in rows])
    assert shared.error == pytest.approx(math.hypot(paired.error, 0.5))
    alone = pair_up(rows[:1])
    assert (alone.error, alone.pairs) == (9.0, 1)


@pytest.mark.parametrize(
    ("mean", "pairs", "verdict"),
    [
        (-2.9, 4, "not significant"),  # Student's t with 3 degrees of freedom: 3.18
        (-3.3, 4, "confirmed: StrNN better"),
        (3.3, 4, "contradicted: MADE better"),
        (-99.0, 1, "one pair: no verdict"),
    ],
)
def test_a_verdict_follows_from_the_pairs(mean, pairs, verdict):
    assert Paired(mean, 1.0, pairs).verdict("StrNN", "MADE") == verdict
    assert Paired(mean, 1.0, pairs).verdict("StrNN", "MADE", claimed=False) == verdict.split(": ")[-1] or pairs == 1


def test_two_models_are_paired_by_their_trials():
    first, second = ([{"nll": value} for value in values] for values in ([1.0, 2.0, 4.0], [0.5, 2.0, 3.0]))
    paired = pair_between(first, second)
    assert paired.mean == pytest.approx(0.5)
    assert paired.error == pytest.approx(0.5 / math.sqrt(3))
    assert not pair_between(first[:1], second[:1]).significant


@pytest.mark.parametrize("name", ["binary", "gaussian", "masks"])
def test_verdicts_can_be_negative(name, records):
    rows = records[name]["rows"]
    turned = []
    for row in rows:
        if row["part"] == "test" and row["model"] != "MADE":
            better = row["nll"] - row["difference"] + 5 + 0.001 * row["seed"]
            row = {**row, "nll": better, "difference": 5 + 0.001 * row["seed"]}
        turned.append(row)
    words = {row["verdict"].split(":")[0] for row in first_table(name, turned)} - {""}
    assert words == {"contradicted"}
    if name == "masks":
        claim = list(EXPERIMENTS[name].tables(turned).values())[1]
        assert claim[0]["verdict"].startswith("not confirmed")


def test_a_shared_test_set_counts_its_rows():
    x = network_trial(weft.graph.chain(5), "binary", seed=0, n=100, test_rows=400)
    trials = [Trial(seed, x.train, x.validation, x.test) for seed in range(3)]
    models = {name: (make(20), RECIPE) for name, make in makers(weft.graph.chain(5), "binary", "cpu").items()}
    rows, trained = learn(models, trials, epochs=5)
    assert [(row["model"], row["seed"]) for row in rows] == [(name, seed) for name in models for seed in range(3)]
    terms = [torch.stack([member.log_prob(x.test) for member in trained[name]]).double().mean(dim=0) for name in models]
    assert rows[0]["shared_error"] == pytest.approx(standard_error((terms[0] - terms[1]).detach()), rel=1e-6)
    assert len({row["shared_error"] for row in rows[:3]}) == 1


# Trials.


@pytest.mark.parametrize("kind", ["binary", "gaussian"])
def test_a_trial_is_counted_as_in_the_paper_and_shares_its_test_rows_over_n(kind):
    graph = weft.graph.every_other(8)
    small, large = (network_trial(graph, kind, seed=3, n=n) for n in (100, 2000))
    assert [len(rows) for rows in (large.train, large.validation, large.test)] == [1600, 400, 2000]
    assert torch.equal(small.test, large.test)
    assert torch.equal(small.truth, large.truth)
    other = network_trial(graph, kind, seed=4, n=100)
    assert not torch.equal(small.test, other.test)
    kept = torch.cat([large.validation, large.train, large.test])
    if kind == "gaussian":
        assert len(torch.unique(kept, dim=0)) == len(kept), "no row is in two parts"


def test_members_begin_with_the_weights_of_their_seeds():
    x = network_trial(weft.graph.chain(4), "binary", seed=0, n=100)
    trials = [Trial(seed, x.train, x.validation, x.test) for seed in (5, 6, 5)]
    model = weft.StrNNDensity(weft.graph.chain(4), hidden=(8,))
    before = torch.get_rng_state()
    members, results = train(model, trials, [RECIPE] * 3, epochs=2)
    assert torch.equal(torch.get_rng_state(), before)
    first, second, again = (torch.cat([p.detach().flatten() for p in each.parameters()]) for each in members)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    assert all(len(result.history) == 2 for result in results)


# The search.


@pytest.mark.parametrize("name", ["binary", "gaussian", "masks"])
def test_the_search_has_the_same_budget_for_each_model_and_its_best_is_taken(name, records):
    searched, test = part(records[name], "search"), part(records[name], "test")
    keys = ("hidden", "lr", "weight_decay", "eps")
    for data in {row["data"]: None for row in test}:
        models = list({row["model"]: None for row in where(searched, data=data)})
        assert models == (["MADE", "Greedy"] if name == "masks" else ["StrNN", "MADE"])
        assert len({len(where(searched, data=data, model=model)) for model in models}) == 1
        for model in models:
            tried = {}
            for row in where(searched, data=data, model=model):
                tried.setdefault(tuple(row[key] for key in keys), []).append(row["validation"])
            best = min(tried, key=lambda point: np.mean(tried[point]))
            for row in where(test, data=data, model=model):
                assert tuple(row[key] for key in keys) == best
                assert row["recipe"] == f"best of 2 on validation rows, n = {where(searched, data=data)[0]['n']}"
    assert {row["seed"] for row in searched}.isdisjoint({row["seed"] for row in test})


def test_published_recipes_are_not_searched():
    few = Grid(units=(1,), penalties=((0.01, 1e-3),), rates=(0.01,), seeds=1, epochs=1)
    rows = EXPERIMENTS["gaussian"].run(seeds=1, sizes=(50,), d=20, grid=few)
    assert {row["data"] for row in where(rows, part="search")} == {"random_sparse, d = 20"}
    known = where(rows, part="test", data="prev_2, d = 20")
    assert [(row["model"], row["hidden"], row["eps"]) for row in known] == [("StrNN", 80, 1e-3), ("MADE", 140, 0.1)]


def test_what_breaks_down_is_not_chosen_and_stops_no_other():
    trial = network_trial(weft.graph.chain(4), "gaussian", seed=0, n=100)
    make = makers(weft.graph.chain(4), "gaussian", "cpu")["StrNN"]
    recipes = [Recipe(8, lr, 0.0, 1e-8) for lr in (0.01, 1e30)]
    rows = search_recipes(make, [trial], recipes, epochs=5)
    assert [row["lr"] for row in rows] == [0.01, 1e30]
    assert math.isfinite(rows[0]["validation"])
    assert rows[1]["validation"] is None
    assert choose_recipe(rows) == recipes[0]
    with pytest.raises(ValueError, match=r"^none of 1 recipes trained without breaking down; try smaller learning"):
        choose_recipe(rows[1:])


# What the paper says of masks.


def test_the_published_table_is_complete():
    settings = [(name, n) for name in ("random_sparse", "prev_3", "every_other") for n in (5000, 2000)]
    assert list(PUBLISHED) == settings
    for words in PUBLISHED.values():
        assert [each.split()[0] for each in words.split(", ")] == ["MADE", "Greedy", "IP", "IP-var", "Zuko"]
    assert [method for method in METHODS if method not in PUBLISHED["prev_3", 2000]] == ["Balanced"]


def test_published_numbers_stand_beside_those_computed(records):
    rows = [{**row, "n": 2000} for row in records["masks"]["rows"]]
    table = first_table("masks", rows)
    assert len(table) == 3 * 6
    [line] = where(table, data="prev_3", method="Greedy")
    assert line["published"] == "8.768 ± 0.130"
    assert line["published − MADE"] == "-0.048"
    [line] = where(table, data="prev_3", method="Balanced")
    assert line["published"] == line["published − MADE"] == "not stated"


def test_edges_lost_to_silent_units_are_counted(records):
    rows = part(records["masks"], "silent")
    assert len(rows) == len(part(records["masks"], "test"))
    graph = weft.graph.previous(12, 3)
    for row in where(rows, data="prev_3"):
        assert row["edges"] == (12 * 11 // 2 if row["model"] == "MADE" else graph.edges_count)
        assert 0 <= row["silent"] < row["edges"]


def test_a_unit_below_zero_on_every_row_loses_its_edges():
    graph = weft.graph.chain(3)
    member = weft.StrNNDensity(graph, hidden=(4,), execution="dense")
    with torch.no_grad():
        weight, bias = member.net.layers[0].weight, member.net.layers[0].bias
        weight.fill_(1.0)
        bias.copy_(torch.where(torch.from_numpy(member.net.factorization.masks[0][:, 1]), -5.0, 1.0))
    task = Task("made", 3, {}, partial(network_trial, graph, "binary"), (50,))
    [row] = _silent_edges(task, 50, {"StrNN": [member]})
    assert (row["edges"], row["silent"]) == (2, 1)


# What the command writes and prints.


@pytest.mark.parametrize("name", DRAWN)
def test_the_record_names_device_recipes_and_seeds(name, records):
    record = records[name]
    assert record["command"] == f"python -m weft.paper {name} --quick --device cpu"
    assert record["device"] == f"{os.cpu_count()} CPU cores"
    rows = part(record, "test")
    assert {row["seed"] for row in rows} == set(range(EXPERIMENTS[name].quick["seeds"]))
    for row in rows:
        assert {"hidden", "lr", "weight_decay", "eps", "recipe", "epochs", "fit_seconds"} <= row.keys()
    [*_, recipes] = record["summary"].values()
    assert {"hidden units", "learning rate", "weight decay", "epsilon", "source"} <= recipes[0].keys()


@pytest.mark.parametrize("name", DRAWN)
def test_the_picture_is_a_png(name, records):
    picture = (records["folder"] / f"{EXPERIMENTS[name].output}_quick.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(picture) > 20_000


def test_the_picture_draws_the_means_and_the_adjacency(records):
    rows = records["binary"]["rows"]
    drawn = EXPERIMENTS["binary"].draw(rows)
    titles = [axes.get_title() for axes in drawn.axes]
    assert titles[:2] == ["every_other, d = 40", "StrNN − MADE, paired"]
    assert titles[2] == "every_other, the first 40 variables"
    lines = {line.get_label(): line for line in drawn.axes[0].lines}
    chosen = where(part(records["binary"], "test"), data="every_other, d = 40", model="StrNN")
    means = [np.mean([row["nll"] for row in where(chosen, n=n)]) for n in (100, 400)]
    np.testing.assert_allclose(lines["StrNN"].get_ydata(), means)
    shown = drawn.axes[2].images[0].get_array()
    np.testing.assert_array_equal(shown, weft.graph.every_other(40).adjacency())


def test_the_same_seeds_give_the_same_rows():
    few = Grid(units=(2,), penalties=((0.01, 1e-3),), rates=(0.01, 0.001), seeds=1, epochs=3)
    runs = [EXPERIMENTS["binary"].run(seeds=2, sizes=(60,), dimensions=(6, 6), grid=few) for _ in range(2)]
    first, again = ([{k: v for k, v in row.items() if k != "fit_seconds"} for row in rows] for rows in runs)
    assert first == again


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["factorization", "--quick", "--device", "cpu"], "factorization computes on the CPU alone; leave it out"),
        (["binary", "--quick", "--device", "cuda"], "got 'cuda', but PyTorch finds no CUDA device"),
        (["binary", "--quick", "--device", "gpu"], "argument --device: invalid choice: 'gpu'"),
        (["--device", "cpu"], "options need an experiment"),
    ],
    ids=" ".join,
)
def test_a_wrong_device_is_refused_before_any_work(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
