"""The models that every promise of the room is tested over, with rows for each, and how fits are compared."""

import torch

import weft
from weft import StrNNDensity
from weft.baselines import MADE
from weft.models import Categorical

GRAPH = weft.Graph.from_edges([("dose", "age"), ("dose", "visits"), ("age", "ward"), ("visits", "ward")])
MIXED = {"dose": "gaussian", "age": "binary", "visits": "count", "ward": Categorical(3)}

MODELS = {
    "binary": {"kinds": "binary"},
    "gaussian": {"kinds": "gaussian"},
    "mixed": {"kinds": MIXED},
    "context": {"kinds": MIXED, "context": 2},
    "missing": {"kinds": MIXED, "missing": "factor"},
    "sparse": {"kinds": MIXED, "execution": "sparse", "residual": True, "hidden": (6, 6)},
    "made": {"kinds": MIXED, "masks": "fixed"},
    "made-random": {"kinds": MIXED, "masks": "random"},
}

ROWS = 60


def make(name="gaussian", seed=0, **options):
    """Make a model with weights drawn from a seed; random masks are drawn from it too."""
    options = {"hidden": (6,), "activation": "tanh", "dtype": torch.float64, **MODELS[name], **options}
    if options.get("masks") == "random":
        options["seed"] = seed
    torch.manual_seed(seed)
    return (MADE if "masks" in options else StrNNDensity)(GRAPH, **options)


def rows_for(name="gaussian", n=ROWS, seed=1):
    """Draw rows and context that a model is for, continuous columns far from standard units."""
    model = make(name, seed=99)
    generator = torch.Generator().manual_seed(seed)
    context = torch.randn(n, model.context, dtype=torch.float64, generator=generator) if model.context else None
    x = model.sample(n, context, generator)
    for column, node in enumerate(GRAPH.nodes):
        if model.expected(column) == "a finite number":
            x[:, column] = 100 + 5 * x[:, column] + 3 * x[:, GRAPH.index("dose")] * (node != "dose")
    if name == "missing":
        x[torch.rand(x.shape, generator=generator) < 0.15] = torch.nan
    return x, context


def weights_of(model):
    """Return copies of all weights, and of centre and spread."""
    return {name: tensor.clone() for name, tensor in model.state_dict().items() if "extra" not in name}


def assert_same(model, other):
    """Both models have the same weights, bit for bit."""
    mine, theirs = weights_of(model), weights_of(other)
    assert mine.keys() == theirs.keys()
    assert [name for name, tensor in mine.items() if not torch.equal(tensor, theirs[name])] == []


def assert_same_result(result, other):
    """Both fits went the same way, bit for bit; the clock aside."""
    assert result.history.drop(columns="seconds").equals(other.history.drop(columns="seconds"))
    assert (result.best_epoch, result.best_validation, result.stopped) == (
        other.best_epoch,
        other.best_validation,
        other.stopped,
    )


class Recorder(StrNNDensity):
    """A density that remembers the rows it is called with, those of training apart."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.trained, self.evaluated, self.contexts = [], [], []

    def forward(self, x, context=None):
        (self.trained if self.training else self.evaluated).append(x.clone())
        if context is not None and self.training:
            self.contexts.append(context.clone())
        return super().forward(x, context)


def sorted_rows(batches):
    """Return the rows of batches in the order of their values, to compare them as a multiset."""
    x = torch.cat(list(batches))
    for column in reversed(range(x.shape[1])):
        x = x[x[:, column].argsort(stable=True)]
    return x


class Stop(Exception):
    """What a callback raises to stop a fit as a kill would."""


def stop_at(epoch, member=0):
    """Return a callback that raises at an epoch of a member."""

    def stop(told):
        if (told.number, told.member) == (epoch, member):
            raise Stop

    return stop
