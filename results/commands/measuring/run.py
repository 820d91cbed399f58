"""`fusebench run`: measure the checked-out commit, store it, print it."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path

import click

from results.commands.extras import require_modules
from results.commands.measuring import tower
from results.commands.measuring.tower import AS_THEY_ARE, MEASURING, RUN, passes_on


@click.command(add_help_option=False, context_settings=AS_THEY_ARE)
@passes_on
def run(options: tuple[str, ...]) -> int:
    """Measure the checked-out commit, store it, print it (needs a checkout)."""
    checkout = tower.checkout_of_command()
    require_modules(MEASURING, command="run", extra="bench")
    if {"-h", "--help"} & set(options):
        return tower.help_of([*RUN, *options], checkout)
    # Before minutes of measuring: what shows them.
    from results.commands.echo import echo  # noqa: PLC0415 - as show
    from results.commands.show import show  # noqa: PLC0415 - needs the store's modules

    is_recorded = "--uncommitted" not in options and not tower.is_kept_out_by_environment()
    with tempfile.TemporaryDirectory() as folder:
        place = tower.place_of(Path(folder), is_recorded=is_recorded)
        measured = tower.measure(checkout, options, place)
        if measured.selection is not None:
            code = tower.call_command(show, [*measured.selection, *place.db_option])
            if code:
                return code
    if measured.selection is None:
        return measured.exit_code
    if is_recorded:
        option = f" --db {shlex.quote(place.db)}" if place.data and place.db else ""
        echo(f"\nCurves: fusebench dashboard{option}. Other commits: fusebench show REV{option}")
    else:
        echo("\nNothing was recorded, as --uncommitted or FUSEBENCH_UNCOMMITTED asks.")
    return measured.exit_code
