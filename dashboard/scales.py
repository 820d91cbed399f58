"""Scale of a chart's values and spacing of its commits."""

from __future__ import annotations

from enum import StrEnum


class CommitSpacing(StrEnum):
    """Spacing of commits along the x axis."""

    ORDER = "order"
    DATE = "date"


class Scale(StrEnum):
    """Scale of the y axis: fitted to the values, from zero, or logarithmic."""

    FIT = "fit"
    ZERO = "zero"
    LOG = "log"
