"""The door: a structure, widths and the name of a method give masks that are proven right."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from .._arguments import check_whole
from .._errors import FactorizationError, shorten, show, suggest
from ..graph import Structure, StructureLike
from ._copying import Greedy, Zuko
from ._exact import Exact
from ._factorization import Factorization
from ._factorizer import Factorizer, Solution, least_width
from ._grouped import Grouped
from ._made import Made, MadeRandom
from ._products import LARGEST_MASK

__all__ = ["FACTORIZERS", "factorize"]

FACTORIZERS: dict[str, type[Factorizer]] = {
    kind.name: kind for kind in (Greedy, Grouped, Exact, Zuko, Made, MadeRandom)
}
"""The methods by name."""

UNITS_PER_ROW = 4
"""Units that the widths ``"auto"`` give to each output with parents, in each of two layers."""


def factorize(
    structure: StructureLike,
    widths: Sequence[int] | str = (128, 128),
    method: str | Factorizer = "greedy",
    objective: str = "paths",
    **options: Any,
) -> Factorization:
    """Turn a structure into binary masks that keep every edge and invent none.

    Args:
        structure: A `Graph`, a `networkx.DiGraph`, or a 0/1 matrix whose row i marks what output i may depend on;
            it may be rectangular, cyclic or empty.
        widths: Units of each hidden layer, ``()`` for none, or ``"auto"`` for two layers that are wide enough.
        method: ``"greedy"`` (the paper's Algorithm 1), ``"grouped"`` (weights linear in the edges, also with hubs),
            ``"exact"`` (provably optimal), ``"zuko"``, ``"made"``, ``"made-random"``, or a `Factorizer`.
        objective: What ``"exact"`` maximises: ``"paths"``, ``"paths-variance"`` or ``"balanced"``.
        options: Further options of the method: ``time_limit`` (exact), ``fan_in`` (grouped), ``seed`` (made-random).

    Returns:
        The masks with their proof.

    Raises:
        FactorizationError: If the widths cannot carry an edge, naming it and the least width that can.

    Examples:
        >>> import weft
        >>> g = weft.Graph.from_edges([("age", "dose"), ("dose", "recovery"), ("age", "recovery")])
        >>> f = weft.factorize(g, widths=(8,), method="exact", objective="balanced")
        >>> [mask.shape for mask in f.masks], f.optimal, f.lost
        ([(8, 3), (3, 8)], (True,), ())

    References:
        Structured Neural Networks for Density Estimation and Causal Inference (Chen et al., 2023).
        https://arxiv.org/abs/2311.02221
    """
    read = Structure.of(structure)
    factorizer = _factorizer(method, objective, options)
    sizes = _auto_widths(read, factorizer) if isinstance(widths, str) and widths == "auto" else _read_widths(widths)
    solution: object = factorizer.solve(read, sizes)
    if not isinstance(solution, Solution):
        raise FactorizationError(
            f"method {factorizer.name!r} returned {show(solution)}, expected weft.masks.Solution(masks)."
        )
    factorization = Factorization(read, sizes, factorizer, solution)
    factorization.check()
    return factorization


def _factorizer(method: str | Factorizer, objective: str, options: dict[str, Any]) -> Factorizer:
    """Return the factorizer that a name and its options mean."""
    asked = not isinstance(objective, str) or objective != "paths"
    if isinstance(method, Factorizer):
        if not isinstance(getattr(method, "name", None), str):
            raise FactorizationError(f"{type(method).__name__} has no name, expected a string: name = 'mine'.")
        if options or asked:
            raise FactorizationError(
                f"method is the object {show(method)}, which has its options already; got also "
                f"{shorten([*options, *(['objective'] if asked else [])])}. Set them on the object."
            )
        return method
    if not isinstance(method, str) or method not in FACTORIZERS:
        raise FactorizationError(
            f"unknown method {show(method)}{suggest(method, FACTORIZERS)}. Valid methods: {shorten(FACTORIZERS)}, or a "
            f"weft.masks.Factorizer."
        )
    kind = FACTORIZERS[method]
    known: set[str] = {f.name for f in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    if "objective" in known:
        options = {**options, "objective": objective}
    elif asked:
        raise FactorizationError(f"method {method!r} has no objective; got {show(objective)}. Use the method 'exact'.")
    for option in options.keys() - known:
        raise FactorizationError(
            f"unknown option {option!r} for method {method!r}{suggest(option, known)}. "
            f"Its options: {shorten(sorted(known)) or 'none'}."
        )
    return kind(**options)


def _auto_widths(structure: Structure, factorizer: Factorizer) -> tuple[int, int]:
    rows = int((structure.matrix.indptr[1:] > structure.matrix.indptr[:-1]).sum())
    width = max(1, UNITS_PER_ROW * rows, least_width(factorizer, structure))
    return (width, width)


def _read_widths(widths: Any) -> tuple[int, ...]:
    # The argument is called otherwise where a network is made, so no message names it.
    if isinstance(widths, (int, np.integer)) and not isinstance(widths, bool):
        raise FactorizationError(f"got the number {widths} as the widths, expected one per hidden layer: ({widths},).")
    is_listing = isinstance(widths, Iterable) and getattr(widths, "ndim", 1) != 0
    if not is_listing or isinstance(widths, (str, bytes, Set, Mapping)):
        raise FactorizationError(f'the widths are {show(widths)}, expected a sequence such as (128, 128), or "auto".')
    return tuple(
        check_whole(f"the width of hidden layer {number}", width, 1, LARGEST_MASK, FactorizationError)
        for number, width in enumerate(widths, start=1)
    )
