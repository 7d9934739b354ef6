"""What a table or figure of the paper is, so that one command can run any of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._record import Row

__all__ = ["Experiment"]


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper.

    Args:
        title: What it shows, in one line.
        output: Name of the files that its results go to.
        run: Compute all rows, one per measurement. It takes ``seeds``, how many times each setting is drawn, ``track``,
            which is wrapped around what it goes through so that progress shows, and its sizes; each has a default.
            One that can compute on a GPU takes ``device``, ``"cpu"`` or ``"cuda"``, too.
        quick: Arguments of ``run`` that give a small version, in seconds.
        tables: Sum the rows up in tables by title, the first of them with what the paper published beside what was
            computed.
        draw: Draw the rows.

    Examples:
        >>> from weft.paper import EXPERIMENTS
        >>> rows = EXPERIMENTS["factorization"].run(seeds=1, sizes=(10,), large=())
        >>> len(rows)  # nine sparsities, two widths
        18
    """

    title: str
    output: str
    run: Callable[..., list[Row]]
    quick: Mapping[str, Any]
    tables: Callable[[list[Row]], dict[str, list[Row]]]
    draw: Callable[[list[Row]], Figure]
