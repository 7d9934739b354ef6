"""An ensemble is its members, each as it would have been alone."""

import itertools
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch.optim import SGD, AdamW, RMSprop
from torch.optim.lr_scheduler import ExponentialLR, ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset

import weft
from weft.training import Checkpoint

from .cases import GRAPH, MODELS, ROWS, make, rows_for, weights_of

TWENTY = {"epochs": 10, "batch_size": 24, "lr": 0.02, "patience": None}
"""Twenty steps: of 60 rows 12 validate, and 48 make two batches."""

PLATEAU = partial(ReduceLROnPlateau, factor=0.3, patience=0, threshold=0.05, threshold_mode="abs")

OPTIONS = {
    "adam": {},
    "adamw": {"optimizer": "adamw"},
    "adamw, much decay": {"optimizer": partial(AdamW, weight_decay=0.3, eps=1e-2)},
    "momentum": {"optimizer": partial(SGD, momentum=0.9, nesterov=True), "lr": 0.002},
    "rmsprop": {"optimizer": RMSprop},
    "clip": {"clip": 0.05},
    "plateau": {"schedule": PLATEAU},
    "multi-step": {"schedule": "multi-step"},
    "cosine": {"schedule": "cosine"},
    "exponential": {"schedule": partial(ExponentialLR, gamma=0.8)},
    "rates": {"lr": [0.3, 0.0001, 0.02]},
    "seeds": {"seed": [7, 3, 11]},
    "seeds that repeat": {"seed": [5, 5, 5]},
    "no validation": {"validation": None},
    "not standardized": {"standardize": False},
    "all": {"optimizer": "adamw", "clip": 0.2, "schedule": PLATEAU, "lr": [0.1, 0.01, 0.02], "seed": [3, 2, 1]},
}


def pick(options, member):
    """Return the options of one member."""
    chosen = {name: each[member] if isinstance(each, list) else each for name, each in options.items()}
    chosen.setdefault("seed", member)
    return chosen


def both(name, train, validation=0.2, **options):
    """Fit three models together and each alone, and return pairs of model and result."""
    options = {**TWENTY, **options}
    together = [make(name, seed) for seed in range(3)]
    results = weft.fit(together, train, validation, **options)
    alone = []
    for member in range(3):
        model = make(name, member)
        mine = [each[member] if isinstance(each, list) else each for each in (train, validation)]
        alone.append((model, weft.fit(model, *mine, **pick(options, member))))
    return list(zip(together, results, strict=True)), alone


def assert_alike(found, expected, tolerance=1e-10):
    for (model, result), (other, alone) in zip(found, expected, strict=True):
        columns = ["epoch", "train", "validation", "lr"]
        mine, theirs = (torch.tensor(each.history[columns].to_numpy(dtype=float)) for each in (result, alone))
        torch.testing.assert_close(mine, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)
        assert (result.best_epoch, result.stopped) == (alone.best_epoch, alone.stopped)
        for name, tensor in weights_of(other).items():
            torch.testing.assert_close(weights_of(model)[name], tensor, rtol=tolerance, atol=tolerance)
        assert not model.training


def moved(model, begun):
    """Return how far the weights of a model are from where they began."""
    pairs = zip(model.parameters(), begun.parameters(), strict=True)
    return max(float((tensor - other).detach().abs().max()) for tensor, other in pairs)


@pytest.mark.parametrize("validation", [0.2, None], ids=["best", "last"])
@pytest.mark.parametrize("name", MODELS)
def test_twenty_steps_of_every_model(name, validation):
    x, context = rows_for(name)
    found, expected = both(name, x, validation, context=context)
    assert_alike(found, expected)
    assert min(moved(model, make(name, seed)) for seed, (model, _) in enumerate(found)) > 0.03  # they went somewhere
    assert len({result.history["train"].iloc[-1] for _, result in found}) == 3


@pytest.mark.parametrize("option", OPTIONS)
def test_twenty_steps_with_every_option(option):
    options = dict(OPTIONS[option])
    found, expected = both("mixed", rows_for("mixed")[0], options.pop("validation", 0.2), **options)
    assert_alike(found, expected)


def test_the_clip_binds():
    x, _ = rows_for("mixed")
    [clipped, _, _], _ = both("mixed", x, clip=0.05, optimizer=SGD, lr=0.01)
    [free, _, _], _ = both("mixed", x, optimizer=SGD, lr=0.01)
    begun = make("mixed", 0)
    steps = [
        torch.cat([(p - q).flatten() for p, q in zip(model.parameters(), begun.parameters(), strict=True)]).norm()
        for model, _ in (clipped, free)
    ]
    assert steps[0] <= 20 * 0.01 * 0.05 < steps[1]


def test_each_member_has_a_plateau_of_its_own():
    found, expected = both("mixed", rows_for("mixed")[0], schedule=PLATEAU, lr=[0.2, 0.02, 0.05])
    assert_alike(found, expected)
    falls = [tuple(result.history["lr"] / result.history["lr"][0]) for _, result in found]
    assert all(fall[-1] < 1 for fall in falls)
    assert len(set(falls)) > 1


def test_members_with_tables_of_their_own():
    for name in ("gaussian", "context", "missing"):
        drawn = [rows_for(name, seed=seed) for seed in (4, 5, 6)]
        trains, contexts = [x for x, _ in drawn], [context for _, context in drawn]
        validations = [rows_for(name, n=20, seed=seed) for seed in (7, 8, 9)]
        options = {}
        if name == "context":
            options = {"context": contexts, "validation_context": [context for _, context in validations]}
        assert_alike(*both(name, trains, [x for x, _ in validations], **options))
        assert_alike(*both(name, trains, **({"context": contexts} if options else {})))


def test_members_share_one_context():
    x, context = rows_for("context")
    validation, held = rows_for("context", n=30, seed=8)
    assert_alike(*both("context", x, validation, context=context, validation_context=held))


def test_each_member_has_units_of_its_own():
    x, _ = rows_for("gaussian")
    found, expected = both("gaussian", x)
    shifts = torch.stack([model.shift for model, _ in found])
    assert len(shifts.unique(dim=0)) == 3
    for (model, _), (other, _) in zip(found, expected, strict=True):
        assert torch.equal(model.shift, other.shift)
        assert torch.equal(model.scale, other.scale)


def test_members_with_other_masks():
    x, _ = rows_for("made-random")
    found, expected = both("made-random", x)
    masks = [model.net.layers[0].mask for model, _ in found]
    assert not torch.equal(masks[0], masks[1])
    assert_alike(found, expected)
    for seed, (model, _) in enumerate(found):
        assert model.effective_graph() == make("made-random", seed).effective_graph()


def test_a_loader_gives_all_members_the_same_batches():
    x, _ = rows_for("mixed")
    loader = DataLoader(TensorDataset(x[:48]), batch_size=24)
    assert_alike(*both("mixed", loader, x[48:], batch_size=None))


class TestStopping:
    def test_by_patience_at_different_epochs(self):
        options = {"epochs": 40, "batch_size": 16, "patience": 2, "lr": [0.001, 0.5, 0.05]}
        found, expected = both("gaussian", rows_for("gaussian", n=40)[0], **options)
        lengths = [len(result.history) for _, result in found]
        assert len(set(lengths)) == 3
        assert min(lengths) < 15
        assert_alike(found, expected, 1e-8)  # many steps more than twenty

    def test_a_member_that_stopped_stays_exactly_where_it_was(self, tmp_path):
        path = tmp_path / "run"
        last, stopped = [], []

        def look(told):
            if told.number > 1 and told.member == max(running):
                state = torch.load(path, weights_only=True)
                last.append(state["weights"]["last"][0])
                stopped.append([bool(course["best"][2]) for course in state["courses"]])
            return told.member == 1 and told.number == 3

        running = [0, 2]  # of these one is told in every epoch
        models = [make("gaussian", seed) for seed in range(3)]
        options = {"epochs": 8, "batch_size": 16, "lr": 0.05, "optimizer": partial(AdamW, weight_decay=0.5)}
        weft.fit(models, rows_for()[0], callbacks=[look], checkpoint=Checkpoint(path, every=0), **options)
        assert [each[1] for each in stopped] == [False, False, True, True, True, True, True]
        for before, after in itertools.pairwise(last[2:]):
            assert torch.equal(before[1], after[1])
            assert not torch.equal(before[0], after[0])
        assert not torch.equal(last[1][1], last[2][1])

    def test_by_a_callback(self):
        x, _ = rows_for()
        ends = {0: 2, 1: 5, 2: 3}
        models = [make("gaussian", seed) for seed in range(3)]
        options = {"epochs": 9, "batch_size": 24, "lr": 0.02}
        stop = lambda told: told.number == ends[told.member]  # noqa: E731
        results = weft.fit(models, x, None, callbacks=[stop], **options)
        assert [(len(r.history), r.stopped) for r in results] == [(2, "callback"), (5, "callback"), (3, "callback")]
        for member, (model, result) in enumerate(zip(models, results, strict=True)):
            alone = make("gaussian", member)
            expected = weft.fit(alone, x, None, seed=member, **{**options, "epochs": ends[member]})
            assert_alike([(model, replace(result, stopped="epochs"))], [(alone, expected)])


def test_the_best_weights_are_those_of_each_member():
    x, _ = rows_for("gaussian", n=40)
    validation, _ = rows_for("gaussian", n=25, seed=3)
    models = [make("gaussian", seed) for seed in range(3)]
    results = weft.fit(models, x, validation, epochs=25, batch_size=8, lr=[0.3, 0.01, 0.1], patience=None)
    assert len({result.best_epoch for result in results}) == 3
    for model, result in zip(models, results, strict=True):
        assert result.best_validation == result.history["validation"].min()
        assert result.best_epoch == result.history["validation"].argmin() + 1
        torch.testing.assert_close(
            -model.log_prob(validation).mean().item(), result.best_validation, rtol=1e-12, atol=0
        )


def test_frozen_weights_stay_and_may_differ():
    x, _ = rows_for("gaussian")

    def frozen(seed):
        model = make("gaussian", seed)
        model.net.layers[0].weight.requires_grad_(False)
        return model

    models, alone = [frozen(seed) for seed in range(2)], [frozen(seed) for seed in range(2)]
    before = [model.net.layers[0].weight.clone() for model in models]
    assert not torch.equal(*before)
    results = weft.fit(models, x, **TWENTY)
    expected = [(model, weft.fit(model, x, seed=seed, **TWENTY)) for seed, model in enumerate(alone)]
    assert_alike(list(zip(models, results, strict=True)), expected)
    for model, weight in zip(models, before, strict=True):
        assert torch.equal(model.net.layers[0].weight, weight)
        assert not model.net.layers[0].weight.requires_grad
        assert model.net.layers[1].weight.requires_grad


def test_gradients_of_the_models_are_untouched():
    models = [make("gaussian", seed) for seed in range(2)]
    mark = torch.ones_like(models[0].net.layers[0].bias)
    models[0].net.layers[0].bias.grad = mark
    weft.fit(models, rows_for()[0], epochs=2)
    assert models[0].net.layers[0].bias.grad is mark
    assert bool((mark == 1).all())
    assert models[1].net.layers[0].bias.grad is None


def test_an_ensemble_of_one_is_a_list_of_one():
    x, _ = rows_for()
    model, listed, own = make(), make(), make()
    options = {"epochs": 3, "batch_size": 24}
    alone = weft.fit(model, x, **options)
    [result] = weft.fit([listed], x, lr=[1e-3], seed=[0], **options)
    [with_table] = weft.fit((own,), [x], [x[:5]], **options)
    assert_alike([(listed, result)], [(model, alone)], 0)
    assert len(with_table.history) == 3


def test_weights_are_still_the_modules_own():
    model = make()
    weight = model.net.layers[0].weight
    weft.fit([model, make(seed=1)], rows_for()[0], epochs=2)
    assert model.net.layers[0].weight is weight
    model.log_prob(rows_for()[0]).sum().backward()
    assert weight.grad is not None


class TestBadInput:
    def check(self, message, *models, **options):
        train = options.pop("train", rows_for("mixed")[0])
        validation = options.pop("validation", 0.2)
        before = [weights_of(model) for model in models]
        with pytest.raises(ValueError, match=message):
            weft.fit(list(models), train, validation, **{"epochs": 1, **options})
        for model, weights in zip(models, before, strict=True):
            assert all(torch.equal(tensor, weights[name]) for name, tensor in weights_of(model).items())

    @pytest.mark.parametrize(
        ("other", "message"),
        [
            ({"hidden": (5,)}, r"model 1 differs from model 0 in its shape of 'net\.layers\.0\.weight': \(5, 6\)"),
            ({"hidden": (6, 6)}, "model 1 differs from model 0 in its modules"),
            ({"activation": "relu"}, r"in its module 'net\.activations\.0': \('ReLU'.*expected \('Tanh'"),
            ({"missing": "factor"}, r"in its module '': .*'missing': 'factor'"),
            ({"execution": "sparse"}, "model 1 differs from model 0 in its "),
            ({"dtype": torch.float32}, r"in its type: \['torch.float32'\], expected \['torch.float64'\]"),
            ({"context": 2}, "model 1 differs from model 0 in its "),
            ({"kinds": "gaussian"}, r"in its kinds: \['a finite number"),
        ],
        ids=["width", "depth", "activation", "missing", "execution", "dtype", "context", "kinds"],
    )
    def test_models_that_differ(self, other, message):
        self.check(message, make("mixed"), make("mixed", 1, **other))

    def test_activations_that_differ_in_a_number(self):
        steep, flat = (make("mixed", activation=torch.nn.LeakyReLU(slope)) for slope in (0.1, 0.3))
        self.check(r"in its module 'net\.activations\.0': .*0\.3.*expected.*0\.1", steep, flat)

    def test_kinds_that_differ_in_their_order(self):
        graph = weft.graph.full(4)
        kinds = [("binary", "gaussian", "gaussian", "binary"), ("binary", "gaussian", "binary", "gaussian")]
        models = [weft.StrNNDensity(graph, dict(zip(graph.nodes, each, strict=True))) for each in kinds]
        self.check("model 1 differs from model 0 in its kinds", *models, train=torch.zeros(40, 4))

    def test_residual_layers_that_differ(self):
        options = {"hidden": (6, 6), "factorization": "grouped"}
        self.check("model 1 differs", make("mixed", **options), make("mixed", residual=True, **options))

    def test_blocks_that_differ(self):
        graph = weft.graph.full(4)
        models = [
            weft.StrNNDensity(graph, "binary", (5, 5), factorization=weft.masks.MadeRandom(seed), execution="sparse")
            for seed in range(2)
        ]
        self.check("model 1 differs from model 0 in its ", *models, train=torch.zeros(40, 4))

    def test_graphs_that_differ(self):
        other = weft.StrNNDensity(weft.graph.chain(4), MIXED_CHAIN, (6,), "tanh", dtype=torch.float64)
        self.check("model 1 differs from model 0 in its graph", make("mixed"), other)

    def test_frozen_weights_that_differ(self):
        frozen = make("mixed", 1)
        frozen.net.layers[0].bias.requires_grad_(False)
        self.check(r"in its frozen parameters: \['net\.layers\.0\.bias'\], expected \[\]", make("mixed"), frozen)

    def test_one_model_twice(self):
        model = make("mixed")
        self.check("model 2 is in the ensemble twice", model, make("mixed", 1), model)

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"lr": [1e-3]}, "lr has 1 values, expected one, or one for each of 2 models"),
            ({"lr": [1e-3, 0]}, "lr is 0, expected a number above 0"),
            ({"seed": [1, 2, 3]}, "seed has 3 values, expected one, or one for each of 2 models"),
            ({"seed": [1, -2]}, "seed is -2, expected a whole number"),
        ],
    )
    def test_options_of_members(self, options, message):
        self.check(message, make("mixed"), make("mixed", 1), **options)

    def test_tables_of_members(self):
        x, _ = rows_for("mixed")
        models = make("mixed"), make("mixed", 1)
        self.check("train has 3 tables, expected one, or one for each of 2 models", *models, train=[x, x, x])
        self.check(r"the tables of train have \[60, 59\] rows, expected as many in each", *models, train=[x, x[1:]])
        self.check("validation has 1 tables, expected one", *models, validation=[x])
        bad = x.clone()
        bad[7, GRAPH.index("age")] = 2
        self.check(r"train\[1\]: column 'age', row 7: got 2, expected 0 or 1", *models, train=[x, bad])
        held = make("context"), make("context", 1)
        y, context = rows_for("context")
        self.check("the context of train has 1 tables, expected 2", *held, train=[y, y], context=[context])

    def test_rows_are_counted_over_all_members(self):
        self.check("train has the shape", make("mixed"), make("mixed", 1), train=torch.zeros(2, ROWS, 4))


MIXED_CHAIN = dict(zip(weft.graph.chain(4).nodes, MODELS["mixed"]["kinds"].values(), strict=True))
