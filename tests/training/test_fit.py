"""One fit: which weights are left, how it steps, which rows train, and what is told."""

import io
import math
import random
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, ReduceLROnPlateau

import weft

from .cases import GRAPH, MODELS, Recorder, Stop, assert_same, assert_same_result, make, rows_for, sorted_rows, stop_at
from .cases import weights_of as weights

SHORT = {"epochs": 4, "batch_size": 16, "lr": 0.02}


def fitted(name="gaussian", n=60, **options):
    model = make(name)
    x, context = rows_for(name, n)
    validation = options.pop("validation", 0.2)
    return model, weft.fit(model, x, validation, context=context, **{**SHORT, **options})


def recorder(**options):
    torch.manual_seed(0)
    return Recorder(GRAPH, "gaussian", **{"hidden": (6,), "dtype": torch.float64, **options})


# Which weights are left


def test_the_best_weights_are_left_and_are_copies():
    seen, best = {}, []

    def record(told):
        seen[told.number] = weights(told.model)
        best.append(told.best)

    validation, _ = rows_for(n=30, seed=7)
    model, result = fitted(n=40, validation=validation, epochs=25, batch_size=8, lr=0.1, callbacks=[record])
    history = result.history
    assert result.best_epoch == history["epoch"][history["validation"].argmin()] < 25
    assert result.best_validation == history["validation"].min()
    running = np.minimum.accumulate(history["validation"])
    assert best == [epoch == 0 or running[epoch] < running[epoch - 1] for epoch in range(25)]
    assert all(torch.equal(tensor, seen[result.best_epoch][name]) for name, tensor in weights(model).items())
    assert not torch.equal(seen[25]["net.layers.0.weight"], model.net.layers[0].weight)
    torch.testing.assert_close(-model.log_prob(validation).mean().item(), result.best_validation, rtol=1e-12, atol=0)


def test_without_validation_the_last_epoch_is_kept():
    seen = []
    model, result = fitted(validation=None, patience=1, callbacks=[lambda told: seen.append(weights(told.model))])
    assert (len(result.history), result.best_epoch, result.stopped) == (4, 4, "epochs")
    assert math.isnan(result.best_validation)
    assert result.history["validation"].isna().all()
    assert all(torch.equal(tensor, seen[-1][name]) for name, tensor in weights(model).items())


@pytest.mark.parametrize("name", MODELS)
def test_the_modules_are_as_they_were_but_for_their_weights(name):
    model = make(name)
    parameters = list(model.parameters())
    x, context = rows_for(name)
    weft.fit(model, x, context=context, **SHORT)
    assert not any(module.training for module in model.modules())
    assert all(mine is before for mine, before in zip(model.parameters(), parameters, strict=True))
    assert all(parameter.grad is None and parameter.requires_grad for parameter in parameters)
    model.log_prob(x, context).sum().backward()
    assert all(parameter.grad is not None for parameter in parameters)


def test_what_stops_a_fit_leaves_the_best_weights_too():
    model, alone = make(), make()
    x, _ = rows_for()
    options = {"lr": 0.02, "batch_size": 16, "epochs": 9}
    with pytest.raises(Stop):
        weft.fit(model, x, callbacks=[stop_at(4)], **options)
    weft.fit(alone, x, **{**options, "epochs": 4})  # the fourth was the best when it was told of
    assert_same(model, alone)
    assert not model.training


def test_frozen_parameters_stay():
    model = make()
    frozen = model.net.layers[0].weight.requires_grad_(False)
    before = frozen.clone()
    frozen.grad = mark = torch.ones_like(frozen)
    weft.fit(model, rows_for()[0], optimizer=partial(torch.optim.AdamW, weight_decay=0.5), **SHORT)
    assert torch.equal(frozen, before)
    assert frozen.grad is mark
    assert not torch.equal(model.net.layers[1].weight, make().net.layers[1].weight)


def test_a_gradient_from_before_does_not_count():
    model, fresh = make(), make()
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 1e3)
    for each in (model, fresh):
        weft.fit(each, rows_for()[0], **SHORT)
    assert_same(model, fresh)


# How it steps


def by_hand(model, x, optimizer, rates, clip=None):
    """Train on all rows at once, in the plainest way."""
    optimizer = optimizer(model.parameters(), lr=1.0)
    for rate in rates:
        optimizer.param_groups[0]["lr"] = rate
        optimizer.zero_grad()
        (-model(x).sum(dim=1).mean()).backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()


@pytest.mark.parametrize(
    ("optimizer", "factory"),
    [
        ("adam", torch.optim.Adam),
        ("adamw", torch.optim.AdamW),
        (partial(torch.optim.SGD, momentum=0.9), partial(torch.optim.SGD, momentum=0.9)),
    ],
    ids=["adam", "adamw", "sgd"],
)
@pytest.mark.parametrize("clip", [None, 0.1])
def test_steps_are_those_of_plain_pytorch(optimizer, factory, clip):
    x, _ = rows_for("mixed")
    units, _ = rows_for(
        "mixed", seed=8
    )  # not its own, by which the first gradient of a mean would be nothing but noise
    model, other = make("mixed").standardize_(units), make("mixed").standardize_(units)
    weft.fit(model, x, None, epochs=8, batch_size=60, lr=0.01, optimizer=optimizer, clip=clip)
    by_hand(other, x, factory, [0.01] * 8, clip)
    for mine, plain in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, plain, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        (None, [1.0] * 8),
        ("multi-step", [1.0] * 4 + [0.1] * 2 + [0.01] * 2),
        ("cosine", [0.5 + 0.5 * math.cos(math.pi * epoch / 8) for epoch in range(8)]),
        (partial(LambdaLR, lr_lambda=lambda epoch: 1 / (1 + epoch)), [1 / (1 + epoch) for epoch in range(8)]),
    ],
    ids=["none", "multi-step", "cosine", "lambda"],
)
def test_schedules(schedule, rates):
    (x, _), (units, _) = rows_for(), rows_for(seed=8)
    model, other = make().standardize_(units), make().standardize_(units)
    result = weft.fit(model, x, None, epochs=8, batch_size=60, lr=0.03, schedule=schedule)
    np.testing.assert_allclose(result.history["lr"], 0.03 * np.array(rates), rtol=1e-9)
    by_hand(other, x, torch.optim.Adam, result.history["lr"])
    for mine, plain in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, plain, rtol=1e-9, atol=1e-10)


def test_a_schedule_may_be_any_of_pytorch():
    for schedule in (partial(CosineAnnealingLR, T_max=2), partial(ReduceLROnPlateau, patience=1)):
        _, result = fitted(schedule=schedule)
        assert len(result.history) == 4


def test_a_plateau_is_one_of_validation():
    for validation in (0.2, None):  # without validation rows it is one of the training loss
        _, result = fitted(epochs=60, validation=validation, patience=None, lr=0.3, schedule="plateau")
        history = result.history["train" if validation is None else "validation"].tolist()
        rate, best, bad, expected = 0.3, math.inf, 0, []
        for value in history:
            expected.append(rate)
            bad = 0 if value < best else bad + 1
            best = min(best, value)
            if bad > 5:
                rate, bad = rate / 10, 0
        assert result.history["lr"].tolist() == pytest.approx(expected)
        assert len(set(expected)) > 1


def test_a_plateau_is_seen_below_zero():
    x = 1e-6 * rows_for()[0]  # densities so high that the loss is far below zero
    model = make()
    result = weft.fit(model, x, epochs=60, patience=None, lr=0.3, standardize=False, schedule="plateau")
    assert (result.history["validation"] < 0).any()
    assert result.history["lr"].nunique() > 1


def test_multi_step_with_a_single_epoch():
    assert fitted(epochs=1, lr=0.1, schedule="multi-step")[1].history["lr"].tolist() == [0.1]


def test_patience():
    for patience in (1, 4):
        _, result = fitted(n=40, epochs=60, lr=0.1, batch_size=8, patience=patience)
        assert result.stopped == "patience"
        assert len(result.history) == result.best_epoch + patience
    _, result = fitted(n=40, epochs=60, lr=0.1, batch_size=8, patience=None)
    assert (result.stopped, len(result.history)) == ("epochs", 60)


def test_history_is_of_the_weights_it_says():
    x, _ = rows_for()
    validation, _ = rows_for(seed=5)
    model = make().standardize_(x)
    before = -model.log_prob(x).mean().item()
    seen = []
    look = lambda told: seen.append((told, -told.model.log_prob(validation).mean().item()))  # noqa: E731
    result = weft.fit(model, x, validation, epochs=5, batch_size=60, lr=0.01, callbacks=[look])
    assert list(result.history.columns) == ["epoch", "train", "validation", "lr", "seconds"]
    assert result.history["epoch"].tolist() == [1, 2, 3, 4, 5]
    assert result.history["train"][0] == pytest.approx(before, rel=1e-12)  # as it was before the one step of the epoch
    assert [found for _, found in seen] == pytest.approx(result.history["validation"], rel=1e-12)
    assert [told.validation for told, _ in seen] == result.history["validation"].tolist()
    assert [told.train for told, _ in seen] == result.history["train"].tolist()
    assert result.history["seconds"].is_monotonic_increasing
    assert result.seconds >= result.history["seconds"].iloc[-1] > 0


def test_a_mean_over_batches_of_unequal_size():
    x, _ = rows_for(n=50)
    model = make().standardize_(x)
    expected = -model.log_prob(x).mean().item()
    result = weft.fit(model, x, None, epochs=1, batch_size=20, lr=1e-300)  # 20, 20 and 10 rows
    assert result.history["train"][0] == pytest.approx(expected, rel=1e-12)


# The loss goes through forward


def test_a_hook_on_the_module_sees_every_batch():
    model = make()
    sizes = {True: [], False: []}
    model.register_forward_hook(lambda module, rows, _: sizes[module.training].append(len(rows[0])))
    x, _ = rows_for()
    weft.fit(model, x, epochs=3, batch_size=20)
    assert sizes == {True: [20, 20, 8] * 3, False: [12] * 3}


def test_the_gradient_goes_through_forward():
    model = make("gaussian")
    model.register_forward_hook(lambda module, _, terms: terms * 0 if module.training else terms)
    begun = make("gaussian")
    result = weft.fit(model, rows_for()[0], **SHORT)
    assert all(torch.equal(mine, before) for mine, before in zip(model.parameters(), begun.parameters(), strict=True))
    assert result.history["train"].abs().max() == 0
    assert result.best_epoch == 1


# Randomness


def random_states():
    return torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()


@pytest.mark.parametrize("count", [1, 2])
def test_the_global_random_state_is_not_changed(count):
    models = [make(seed=seed) for seed in range(count)]
    x, _ = rows_for()
    loader = torch.utils.data.DataLoader(x, batch_size=16, shuffle=True)
    before = random_states()
    weft.fit(models, x, **SHORT)
    assert random_states() == before
    models = [make(seed=seed) for seed in range(count)]  # not standardized yet
    before = random_states()
    weft.fit(models, loader, x, epochs=2)
    assert random_states() == before
    with pytest.raises(Stop):
        weft.fit(models, x, callbacks=[stop_at(2)], **SHORT)
    assert random_states() == before


@pytest.mark.parametrize("name", MODELS)
def test_a_seed_gives_a_result_bit_for_bit(name):
    (model, result), (again, same), (other, different) = (fitted(name, seed=seed) for seed in (3, 3, 4))
    assert_same(model, again)
    assert_same_result(result, same)
    assert not torch.equal(model.net.layers[0].weight, other.net.layers[0].weight)
    assert result.history["train"].tolist() != different.history["train"].tolist()


def test_the_global_seed_does_not_matter():
    found = []
    for seed in range(2):
        model = make()
        torch.manual_seed(seed)
        weft.fit(model, rows_for()[0], **SHORT)
        found.append(model)
    assert_same(*found)


def test_every_epoch_has_its_own_order():
    model = recorder()
    x, _ = rows_for()
    weft.fit(model, x, None, epochs=2, batch_size=60)
    first, second = model.trained
    assert not torch.equal(first, second)
    assert torch.equal(sorted_rows([first]), sorted_rows([second]))
    assert torch.equal(sorted_rows([first]), sorted_rows([x]))


# Validation


@pytest.mark.parametrize(("share", "apart"), [(0.2, 12), (0.5, 30), (0.01, 1), (0.97, 58), (np.float32(0.25), 15)])
def test_rows_of_a_share_never_train(share, apart):
    model = recorder()
    x, _ = rows_for()
    weft.fit(model, x, share, epochs=3, batch_size=2)
    trained, held = torch.cat(model.trained), torch.cat(model.evaluated)
    assert len(trained) == 3 * (60 - apart)
    assert len(held) == 3 * apart
    mine, theirs = sorted_rows([trained])[::3], sorted_rows([held])[::3]
    assert torch.equal(sorted_rows([mine, theirs]), sorted_rows([x]))


def test_units_are_of_the_rows_that_train_alone():
    model = recorder()
    x, _ = rows_for()
    x[:, 1] += torch.arange(60)
    weft.fit(model, x, 0.3, epochs=1, batch_size=42)
    [train] = model.trained
    torch.testing.assert_close(model.shift, train.mean(dim=0), rtol=1e-13, atol=0)
    torch.testing.assert_close(model.scale, train.std(dim=0, correction=0), rtol=1e-13, atol=0)
    assert not torch.allclose(model.shift, x.mean(dim=0), rtol=1e-6)


def test_units_that_are_set_stay_and_none_are_set_unasked():
    x, _ = rows_for()
    model = make().standardize_(x[:20])
    shift = model.shift.clone()
    weft.fit(model, x, **SHORT)
    assert torch.equal(model.shift, shift)
    plain = make()
    weft.fit(plain, x / 100, standardize=False, **SHORT)
    weft.fit(plain, x / 100, **SHORT)  # a later fit does not put other units under trained weights
    assert torch.equal(plain.shift, torch.zeros_like(plain.shift))
    assert torch.equal(plain.scale, torch.ones_like(plain.scale))


def test_every_seed_sets_other_rows_apart():
    x, _ = rows_for()
    found = []
    for seed in (0, 1, 0):
        model = recorder()
        weft.fit(model, x, epochs=1, batch_size=48, seed=seed)
        found.append(sorted_rows(model.evaluated))
    assert torch.equal(found[0], found[2])
    assert not torch.equal(found[0], found[1])


def test_a_table_of_validation_rows():
    model = recorder()
    x, _ = rows_for()
    validation, _ = rows_for(n=30, seed=9)
    weft.fit(model, x, validation.numpy(), epochs=1, batch_size=60)
    assert torch.equal(torch.cat(model.evaluated), validation)
    assert torch.equal(sorted_rows(model.trained), sorted_rows([x]))


def test_many_validation_rows_are_evaluated_in_pieces():
    model = recorder()
    x, _ = rows_for()
    validation, _ = rows_for(n=2500, seed=9)
    result = weft.fit(model, x, validation, epochs=1, batch_size=60)
    assert [len(piece) for piece in model.evaluated] == [1024, 1024, 452]
    assert result.best_validation == pytest.approx(-model.log_prob(validation).mean().item(), rel=1e-12)


# Callbacks and progress


@pytest.mark.parametrize("count", [1, 3])
def test_callbacks_are_told_once_a_member_and_epoch(count):
    models = [make(seed=seed) for seed in range(count)]
    first, second = [], []
    weft.fit(models if count > 1 else models[0], rows_for()[0], callbacks=(first.append, second.append), **SHORT)
    assert [(told.number, told.member) for told in first] == [(e, m) for e in range(1, 5) for m in range(count)]
    assert all(told.model is models[told.member] for told in first)
    assert all(mine is theirs for mine, theirs in zip(first, second, strict=True))
    assert "StrNN" not in repr(first[0])


def test_a_callback_that_returns_true_stops_and_nothing_else_does():
    _, result = fitted(epochs=9, callbacks=[lambda told: told.number == 3, lambda told: 1])
    assert (len(result.history), result.stopped) == (3, "callback")
    _, result = fitted(epochs=3, callbacks=[lambda told: "yes"])
    assert (len(result.history), result.stopped) == (3, "epochs")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def plain(monkeypatch):
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "TERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.usefixtures("plain")
class TestProgress:
    def test_silent_where_nobody_looks(self, capsys):
        fitted()
        assert capsys.readouterr() == ("", "")

    def test_shown_when_asked(self, capsys):
        fitted(progress=True)
        out, err = capsys.readouterr()
        assert out == ""
        assert "Fitting" in err
        assert "epoch 4, train " in err
        assert "\x1b" not in err  # no colours into a file

    def test_shown_on_a_terminal_and_wiped(self, monkeypatch):
        screen = Terminal()
        monkeypatch.setattr("sys.stderr", screen)
        fitted()
        assert "Fitting" in screen.getvalue()
        assert screen.getvalue().endswith("\x1b[2K")

    def test_silent_on_a_terminal_when_told(self, monkeypatch):
        screen = Terminal()
        monkeypatch.setattr("sys.stderr", screen)
        fitted(progress=False)
        assert screen.getvalue() == ""

    def test_an_ensemble_says_how_many_train(self, capsys):
        weft.fit([make(seed=seed) for seed in range(3)], rows_for()[0], progress=True, **SHORT)
        assert "3 of 3 models" in capsys.readouterr().err

    def test_an_error_ends_it(self, capsys):
        with pytest.raises(Stop):
            fitted(progress=True, callbacks=[stop_at(2)])
        fitted(progress=True)  # a second live display would raise
        assert capsys.readouterr().err.count("Fitting") == 2


def test_the_plot():
    _, result = fitted()
    ax = result.plot()
    lines = {line.get_label(): line for line in ax.lines}
    assert list(lines) == ["train", "validation", f"kept: {result.best_epoch}"]
    assert lines["validation"].get_ydata().tolist() == result.history["validation"].tolist()
    mine = plt.figure().add_subplot()
    assert fitted(validation=None)[1].plot(mine) is mine
    assert [line.get_label() for line in mine.lines] == ["train", "kept: 4"]
    plt.close("all")


def test_one_callback_will_do_and_any_truth_value_stops():
    seen = []
    fitted(epochs=2, callbacks=seen.append)
    assert [told.number for told in seen] == [1, 2]
    for answer in (True, np.True_):
        _, result = fitted(epochs=5, callbacks=lambda told, answer=answer: answer)
        assert (result.stopped, len(result.history)) == ("callback", 1)


def test_a_member_shows_the_weights_of_its_epoch():
    x, _ = rows_for()
    seen, alone = [], []
    weft.fit([make(), make()], x, epochs=3, seed=[0, 5], callbacks=lambda told: seen.append(weights(told.model)))
    weft.fit(make(), x, epochs=3, seed=5, callbacks=lambda told: alone.append(weights(told.model)))
    for mine, other in zip(seen[1::2], alone, strict=True):
        for name, tensor in mine.items():
            torch.testing.assert_close(tensor, other[name], rtol=1e-10, atol=1e-10)


def test_gradients_may_be_switched_off_around_it():
    with torch.no_grad():
        _, result = fitted(epochs=2)
    assert len(result.history) == 2


def test_refused_rows_leave_the_units_unsettled():
    x, _ = rows_for()
    model = make()
    x[:, 1] = 3.0
    with pytest.raises(ValueError, match="is constant"):
        weft.fit(model, x)
    assert not model.standardized
    assert torch.equal(model.shift, torch.zeros_like(model.shift))
