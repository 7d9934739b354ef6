"""Activations: every name works, modules are copied, and none may mix units."""

import pytest
import torch
from torch import nn

import weft
from weft.nn import ACTIVATIONS, make_activation

from .cases import EXECUTIONS, inputs_of, network

SAME = {
    "celu": nn.functional.celu,
    "elu": nn.functional.elu,
    "gelu": nn.functional.gelu,
    "identity": lambda x: x,
    "leaky_relu": nn.functional.leaky_relu,
    "mish": nn.functional.mish,
    "prelu": lambda x: nn.functional.prelu(x, x.new_tensor([0.25])),
    "relu": torch.relu,
    "selu": nn.functional.selu,
    "sigmoid": torch.sigmoid,
    "silu": nn.functional.silu,
    "softplus": nn.functional.softplus,
    "tanh": torch.tanh,
}

MIXING = {
    "LayerNorm": nn.LayerNorm(6),
    "LayerNorm without values": nn.LayerNorm(6, elementwise_affine=False),
    "LayerNorm over the batch": nn.LayerNorm(4, elementwise_affine=False),
    "RMSNorm": nn.RMSNorm(6, elementwise_affine=False),
    "GroupNorm": nn.GroupNorm(1, 6, affine=False),
    "Softmax over units": nn.Softmax(dim=0),
    "Softmax over rows": nn.Softmax(dim=1),
    "Softmin": nn.Softmin(dim=-1),
    "LogSoftmax": nn.LogSoftmax(dim=0),
    "GLU": nn.GLU(dim=0),
    "GLU over rows": nn.GLU(dim=1),
    "BatchNorm": nn.BatchNorm1d(6),
    "BatchNorm without values": nn.BatchNorm1d(6, affine=False, track_running_stats=False),
    "BatchNorm of one": nn.BatchNorm1d(1),
    "Dropout": nn.Dropout(0.5),
    "AlphaDropout": nn.AlphaDropout(0.2),
    "RReLU": nn.RReLU(),
    "MaxPool": nn.MaxPool1d(2),
    "MaxPool that keeps the size": nn.MaxPool1d(3, stride=1, padding=1),
    "AvgPool": nn.AvgPool1d(3, stride=1, padding=1),
    "Linear": nn.Linear(6, 6),
    "Linear of one": nn.Linear(1, 1),
    "PReLU by unit": nn.PReLU(6),
    "Flatten": nn.Flatten(0),
    "LSTM": nn.LSTM(6, 6),
    "ReLU then LayerNorm": nn.Sequential(nn.ReLU(), nn.LayerNorm(6, elementwise_affine=False)),
}


class Function(nn.Module):
    """A module of any function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


CRAFTY = {
    "instance norm": lambda x: nn.functional.instance_norm(x.unsqueeze(0)).squeeze(0),
    "mean": lambda x: x - x.mean(),
    "units in order": lambda x: x * torch.arange(1, len(x) + 1).unsqueeze(1),
    "rows in order": lambda x: x * torch.arange(1, x.shape[1] + 1),
    "sorted": lambda x: x.sort(dim=0).values,
    "turned": lambda x: x.flip(0),
    "cumulated": lambda x: x.cumsum(0),
    "first unit": lambda x: x[:1],
    "transposed": lambda x: x.t(),
    "sum": lambda x: x.sum(),
    "noise": lambda x: x + torch.randn_like(x),
    "largest alone": lambda x: torch.where(x == x.max(), x, 0.0),
    "nothing": lambda x: None,
    "pair": lambda x: (x, x),
}


def test_every_name_has_a_function():
    assert set(SAME) == set(ACTIVATIONS)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_name(name):
    x = torch.linspace(-4, 4, 33, dtype=torch.float64)
    module = make_activation(name).to(torch.float64)
    torch.testing.assert_close(module(x), SAME[name](x))
    assert module is not make_activation(name)
    assert make_activation(ACTIVATIONS[name]()) is not None  # a module of the same kind passes the probe


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_a_name_and_its_module_are_one_function(execution, name):
    nets = [
        network("greedy", execution=execution, activation=activation)
        for activation in (name, ACTIVATIONS[name], ACTIVATIONS[name]())
    ]
    results = [net(*inputs_of(net, 4)) for net in nets]
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


@pytest.mark.parametrize(
    "module",
    [
        nn.ReLU(),
        nn.ReLU6(),
        nn.Hardtanh(),
        nn.Softsign(),
        nn.Tanhshrink(),
        nn.Softplus(beta=2.0),
        nn.LeakyReLU(0.3),
        nn.PReLU(init=0.1),
        nn.Threshold(0.1, 0.0),
        nn.ReLU(inplace=True),
        nn.Dropout(0.0),
        nn.Sequential(nn.Tanh(), nn.Softplus()),
        Function(torch.sin),
    ],
    ids=repr,
)
def test_modules_of_any_kind(module):
    net = weft.StrNN(weft.graph.chain(4), (8, 8), activation=module)
    assert net(torch.randn(3, 4, generator=torch.Generator().manual_seed(0))).shape == (3, 4)
    assert all(type(made) is type(module) and made is not module for made in net.activations)


def test_every_layer_has_an_activation_of_its_own():
    given = nn.PReLU(init=0.1)
    net = weft.StrNN(weft.graph.chain(4), (8, 8, 8), activation=given)
    assert len({id(module.weight) for module in [given, *net.activations]}) == 4
    assert [module.weight.item() for module in net.activations] == pytest.approx([0.1] * 3)


def test_the_mode_of_a_module_is_kept():
    given = nn.Sequential(nn.Tanh(), nn.ReLU().eval())
    assert [part.training for part in make_activation(given)] == [True, False]
    assert [part.training for part in given] == [True, False]


def test_the_probe_leaves_the_random_stream_alone():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    make_activation(nn.Dropout(0.0))
    with pytest.raises(ValueError, match="training"):
        make_activation(nn.Dropout(0.5))
    assert torch.equal(torch.rand(3), expected)


@pytest.mark.parametrize("module", MIXING.values(), ids=MIXING)
def test_modules_that_mix_units_are_refused(module):
    kind = type(module).__name__
    with pytest.raises(ValueError, match=rf"activation {kind} .*; an activation must map each hidden unit by itself"):
        make_activation(module)
    with pytest.raises(ValueError, match=rf"activation {kind} .*use for example torch.nn.SiLU\(\)"):
        weft.StrNN(weft.graph.chain(4), (8,), activation=module)


@pytest.mark.parametrize("function", CRAFTY.values(), ids=CRAFTY)
def test_functions_that_mix_units_are_refused(function):
    with pytest.raises(ValueError, match=r"activation Function .*; an activation must map each hidden unit by itself"):
        make_activation(Function(function))


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (nn.LayerNorm(6), "holds values per unit"),
        (nn.Softmax(dim=0), "mixes hidden units, which would break the structure"),
        (nn.GLU(dim=0), "mixes hidden units|fails on a batch of hidden units"),
        (nn.Dropout(0.5), "does not do in training what it does in evaluation"),
        (nn.BatchNorm1d(3), "holds values per unit"),
        (nn.LSTM(6, 6), "holds values per unit"),
        (nn.Conv2d(1, 1, 1), "fails on a batch of hidden units"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_the_message_says_why(module, said):
    with pytest.raises(ValueError, match=said):
        make_activation(module)


@pytest.mark.parametrize(
    ("name", "suggested"),
    [("rellu", "relu"), ("ReLU", "relu"), ("Tanh", "tanh"), ("leakyrelu", "leaky_relu"), ("zzz", None), ("", None)],
)
def test_unknown_names_list_the_valid_ones(name, suggested):
    with pytest.raises(ValueError, match=f"unknown activation '{name}'") as caught:
        weft.StrNN(weft.graph.chain(3), (8,), activation=name)
    message = str(caught.value)
    assert f"Valid names: {', '.join(ACTIVATIONS)}; or pass a torch.nn.Module such as torch.nn.ReLU()." in message
    assert message.count("did you mean") == (suggested is not None)
    assert suggested is None or f"did you mean {suggested!r}?" in message


@pytest.mark.parametrize(
    "given",
    [None, 3, ["relu"], torch.relu, lambda: torch.relu, lambda x: x, lambda: None, nn.Linear, dict],
    ids=[
        "None",
        "number",
        "list",
        "function",
        "returns a function",
        "takes an argument",
        "returns None",
        "class",
        "dict",
    ],
)
def test_what_is_no_activation(given):
    expected = r"activation .* (makes no module|gives a \w+).*expected a name, a torch.nn.Module such as torch.nn.ReLU"
    with pytest.raises(ValueError, match=expected):
        weft.StrNN(weft.graph.chain(3), (8,), activation=given)


def test_a_module_without_values():
    with pytest.raises(ValueError, match="PReLU has no values, being on the meta device; pass its name or its class"):
        make_activation(nn.PReLU(device="meta"))
    with torch.device("meta"):
        net = weft.StrNN(weft.graph.chain(3), (8,), activation=nn.PReLU)
    assert net.activations[0].weight.is_meta
