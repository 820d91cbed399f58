"""What the package's commands share: `python -m fused_mlp.…` refuses wrong arguments as `fusebench` does."""

from __future__ import annotations

import argparse
import os
import sys
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """Parser that exits with 64 at wrong usage; argparse's own 2 means there that something failed."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and `message` to stderr and exit with 64."""
        self.print_usage(sys.stderr)
        self.exit(os.EX_USAGE, f"{self.prog}: error: {message}\n")
