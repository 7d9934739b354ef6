"""Arguments that are a number or one of a few words, checked at the door."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._errors import GraphError, show, suggest

__all__ = ["check_number", "check_whole", "check_word"]


def check_whole(
    what: str, value: Any, least: int = 0, most: float = math.inf, error: type[ValueError] = GraphError
) -> int:
    """Return a whole number from ``least`` to ``most`` as an int; raise ``error`` for anything else.

    Examples:
        >>> import numpy as np
        >>> from weft._arguments import check_whole
        >>> check_whole("seed", np.int64(3))
        3
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise error(f"{what} is {show(value)}, expected a whole number {_range(least, most)}.")
    return int(value)


def check_number(what: str, value: Any, most: float = math.inf, error: type[ValueError] = GraphError) -> None:
    """Raise ``error`` for all but numbers from 0 to ``most``."""
    numeric = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not numeric or not 0 <= value <= most:
        raise error(f"{what} is {show(value)}, expected a number {_range(0, most)}.")


def check_word(what: str, value: Any, *words: str, error: type[ValueError] = GraphError) -> None:
    """Raise ``error`` for all but the given words."""
    if not isinstance(value, str) or value not in words:
        expected = " or ".join(map(repr, words))
        raise error(f"{what} is {show(value)}, expected {expected}{suggest(value, words)}.")


def _range(least: float, most: float) -> str:
    return f"of at least {least}" if most == math.inf else f"from {least} to {most:,}"
