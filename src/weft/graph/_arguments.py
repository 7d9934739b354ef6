"""Arguments that are a number or one of a few words, checked at the door."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._errors import GraphError, show, suggest

__all__ = ["check_number", "check_whole", "check_word"]


def check_whole(what: str, value: Any, least: int = 0, most: float = math.inf) -> None:
    """Refuse all but whole numbers from ``least`` to ``most``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise GraphError(f"{what}={show(value)}, expected a whole number {_range(least, most)}.")


def check_number(what: str, value: Any, most: float = math.inf) -> None:
    """Refuse all but numbers from 0 to ``most``."""
    numeric = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not numeric or not 0 <= value <= most:
        raise GraphError(f"{what}={show(value)}, expected a number {_range(0, most)}.")


def check_word(what: str, value: Any, *words: str) -> None:
    """Refuse all but the given words."""
    if not isinstance(value, str) or value not in words:
        expected = " or ".join(map(repr, words))
        raise GraphError(f"{what}={show(value)}, expected {expected}{suggest(value, words)}.")


def _range(least: float, most: float) -> str:
    return f"of at least {least}" if most == math.inf else f"from {least} to {most:,}"
