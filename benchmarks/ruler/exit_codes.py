"""Exit codes of the ruler's commands; those that results has, too, mean the same there."""

from __future__ import annotations

import os
from enum import IntEnum


class ExitCode(IntEnum):
    """Exit code; 1 would mean a regression, which no measuring command judges. 128 and a signal's number come on top.

    UNFINISHED: the time was up, and the same command goes on. OUR_FAULT: an exception that nobody expected.
    """

    FINE = 0
    FAILED = 2
    NOTHING_MEASURED = 3
    WRONG_USAGE = os.EX_USAGE
    OUR_FAULT = os.EX_SOFTWARE
    UNFINISHED = os.EX_TEMPFAIL
