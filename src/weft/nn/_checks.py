"""Tensors, devices and types, checked at the door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .._errors import show

__all__ = ["check_columns", "check_context", "check_dtype", "check_tensor", "read_device"]

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def check_dtype(dtype: Any) -> None:
    """Refuse what is no floating type that layers can compute with."""
    if dtype is not None and dtype not in DTYPES:
        raise ValueError(f"dtype is {show(dtype)}, expected one of {', '.join(map(str, DTYPES))}.")


def read_device(device: Any) -> torch.device:
    """Return the device, the default one for None, if tensors can be put there."""
    try:
        return torch.empty(0, device=torch.get_default_device() if device is None else device).device
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device is {show(device)}, expected one that tensors can be put on: {reason}") from error


def check_tensor(what: str, x: Any, like: Tensor) -> None:
    """Refuse what is no ordinary tensor of the network's type and device."""
    if not isinstance(x, Tensor):
        raise ValueError(f"{what} is a {type(x).__name__}, expected a torch.Tensor; use torch.as_tensor(...).")  # noqa: TRY004
    if x.layout != torch.strided or x.is_nested:
        raise ValueError(f"{what} is sparse or nested, expected an ordinary tensor; use .to_dense() or a padded one.")
    if x.dtype != like.dtype:
        raise ValueError(
            f"{what} is of {x.dtype}, expected {like.dtype}: pass .to({like.dtype}), or convert the network."
        )
    if x.device != like.device:
        raise ValueError(
            f"{what} is on {x.device}, expected {like.device}: pass .to({str(like.device)!r}), or move the network."
        )


def check_columns(x: Any, count: int, names: Callable[[], str], like: Tensor) -> None:
    """Refuse what is no ordinary tensor (…, count) of the network's type and device; names are asked for if need be."""
    check_tensor("x", x, like)
    if x.ndim == 0 or x.shape[-1] != count:
        got = x.shape[-1] if x.ndim else "a scalar"
        raise ValueError(f"expected {count} columns ({names()}), got {got}.")


def check_context(context: Any, columns: int, lead: tuple[int, ...], like: Tensor) -> None:
    """Refuse a context that a network has no use for, and want of one that it needs."""
    if columns == 0:
        if context is not None:
            raise ValueError("got a context, but the network has none: make it with StrNN(..., context=n).")
        return
    expected = (*lead, columns)
    if context is None:
        raise ValueError(f"expected a context of shape {expected}, got none.")
    check_tensor("the context", context, like)
    if context.shape != expected:
        raise ValueError(
            f"expected a context of shape {expected}, got {tuple(context.shape)}: its leading dimensions are those of "
            f"x; expand it where it is shared."
        )
