"""Masks become networks: `StrNN`, its two executions, and the level schedule."""

from __future__ import annotations

from ._activations import ACTIVATIONS, make_activation
from ._cost import cheaper_execution
from ._schedule import LevelSchedule, Walk
from ._strnn import StrNN

__all__ = [
    "ACTIVATIONS",
    "LevelSchedule",
    "StrNN",
    "Walk",
    "cheaper_execution",
    "make_activation",
]
