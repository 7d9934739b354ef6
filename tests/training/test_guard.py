"""A log-likelihood that is no number ends a fit, of a model or a member, and the message says where it began."""

import math
import re

import pytest
import torch
from torch.utils.data import DataLoader

import weft
from weft import StrNNDensity
from weft.training import _loop

from .cases import GRAPH, MIXED, assert_same, rows_for
from .cases import weights_of as weights


class Fragile(StrNNDensity):
    """A density whose term of one variable breaks from one call on, in training or in evaluation."""

    def __init__(self, seed=0, first=10**9, *, node="dose", training=True, value=torch.nan, breaks=True):
        torch.manual_seed(seed)
        super().__init__(GRAPH, MIXED, (6,), dtype=torch.float64)
        self.first, self.column, self.mode = first, GRAPH.index(node), training
        self.calls = 0
        self.register_buffer("added", torch.tensor(value if breaks else 0.0, dtype=torch.float64))

    def forward(self, x, context=None):
        terms = super().forward(x, context)
        if self.training == self.mode:
            self.calls += 1
            if self.calls > self.first:
                hit = torch.arange(len(GRAPH)) == self.column
                terms = torch.where(hit, terms + self.added, terms)
        return terms


OPTIONS = {"batch_size": 12, "epochs": 9, "lr": 0.02}
"""Of 60 rows 48 train, in four batches."""


def fit(model, **options):
    return weft.fit(model, rows_for("mixed")[0], **{**OPTIONS, **options})


@pytest.mark.parametrize("node", GRAPH.nodes)
@pytest.mark.parametrize(("first", "epoch", "batch"), [(0, 1, 0), (3, 1, 3), (4, 2, 0), (10, 3, 2)])
def test_it_names_variable_epoch_and_batch(node, first, epoch, batch):
    expected = (
        f"the log-likelihood of '{node}' became nan in epoch {epoch}, batch {batch} (from 0); the weights of the best "
        f"epoch are kept. Take a smaller lr, or clip=1.0."
    )
    with pytest.raises(FloatingPointError, match=re.escape(expected)):
        fit(Fragile(0, first, node=node))


@pytest.mark.parametrize(("value", "shown"), [(torch.inf, "inf"), (-torch.inf, "-inf")])
def test_infinity_is_no_number_either(value, shown):
    with pytest.raises(FloatingPointError, match=f"'age' became {shown} in epoch 1, batch 2"):
        fit(Fragile(0, 2, node="age", value=value))


def test_the_weights_of_the_best_epoch_are_kept():
    model, whole, kept = Fragile(0, 14), Fragile(0), {}
    with pytest.raises(FloatingPointError, match="epoch 4, batch 2"):
        fit(model, callbacks=[lambda told: kept.update(weights(told.model)) if told.best else None])
    assert kept
    assert all(torch.equal(tensor, kept[name]) for name, tensor in weights(model).items() if name != "added")
    assert not model.training
    fit(whole, epochs=3)
    assert torch.equal(model.net.layers[0].weight, whole.net.layers[0].weight)


def test_before_the_first_epoch_ends_the_first_weights_are_kept():
    model = Fragile(0, 2)
    with pytest.raises(FloatingPointError, match="epoch 1"):
        fit(model)
    fresh = Fragile(0)
    assert all(torch.equal(mine, first) for mine, first in zip(model.parameters(), fresh.parameters(), strict=True))


@pytest.mark.parametrize("flush", [1, 3, 4])
def test_losses_that_are_looked_at_on_the_way(flush, monkeypatch):
    monkeypatch.setattr(_loop, "FLUSH", flush)
    for first, epoch, batch in [(0, 1, 0), (3, 1, 3), (10, 3, 2)]:
        with pytest.raises(FloatingPointError, match=rf"in epoch {epoch}, batch {batch} \(from 0\)"):
            fit(Fragile(0, first))
    model, whole = Fragile(breaks=False), Fragile(breaks=False)
    history = fit(model).history
    monkeypatch.undo()
    assert history["train"].tolist() == pytest.approx(fit(whole).history["train"].tolist(), rel=1e-12)
    assert_same(model, whole)


def test_a_member_that_breaks_stops_alone():
    models = [Fragile(seed, 5, breaks=seed == 2) for seed in range(3)]
    alone = [Fragile(seed) for seed in range(3)]
    with pytest.warns(RuntimeWarning, match=r"of 'dose' of model 2 became nan in epoch 2, batch 1 \(from 0\)"):
        results = fit(models)
    assert [result.stopped for result in results] == ["epochs", "epochs", "diverged"]
    assert [len(result.history) for result in results] == [9, 9, 1]
    assert all(result.history.notna().all(axis=None) for result in results)
    for seed, (model, each) in enumerate(zip(models, alone, strict=True)):
        fit(each, epochs=1 if seed == 2 else 9, seed=seed)
        for mine, other in zip(model.parameters(), each.parameters(), strict=True):
            torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)


def test_a_member_that_has_stopped_may_break():
    models = [Fragile(seed, 5, breaks=seed == 1) for seed in range(2)]
    results = fit(models, callbacks=[lambda told: told.member == 1])
    assert [len(result.history) for result in results] == [9, 1]
    assert bool(torch.isfinite(torch.tensor(results[0].history["train"])).all())
    assert all(bool(torch.isfinite(p).all()) for model in models for p in model.parameters())


@pytest.mark.parametrize("count", [1, 2])
def test_validation_rows_are_guarded_too(count):
    # The last step of an epoch may break the weights after all its losses were finite.
    models = [Fragile(seed, 2, training=False, breaks=seed == count - 1) for seed in range(count)]
    of = "" if count == 1 else " of model 1"
    message = f"'dose'{of} became nan after epoch 3, on validation rows; the weights"
    with (
        pytest.raises(FloatingPointError, match=message) if count == 1 else pytest.warns(RuntimeWarning, match=message)
    ):
        fit(models if count > 1 else models[0])
    for seed, model in enumerate(models):
        alone = Fragile(seed)
        fit(alone, epochs=2 if seed == count - 1 else 9, seed=seed)
        for mine, other in zip(model.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)


def test_a_member_that_breaks_at_once_keeps_its_first_weights():
    models = [Fragile(seed, 2, breaks=seed == 0) for seed in range(2)]
    with pytest.warns(RuntimeWarning, match="model 0 became nan in epoch 1"):
        broken, whole = fit(models)
    assert (broken.best_epoch, len(broken.history), broken.stopped) == (0, 0, "diverged")
    assert math.isnan(broken.best_validation)
    assert len(whole.history) == 9
    fresh = Fragile(0)
    assert all(torch.equal(mine, first) for mine, first in zip(models[0].parameters(), fresh.parameters(), strict=True))


def test_a_rate_that_is_far_too_large():
    model = Fragile(0)
    with pytest.raises(FloatingPointError, match="Take a smaller lr"):
        fit(model, lr=1e300, validation=None)
    assert all(bool(torch.isfinite(parameter).all()) for parameter in model.parameters())


def test_a_loader_whose_later_rows_are_broken():
    x, _ = rows_for("mixed")

    class Turning(torch.utils.data.IterableDataset):
        passes = 0

        def __iter__(self):
            self.passes += 1
            rows = x.clone()
            if self.passes > 3:  # the first is for centre and spread
                rows[30, GRAPH.index("visits")] = torch.nan
            return iter(rows)

    with pytest.raises(FloatingPointError, match=r"became nan in epoch 3, batch 2 \(from 0\)"):
        weft.fit(Fragile(0), DataLoader(Turning(), batch_size=12), None, epochs=9)
