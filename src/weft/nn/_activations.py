"""Activations by name or module, checked to treat every hidden unit alone and alike."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from .._errors import shorten, show, suggest

__all__ = ["ACTIVATIONS", "make_activation"]


class PReLU(nn.PReLU):
    """`torch.nn.PReLU` with one slope; torch's own kernel fails under nested `torch.func.vmap`, as in a Jacobian."""

    def forward(self, x: Tensor) -> Tensor:
        """Map negative numbers by the slope."""
        return torch.where(x > 0, x, self.weight * x)


ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "celu": nn.CELU,
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "identity": nn.Identity,
    "leaky_relu": nn.LeakyReLU,
    "mish": nn.Mish,
    "prelu": PReLU,
    "relu": nn.ReLU,
    "selu": nn.SELU,
    "sigmoid": nn.Sigmoid,
    "silu": nn.SiLU,
    "softplus": nn.Softplus,
    "tanh": nn.Tanh,
}
"""The activations by name."""

EXPECTED = "expected a name, a torch.nn.Module such as torch.nn.ReLU(), or a function without arguments that makes one."


def make_activation(activation: str | nn.Module | Callable[[], nn.Module]) -> nn.Module:
    """Return a fresh activation from its name, from a module (copied), or from a function that makes one.

    Raises:
        ValueError: If the name is unknown; or the module lets one hidden unit see another, which would break the
            structure: LayerNorm, Softmax, GLU and the like; or it is random in training, as Dropout is.

    Examples:
        >>> from weft.nn import make_activation
        >>> make_activation("tanh")
        Tanh()
    """
    if isinstance(activation, str):
        if activation not in ACTIVATIONS:
            raise ValueError(
                f"unknown activation {activation!r}{suggest(activation.lower(), ACTIVATIONS)}. "
                f"Valid names: {shorten(ACTIVATIONS, 20)}; or pass a torch.nn.Module such as torch.nn.ReLU()."
            )
        return ACTIVATIONS[activation]()
    try:
        with torch.device("cpu"):  # the probe needs values, which the meta device has not
            module = copy.deepcopy(activation) if isinstance(activation, nn.Module) else activation()
    except (TypeError, ValueError) as error:  # not callable, needing arguments, or a lazy module
        raise ValueError(f"activation {show(activation)} makes no module ({error}); {EXPECTED}") from error
    if not isinstance(module, nn.Module):
        raise ValueError(f"activation {show(activation)} gives a {type(module).__name__}; {EXPECTED}")  # noqa: TRY004
    _refuse_mixing(module)
    return module


def _refuse_mixing(module: nn.Module) -> None:
    """Probe a module with numbers: each output must be one function of its own input, whatever its place."""
    name = type(module).__name__
    advice = "an activation must map each hidden unit by itself and all alike; use for example torch.nn.SiLU()."
    tensors = [*module.parameters(), *module.buffers()]
    if any(tensor.numel() > 1 for tensor in tensors):
        raise ValueError(f"activation {name} holds values per unit; {advice}")
    device = tensors[0].device if tensors else torch.device("cpu")
    if device.type == "meta":
        raise ValueError(f"activation {name} has no values, being on the meta device; pass its name or its class.")
    dtype = next((t.dtype for t in tensors if t.is_floating_point()), torch.get_default_dtype())
    probe = torch.linspace(-2.0, 2.0, 24, device=device, dtype=dtype).reshape(4, 6)
    modes = {part: part.training for part in module.modules()}
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        try:
            module.eval()
            whole = _apply(module, probe)
            alone = torch.stack([_apply(module, value.reshape(1, 1)).reshape(()) for value in probe.flatten()])
            moved = _apply(module, probe.flip(0, 1)).flip(0, 1)
            module.train()
            trained = _apply(module, probe)
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            raise ValueError(f"activation {name} fails on a batch of hidden units ({error}); {advice}") from error
    for part, training in modes.items():
        part.training = training
    same_shape = whole.shape == probe.shape
    if not same_shape or not torch.allclose(whole.flatten(), alone) or not torch.allclose(whole, moved):
        raise ValueError(f"activation {name} mixes hidden units, which would break the structure; {advice}")
    if trained.shape != whole.shape or not torch.allclose(whole, trained):
        raise ValueError(f"activation {name} does not do in training what it does in evaluation; {advice}")


def _apply(module: nn.Module, value: Tensor) -> Tensor:
    out = module(value.clone())  # it may work in place
    if not isinstance(out, Tensor):
        raise TypeError(f"it returned a {type(out).__name__}")
    return out
