"""`fusebench profile`: print what one call of a sweep point does inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from results.commands.echo import echo_rendered, terminal_of_output
from results.commands.no_data import EMPTY_STORE, not_measured, nothing_selected, nothing_to_show
from results.commands.options import all_option, db_option, where_option
from results.commands.selected_rows import SelectedPoints, select_rows
from results.commands.selection import AXES, selection_from_texts
from results.errors import UnknownRevision
from results.exit_codes import ExitCode
from results.files.records import State
from results.files.stacks import StackKind
from results.output.profile_tables import profile_as_text, stacks_as_text
from results.output.text_tables import MANY
from results.queries import profile_of, stacks_of, visits_of
from results.store import OpenMode, open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.rows import PointRow
    from results.store import Store

NO_PROFILE = "No profile of this point is stored: the run that timed it did not profile it, or ended before."
NO_STACKS = (
    "No stacks of the {kind} are stored for this point: it ran nothing there, or an older version profiled it; "
    "`fusebench run --again` measures it again."
)


@click.command()
@click.argument("revision", metavar="[REV]", required=False)
@click.option(
    "--stacks", "kind", type=click.Choice([kind.value for kind in StackKind]), help="Print its folded stacks instead."
)
@all_option
@where_option
@db_option
def profile(revision: str | None, kind: str | None, where: Sequence[str], db: str | None, *, shows_all: bool) -> int:
    """Print what one call of a point does inside: newest, or at commit REV; --where leaves one point.

    Where its latency was measured in several visits, each is listed.

    \b
    --stacks host      self time on the host, one stack a line: outermost;…;innermost NANOSECONDS
    --stacks device    the same of the kernels on the device, below the operators that launched them

    Flame graph tools read them: fusebench profile … --stacks host | flamegraph.pl --countname ns
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    selection = selection_from_texts(where)
    with open_store(db, mode=OpenMode.READ) as store:
        selected = select_rows(store, selection)
        if selected is None:
            return nothing_to_show(EMPTY_STORE)
        if not isinstance(selected, SelectedPoints):
            return nothing_to_show("Only points of the sweep have a profile, and the selection is of another suite.")
        try:
            points = selected.latest(store, revision)
        except UnknownRevision as error:
            return not_measured(store, error)
        if not points:
            return nothing_selected(store, selected, selection)
        if len(points) > 1:
            raise click.UsageError(_which_one(points))
        return _print(store, points[0], None if kind is None else StackKind(kind), shows_all=shows_all)


def _print(store: Store, point: PointRow, kind: StackKind | None, *, shows_all: bool) -> int:
    if kind is not None:
        stacks = stacks_of(store, point=point, kind=kind)
        if not stacks:
            return nothing_to_show(NO_STACKS.format(kind=kind))
        echo_rendered(stacks_as_text(stacks))
        return ExitCode.FINE
    found = profile_of(store, point=point)
    if found is None:
        is_ok = point.state == State.OK
        return nothing_to_show(
            NO_PROFILE if is_ok else f"There is no profile of this point: {point.state}: {point.reason}"
        )
    limit = None if shows_all else MANY
    visits = visits_of(store, point=point)
    echo_rendered(profile_as_text(point, found, terminal_of_output(), visits=visits, limit=limit))
    return ExitCode.FINE


def _which_one(points: Sequence[PointRow]) -> str:
    """Return the error that lists the options which tell these points apart."""
    choices = {name: dict.fromkeys(str(getattr(point, axis)) for point in points) for name, axis in AXES.items()}
    options = [f"--where {name}=…  ({', '.join(values)})" for name, values in choices.items() if len(values) > 1]
    return "\n  ".join([f"{len(points)} points match, and a profile is of one; add one of each", *options])
