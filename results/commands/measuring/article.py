"""`fusebench article`: measure its cases, and print them beside what the article saw, with reasons."""

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
def article(options: tuple[str, ...]) -> int:
    """Show what one call of two blocks does inside, and why it takes its time (needs a checkout)."""
    checkout = tower.checkout_of_command()
    require_modules(MEASURING, command="article", extra="bench")
    command = [sys.executable, "-m", "benchmarks.ruler.article.command", "--cwd", str(Path.cwd())]
    if {"-h", "--help"} & set(options):
        return tower.help_of([*command, *options], checkout)
    from results.commands.measuring.observations import observations  # noqa: PLC0415 - needs the store's modules

    with tempfile.TemporaryDirectory() as folder:
        code = tower.run_to_end([*command, "--out", folder, *options], checkout, os.environ)
        if code:
            return code
        question = Path(folder) / "question.json"
        asked = json.loads(question.read_text(encoding="utf-8"))
        measuring = ["--directly", "article", "--axes", asked["axes"]]
        measuring += [f"--{name}" for name in ("uncommitted", "again") if asked[name]]
        is_recorded = not asked["uncommitted"] and not tower.is_kept_out_by_environment()
        place = tower.place_of(Path(folder), is_recorded=is_recorded)
        # The answer alone goes to where it may be read by a program.
        with redirect_stdout(sys.stderr):
            measured = tower.measure(checkout, measuring, place, stdout=sys.stderr.fileno())
        if measured.selection is None:
            return measured.exit_code
        return tower.call_command(observations, [*measured.selection, "--question", str(question), *place.db_option])
