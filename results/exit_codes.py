"""What every command answers to the shell, beside what it prints."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The meaning of an exit code; where several apply, FAILED comes before REGRESSION before the others."""

    FINE = 0
    REGRESSION = 1
    FAILED = 2
    NOTHING_COMPARABLE = 3
    WRONG_USAGE = 64
    OUR_FAULT = 70
