"""Exit codes of every command."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit code; where several apply, FAILED comes before REGRESSION before the others.

    NOTHING_COMPARABLE: or what was measured leaves undecided what was asked.
    """

    FINE = 0
    REGRESSION = 1
    FAILED = 2
    NOTHING_COMPARABLE = 3
    WRONG_USAGE = 64
    OUR_FAULT = 70
