"""The models under training, one alone or many as one: how they compute, step, and keep their best weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from .._errors import show
from ..models import DensityModel
from ..nn._layers import BlockLinear, StructuredLinear
from ._sources import checksum

__all__ = ["Alone", "Members", "Together", "buffers_of", "check_alike", "gather", "identify"]

Factory = Callable[..., Optimizer]


class Members(ABC):
    """Models of one architecture that train at the same time, each as if it were alone."""

    models: Sequence[DensityModel]
    optimizer: Optimizer

    @abstractmethod
    def terms(self, x: Tensor, context: Tensor | None) -> Tensor:
        """Return the terms (members, rows, variables) of the rows (members, rows, columns) that each member gets."""

    @abstractmethod
    def step(self, rates: Sequence[float], clip: float | None) -> None:
        """Move each member along its gradient, of at most norm ``clip``, at its own rate; then drop the gradient.

        At rate 0 a member stays where it is.
        """

    @abstractmethod
    def keep(self, better: Sequence[bool]) -> None:
        """Copy the weights of these members as their best."""

    @abstractmethod
    def show(self) -> None:
        """Let the models have the present weights, for others to look at."""

    @abstractmethod
    def restore(self) -> None:
        """Leave the kept weights in the models, those they began with where none were kept."""

    @abstractmethod
    def weights(self) -> dict[str, list[Tensor]]:
        """Return the tensors that training changes, by name; `load` takes them back."""

    @torch.no_grad()
    def load(self, weights: dict[str, list[Tensor]]) -> None:
        """Take up weights from where they were left."""
        for name, mine in self.weights().items():
            for tensor, saved in zip(mine, weights[name], strict=True):
                tensor.copy_(saved)

    def train(self, mode: bool = True) -> None:  # noqa: FBT001, FBT002 -- as in torch
        """Set all modules to training or evaluation."""
        for model in self.models:
            model.train(mode)


class Alone(Members):
    """One model, called as a module, so that its hooks and those of its wrappers see the call."""

    def __init__(self, model: DensityModel, factory: Factory) -> None:
        self.models = [model]
        self._trained: list[Tensor] = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self._best = [parameter.detach().clone() for parameter in self._trained]
        self._drop()  # a gradient from before is none of this fit
        self.optimizer = factory(self._trained, lr=1.0)

    def terms(self, x: Tensor, context: Tensor | None) -> Tensor:
        """Return the terms (1, rows, variables)."""
        terms: Tensor = self.models[0](x[0], None if context is None else context[0])
        return terms.unsqueeze(0)

    def step(self, rates: Sequence[float], clip: float | None) -> None:
        """Clip and step."""
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(self._trained, clip)
        for group in self.optimizer.param_groups:
            group["lr"] = rates[0]
        self.optimizer.step()
        self._drop()

    @torch.no_grad()
    def keep(self, better: Sequence[bool]) -> None:
        """Copy the weights."""
        if better[0]:
            torch._foreach_copy_(self._best, self._trained)

    def show(self) -> None:
        """Do nothing: the model trains itself."""

    @torch.no_grad()
    def restore(self) -> None:
        """Copy the best weights back."""
        torch._foreach_copy_(self._trained, self._best)

    def weights(self) -> dict[str, list[Tensor]]:
        """Return the weights and the best ones."""
        return {"last": list(self._trained), "best": self._best}

    def _drop(self) -> None:
        for parameter in self._trained:  # zero_grad does more, and takes longer than a layer
            parameter.grad = None


class Together(Members):
    """Models of one architecture in one vectorised run.

    The weights of a member are one row of a matrix, which is all that the optimizer sees: the forward is mapped over
    its rows, and one plain backward gives the gradients of all.
    """

    def __init__(self, models: Sequence[DensityModel], factory: Factory) -> None:
        self.models = models
        self._base = models[0]
        names = [name for name, parameter in self._base.named_parameters() if parameter.requires_grad]
        self._names, self._shapes = names, [self._base.get_parameter(name).shape for name in names]
        rows = [torch.cat([model.get_parameter(name).detach().flatten() for name in names]) for model in models]
        self._flat = torch.stack(rows).requires_grad_()
        self._best = self._flat.detach().clone()
        self.optimizer = factory([self._flat], lr=1.0)
        self._rates: tuple[float, ...] = ()
        self._shares = self._flat.new_empty(0)
        self._own = _own_tensors(models, names)
        # Looking for tied weights takes as long as a layer, so it is done once.
        everywhere = [name for name, _ in self._base.named_parameters(remove_duplicate=False)]
        self._tied = len(everywhere) > len(list(self._base.parameters()))

    def terms(self, x: Tensor, context: Tensor | None) -> Tensor:
        """Return the terms (members, rows, variables)."""
        rows = [x, *([] if context is None else [context])]
        return torch.vmap(self._run, randomness="different")(self._flat, self._own, *rows)

    def step(self, rates: Sequence[float], clip: float | None) -> None:
        """Step at rate 1 and go the share of the way that is each member's rate: a step is linear in it."""
        gradient = self._flat.grad
        if clip is not None and gradient is not None:
            norm = torch.linalg.vector_norm(gradient, dim=1, keepdim=True)
            gradient.mul_((clip / (norm + 1e-6)).clamp(max=1.0))
        with torch.no_grad():
            before = self._flat.clone()
            self.optimizer.step()
            self._flat.copy_(torch.lerp(before, self._flat, self._share(tuple(rates))))
        self._flat.grad = None

    @torch.no_grad()
    def keep(self, better: Sequence[bool]) -> None:
        """Copy the rows of these members."""
        if all(better):
            self._best.copy_(self._flat)
        elif any(better):
            chosen = torch.tensor(better, device=self._flat.device).unsqueeze(1)
            torch.where(chosen, self._flat, self._best, out=self._best)

    def restore(self) -> None:
        """Write the best row of each into its model."""
        with torch.no_grad():
            self._flat.copy_(self._best)
        self.show()

    @torch.no_grad()
    def show(self) -> None:
        """Write each row into its model."""
        for model, row in zip(self.models, self._flat, strict=True):
            for name, values in self._named(row).items():
                model.get_parameter(name).copy_(values)

    def weights(self) -> dict[str, list[Tensor]]:
        """Return the weights and the best ones."""
        return {"last": [self._flat], "best": [self._best]}

    def _share(self, rates: tuple[float, ...]) -> Tensor:
        if self._rates != rates:  # they change once in many steps, and a copy to a device waits for it
            share = torch.tensor(rates, dtype=self._flat.dtype, device=self._flat.device)
            self._rates, self._shares = rates, share.unsqueeze(1)
        return self._shares

    def _named(self, row: Tensor) -> dict[str, Tensor]:
        pieces = torch.split(row, [shape.numel() for shape in self._shapes])  # one concatenation backwards
        shaped = [piece.view(shape) for piece, shape in zip(pieces, self._shapes, strict=True)]
        return dict(zip(self._names, shaped, strict=True))

    def _run(self, row: Tensor, own: dict[str, Tensor], x: Tensor, *context: Tensor) -> Tensor:
        weights = {**self._named(row), **own}
        terms: Tensor = torch.func.functional_call(self._base, weights, (x, *context), tie_weights=self._tied)
        return terms


def gather(models: Sequence[DensityModel], factory: Factory) -> Members:
    """Put the models together, or leave the one alone."""
    return Alone(models[0], factory) if len(models) == 1 else Together(models, factory)


def buffers_of(model: DensityModel) -> dict[str, Tensor]:
    """Return the buffers that are saved with a model, such as its units."""
    saved = model.state_dict()
    return {name: buffer for name, buffer in model.named_buffers() if name in saved}


def identify(model: DensityModel) -> int:
    """Return a number that a model of another architecture, other masks or other frozen weights would hardly have."""
    trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    left_out = trained.union(buffers_of(model))
    tensors = [*model.named_parameters(), *model.named_buffers()]
    sums = [(name, checksum(tensor)) for name, tensor in tensors if name not in left_out]
    return crc32(repr((_architecture(model), model.graph.edges, sums)).encode())


def _own_tensors(models: Sequence[DensityModel], trained: Sequence[str]) -> dict[str, Tensor]:
    """Return the tensors that are not trained and differ between members, stacked; all share the others."""
    own = {}
    skip = set(trained)
    for name, first in [*models[0].named_parameters(), *models[0].named_buffers()]:
        if name in skip:
            continue
        each = [_tensor(model, name).detach() for model in models]
        if not all(torch.equal(first, other) for other in each[1:]):
            own[name] = torch.stack(each)
    return own


def _tensor(model: DensityModel, name: str) -> Tensor:
    path, _, leaf = name.rpartition(".")
    found: Tensor = getattr(model.get_submodule(path), leaf)
    return found


def check_alike(models: Sequence[DensityModel]) -> None:
    """Refuse models that differ in more than the values of their tensors."""
    first = _architecture(models[0])
    for number, model in enumerate(models[1:], start=1):
        if any(model is other for other in models[:number]):
            raise ValueError(f"model {number} is in the ensemble twice; make a model for every member.")
        for what, mine in _architecture(model).items():
            if mine != first.get(what):
                raise ValueError(
                    f"model {number} differs from model 0 in its {what}: {show(mine)}, expected "
                    f"{show(first.get(what))}; "
                    f"fit models of different architectures one by one."
                )


def _architecture(model: DensityModel) -> dict[str, Any]:
    tensors = [*model.named_parameters(), *model.named_buffers()]
    return {
        "class": type(model).__name__,
        "graph": model.graph,
        "kinds": [model.expected(column) for column in range(len(model.graph))],
        "modules": [name for name, _ in model.named_modules()],
        "tensors": [name for name, _ in tensors],
        "frozen parameters": [name for name, parameter in model.named_parameters() if not parameter.requires_grad],
        "device": sorted({str(tensor.device) for _, tensor in tensors}),
        "type": sorted({str(parameter.dtype) for parameter in model.parameters()}),
        **{f"module {name!r}": _settings(module) for name, module in model.named_modules()},
        **{f"shape of {name!r}": tuple(tensor.shape) for name, tensor in tensors},
    }


def _settings(module: nn.Module) -> tuple[str, Any]:
    """Return what a module does beside its tensors, among which are the masks: only the base computes."""
    if isinstance(module, StructuredLinear):
        return type(module).__name__, module.plan.buckets if isinstance(module, BlockLinear) else None
    plain = {name: value for name, value in vars(module).items() if isinstance(value, (bool, int, float, str))}
    return type(module).__name__, {name: value for name, value in plain.items() if name != "training"}
