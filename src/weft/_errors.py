"""The errors of the library, and how a message offers what was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["FactorizationError", "GraphError", "GraphWarning", "shorten", "show", "suggest"]


class GraphError(ValueError):
    """A graph or a structure that cannot be what its maker meant."""


class GraphWarning(UserWarning):
    """A graph that is valid but probably not what its maker meant."""


class FactorizationError(ValueError):
    """A structure that cannot be factorized into masks as asked."""


def suggest(got: object, known: Iterable[object]) -> str:
    """Return ``; did you mean 'x'?`` for the known name closest to ``got``, or an empty string."""
    written = {str(name): name for name in known}
    close = difflib.get_close_matches(str(got), written, n=1)
    return f"; did you mean {written[close[0]]!r}?" if close else ""


def show(value: object, limit: int = 80) -> str:
    """Return the repr of a value that was not expected, on one line and cut to ``limit`` signs."""
    text = repr(value).replace("\n", " ")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def shorten(names: Iterable[object], limit: int = 10) -> str:
    """Join names with commas, eliding all but the first ``limit``."""
    listed = [str(name) for name in names]
    if len(listed) <= limit:
        return ", ".join(listed)
    return ", ".join(listed[:limit]) + f", … ({len(listed)} in all)"
