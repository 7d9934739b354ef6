"""How a value that is out of range is refused, wherever it comes in."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from torch import Tensor

from .._errors import show

__all__ = ["refuse_values"]


def refuse_values(x: Tensor, valid: Tensor, names: Sequence[Hashable], expected: Callable[[int], str]) -> None:
    """Raise at the first value (…, columns) that is not valid, naming its column and row.

    Args:
        x: The values.
        valid: Whether each is valid.
        names: The columns.
        expected: Says which values of a column are valid, by its place.
    """
    if bool(valid.all()):
        return
    wrong = ~valid.reshape(-1, len(names))
    row, column = (int(place) for place in wrong.nonzero()[0])
    value, more = x.reshape(-1, len(names))[row, column].item(), int(wrong.sum()) - 1
    also = f" ({more:,} more like it)" if more else ""
    raise ValueError(f"column {show(names[column])}, row {row}: got {value:g}, expected {expected(column)}{also}.")
