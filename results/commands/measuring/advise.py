"""`fusebench advise`, from the question to its answer."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import click

from results.commands.extras import require_modules
from results.commands.measuring import tower
from results.commands.measuring.tower import AS_THEY_ARE, MEASURING, passes_on


@click.command(add_help_option=False, context_settings=AS_THEY_ARE)
@passes_on
def advise(options: tuple[str, ...]) -> int:
    """Measure a shape, a model's or a module's, and say what to run and why (needs a checkout)."""
    checkout = tower.checkout_of_command()
    require_modules(MEASURING, command="advise", extra="bench")
    command = [sys.executable, "-m", "benchmarks.ruler.advice.command", "--cwd", str(Path.cwd())]
    if {"-h", "--help"} & set(options):
        return tower.help_of([*command, *options], checkout)
    from results.commands.measuring.advice import advice  # noqa: PLC0415 - needs the store's modules

    with tempfile.TemporaryDirectory() as folder:
        # The answer alone goes to where it may be read by a program; a module of somebody's may print.
        words = sys.stderr.fileno()
        code = tower.run_to_end([*command, "--out", folder, *options], checkout, os.environ, stdout=words)
        if code:
            return code
        question = Path(folder) / "question.json"
        asked = json.loads(question.read_text(encoding="utf-8"))
        measuring = ["--directly", "advise", "--axes", str(Path(folder) / "advise.toml")]
        measuring += ["--provider-module", asked["provider_module"]] if asked["provider_module"] else []
        measuring += [f"--{name}" for name in ("uncommitted", "again") if asked[name]]
        place = tower.place_of(
            Path(folder), is_recorded=not asked["uncommitted"] and not tower.is_kept_out_by_environment()
        )
        with redirect_stdout(sys.stderr):
            measured = tower.measure(checkout, measuring, place, stdout=words)
        if measured.selection is None:
            return measured.exit_code
        return tower.call_command(advice, [*measured.selection, "--question", str(question), *place.db_option])
