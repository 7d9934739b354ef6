"""The errors of the library, and how a message offers what was probably meant."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable

__all__ = ["FactorizationError", "GraphError", "GraphWarning", "cut", "shorten", "show", "suggest", "warn"]

_LONGEST_NAME = 24  # letters


class GraphError(ValueError):
    """A graph or a structure that cannot be what its maker meant."""

    __module__ = "weft"  # where everybody meets it


class GraphWarning(UserWarning):
    """A graph that is valid but probably not what its maker meant."""

    __module__ = "weft"


class FactorizationError(ValueError):
    """A structure that cannot be factorized into masks as asked."""

    __module__ = "weft"


def suggest(got: object, known: Iterable[object]) -> str:
    """Return `` (did you mean 'x'?)`` for the known name closest to ``got``, or an empty string."""
    written = {str(name): name for name in known}
    close = difflib.get_close_matches(str(got), written, n=1)
    return f" (did you mean {written[close[0]]!r}?)" if close else ""


def show(value: object, limit: int = 80) -> str:
    """Return the repr of a value that was not expected, on one line and cut to ``limit`` signs."""
    text = repr(value).replace("\n", " ")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def cut(name: object) -> str:
    r"""Write a name on one line, with something to see in any case, a long one cut.

    Examples:
        >>> from weft._errors import cut
        >>> cut("dose"), cut("two\nlines"), cut(""), cut("a" * 30)
        ('dose', 'two lines', "''", 'aaaaaaaaaaaaaaaaaaaaaaa…')
    """
    text = " ".join(str(name).split())
    if not text or not text.isprintable():
        text = repr(name)
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"


def shorten(names: Iterable[object], limit: int = 10) -> str:
    """Join names with commas, eliding all but the first ``limit``."""
    listed = [str(name) for name in names]
    if len(listed) <= limit:
        return ", ".join(listed)
    return ", ".join(listed[:limit]) + f", … ({len(listed)} in all)"


def warn(message: str, category: type[Warning] = GraphWarning) -> None:
    """Give a warning that points at the line from which the library was called."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].partition(".")[0] == "weft":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
