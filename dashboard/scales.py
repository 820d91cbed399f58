"""Scale of a chart's values, spacing of its commits, and what its curves are coloured and set apart by."""

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


class Colour(StrEnum):
    """Axis that colours curves; but for the provider, its value is a row's field, too."""

    PROVIDER = "provider"
    DTYPE = "dtype"
    MACHINE = "machine"
    COMMIT = "commit"


class Multiples(StrEnum):
    """Axis with a small chart for each of its values."""

    NONE = "none"
    HIDDEN = "hidden"
