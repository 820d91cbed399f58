"""What the ruler's modules share that click does not start: wrong arguments end with 64, as everywhere."""

from __future__ import annotations

import argparse
import sys
from typing import NoReturn

from benchmarks.ruler.exit_codes import ExitCode


class Parser(argparse.ArgumentParser):
    """Parser that exits with 64 at wrong usage; argparse's own 2 means that something failed. Needs no click."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and `message` to stderr and exit with 64."""
        self.print_usage(sys.stderr)
        self.exit(ExitCode.WRONG_USAGE, f"{self.prog}: {message}\n")
