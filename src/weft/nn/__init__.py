"""Masks become networks: `StrNN`, its two executions, and the level schedule."""

from __future__ import annotations

from ._activations import ACTIVATIONS, make_activation
from ._cost import cheaper_execution
from ._layers import BlockLinear, MaskedLinear
from ._plan import BlockPlan, Bucket
from ._schedule import LevelSchedule, Walk
from ._strnn import StrNN

__all__ = [
    "ACTIVATIONS",
    "BlockLinear",
    "BlockPlan",
    "Bucket",
    "LevelSchedule",
    "MaskedLinear",
    "StrNN",
    "Walk",
    "cheaper_execution",
    "make_activation",
]
