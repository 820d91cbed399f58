"""`fusebench fleet`: one sweep over many hosts, into one store."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from results.commands.extras import require_modules
from results.commands.measuring import tower
from results.commands.measuring.tower import AS_THEY_ARE, MEASURING, passes_on
from results.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command(add_help_option=False, context_settings={**AS_THEY_ARE, "allow_interspersed_args": True})
@click.option("--db")
@passes_on
def fleet(options: Sequence[str], db: str | None) -> int:
    """Measure one sweep on many GPUs and hosts, into one store (needs a checkout)."""
    checkout = tower.checkout_of_command()
    require_modules(MEASURING, command="fleet", extra="bench")
    if {"-h", "--help"} & set(options) or not options:
        return tower.help_of([*tower.FLEET, *(options or ["--help"])], checkout)
    command = [*tower.FLEET, "--cwd", str(Path.cwd()), "--parent", str(os.getpid()), *options]
    if options[0] != "collect":
        if db is not None:
            raise click.UsageError("--db names the store that `fusebench fleet collect` fills; the others need none")
        return tower.run_to_end(command, checkout, os.environ)
    return _collected(command, checkout, db)


def _collected(command: Sequence[str], checkout: Path, db: str | None) -> int:
    """Bring the hosts' folders together, and store what the fit ones have recorded."""
    from results.commands.ingest import ingest  # noqa: PLC0415 - needs the store's modules

    with tempfile.TemporaryDirectory() as folder:
        selection = Path(folder) / "selection.json"
        code = tower.run_to_end([*command, "--selection", str(selection)], checkout, os.environ)
        if code:
            return code
        db_option = ["--db", db] if db else tower.place_of(Path(folder), is_recorded=True).db_option
        folders: list[str] = json.loads(selection.read_text(encoding="utf-8"))["folders"]
    if not folders:
        click.echo("nothing to store yet: no fit host has recorded anything there")
        return ExitCode.NOTHING_COMPARABLE
    return tower.call_command(ingest, [*folders, *db_option])
