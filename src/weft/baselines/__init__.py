"""What the paper compares with, behind the same protocol as the models."""

from __future__ import annotations

from ._made import MADE

__all__ = ["MADE"]
