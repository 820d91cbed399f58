"""`fusebench noise`: measure a commit against itself, and print how much it varies and what is invisible for it."""

from __future__ import annotations

import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

import click

from results.commands.extras import require_modules
from results.commands.measuring import tower
from results.commands.measuring.tower import AS_THEY_ARE, MEASURING, passes_on
from results.commands.options import all_option, db_option, where_option

if TYPE_CHECKING:
    from collections.abc import Sequence

ROUNDS = 5
_STANDARD_ERROR = 2


@click.command(context_settings={**AS_THEY_ARE, "allow_interspersed_args": True})
@click.option(
    "--rounds", type=click.IntRange(min=2), default=ROUNDS, show_default=True, help="Runs to make, one after the other."
)
@click.option("--from-store", is_flag=True, help="Measure nothing; print what the stored runs tell.")
@click.option("--revision", metavar="REV", help="With --from-store: the commit.  [default: the newest stored]")
@click.option(
    "--format", "noise_format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Format."
)
@all_option
@where_option
@db_option
@passes_on
def noise(  # noqa: PLR0913, PLR0917 - its options
    options: tuple[str, ...],
    rounds: int,
    revision: str | None,
    noise_format: str,
    where: tuple[str, ...],
    db: str | None,
    *,
    from_store: bool,
    shows_all: bool,
) -> int:
    """How small a change can be seen here? Measures the checked-out commit against itself (needs a checkout).

    Makes several runs, each of fresh processes, and stores them as any other; of each surface prints by how much it
    varies from run to run and below what a change is invisible, with the machine's part taken out and without. Other
    options choose what is measured, and are those of `fusebench run`: --axes, --operation, --provider, --batch, …

    \b
    fusebench noise --operation mlp --batch 16
    fusebench noise --from-store --where operation=mlp
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    if from_store:
        if options:
            raise click.UsageError(f"{' '.join(options)}: --from-store measures nothing; choose points with --where")
        return _told(revision, where, db, noise_format, shows_all=shows_all)
    if revision is not None or where or db is not None:
        raise click.UsageError("--revision, --where and --db choose among what is stored: give --from-store, too")
    checkout = tower.checkout_of_command()
    require_modules(MEASURING, command="noise", extra="bench")
    if "--again" in options:
        raise click.UsageError("--again: every round of `noise` is another run anyway")
    is_recorded = "--uncommitted" not in options and not tower.is_kept_out_by_environment()
    with tempfile.TemporaryDirectory() as folder:
        place = tower.place_of(Path(folder), is_recorded=is_recorded)
        code, selection = _measured(checkout, options, place, rounds=rounds)
        if selection is None:
            return code
        told = _told(selection[0], _values_of(selection), place.db, noise_format, shows_all=shows_all)
    return told or code


def _measured(
    checkout: Path, options: Sequence[str], place: tower.Place, *, rounds: int
) -> tuple[int, list[str] | None]:
    """Make the runs; return how the worst of them ended, and what chooses the measured points, None if there are none.

    An interrupted run ends it; what is stored by then is kept.
    """
    codes, selection = [], None
    for number in range(1, rounds + 1):
        heading = f"Round {number} of {rounds}: another run of the same commit."
        # What is measured and stored is told beside the answer, which may be read by a program.
        with redirect_stdout(sys.stderr):
            asked = ["--directly", "noise", "--again", "--heading", heading, *options]
            measured = tower.measure(checkout, asked, place, stdout=_STANDARD_ERROR)
        if measured.selection is None:
            return measured.exit_code, None
        codes.append(measured.exit_code)
        selection = measured.selection
    return max(codes), selection


def _values_of(selection: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for text in selection[1:] if text != "--where")


def _told(revision: str | None, where: Sequence[str], db: str | None, noise_format: str, *, shows_all: bool) -> int:
    from results.commands.judging.stored_noise import print_noise  # noqa: PLC0415 - needs the store's modules

    return print_noise(revision, where, db, noise_format, shows_all=shows_all)
