"""`fusebench doctor`: what to mend before measuring."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from results.commands.extras import require_modules
from results.commands.measuring import tower
from results.commands.measuring.tower import AS_THEY_ARE, passes_on


@click.command(add_help_option=False, context_settings=AS_THEY_ARE)
@passes_on
def doctor(options: tuple[str, ...]) -> int:
    """Look for what is missing or would disturb a measurement (needs a checkout)."""
    checkout = tower.checkout_of_command()
    require_modules(("torch",), command="doctor", extra="bench")
    command = [sys.executable, "-m", "benchmarks.ruler.doctor.command", "--cwd", str(Path.cwd()), *options]
    return tower.run_to_end(command, checkout, os.environ)
