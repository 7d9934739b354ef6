"""A structure becomes binary masks: the factorizers and their proof object."""

from __future__ import annotations

from .._errors import FactorizationError
from ._containment import containment, distinct_rows
from ._copying import Greedy, Zuko
from ._exact import Exact
from ._factorization import Factorization
from ._factorize import FACTORIZERS, factorize
from ._factorizer import Factorizer, Solution
from ._grouped import Grouped
from ._made import Made, MadeRandom
from ._products import reach

__all__ = [
    "FACTORIZERS",
    "Exact",
    "Factorization",
    "FactorizationError",
    "Factorizer",
    "Greedy",
    "Grouped",
    "Made",
    "MadeRandom",
    "Solution",
    "Zuko",
    "containment",
    "distinct_rows",
    "factorize",
    "reach",
]
