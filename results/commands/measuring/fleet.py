"""`fusebench fleet`: one sweep over many hosts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from results.commands.extras import require_modules
from results.commands.measuring import tower
from results.commands.measuring.tower import AS_THEY_ARE, MEASURING, passes_on

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command(add_help_option=False, context_settings=AS_THEY_ARE)
@passes_on
def fleet(options: Sequence[str]) -> int:
    """Measure one sweep on many GPUs and hosts, into one store (needs a checkout)."""
    checkout = tower.checkout_of_command()
    require_modules(MEASURING, command="fleet", extra="bench")
    command = [*tower.FLEET, "--cwd", str(Path.cwd()), *options]
    if {"-h", "--help"} & set(options) or not options:
        return tower.help_of([*tower.FLEET, *(options or ["--help"])], checkout)
    return tower.run_to_end(command, checkout, os.environ)
