"""`fusebench bisect`: find the commit that made a change; each trial is measured beside the good end."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from results.commands.extras import require_modules
from results.commands.measuring import tower
from results.commands.measuring.tower import AS_THEY_ARE, MEASURING, passes_on
from results.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PLAN = (sys.executable, "-m", "benchmarks.ruler.ab.range_command")


@dataclass(frozen=True, kw_only=True)
class _Planned:
    plan: Mapping[str, Any]
    options: Sequence[str]


@click.command(add_help_option=False, context_settings={**AS_THEY_ARE, "allow_interspersed_args": True})
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text")
@passes_on
def bisect(options: tuple[str, ...], form: str) -> int:
    """Find the commit between GOOD and BAD that made something slower (needs a checkout)."""
    checkout = tower.checkout_of_command()
    require_modules(MEASURING, command="bisect", extra="bench")
    if {"-h", "--help"} & set(options):
        return tower.help_of([*_PLAN, *options], checkout)
    from results.commands.measuring.bisection_state import FOLDER, held, opened_state  # noqa: PLC0415 - needs the store's
    from results.commands.measuring.bisection_trials import Bisecting  # noqa: PLC0415 - the same
    from results.commands.measuring.bisection_words import told  # noqa: PLC0415 - the same

    with tempfile.TemporaryDirectory() as scratch:
        place = tower.place_of(Path(scratch), is_recorded=True)
        planned = _planned(checkout, options, place)
        if isinstance(planned, int):
            return planned
        folder = (place.data or checkout / "results" / "data" / "local") / FOLDER
        with held(folder):
            state = opened_state(folder, planned.plan, again=planned.plan["again"])
            bisecting = Bisecting(
                checkout=checkout, place=place, options=planned.options, is_text=form == "text", state=state
            )
            code = bisecting.run()
            if code:
                return code
            return told(bisecting.state, place, options=planned.options, form=form)


def _planned(checkout: Path, options: Sequence[str], place: tower.Place) -> _Planned | int:
    """Return the range and the question, or the exit code of what refused them."""
    from results.commands.measuring.rounds import environment_of  # noqa: PLC0415 - as above

    out = place.folder / "plan.json"
    command = [*_PLAN, "--cwd", str(Path.cwd()), "--out", str(out), *options]
    code = tower.run_to_end(command, checkout, environment_of(place))
    if code or not out.exists():
        return code or ExitCode.WRONG_USAGE
    plan = json.loads(out.read_text(encoding="utf-8"))
    return _Planned(plan=plan, options=plan["options"])
