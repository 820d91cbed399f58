"""`fusebench profile`: print what one call of a sweep point does inside."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import click

from results.commands.echo import echo, echo_rendered, terminal_of_output
from results.commands.no_data import EMPTY_STORE, not_measured, nothing_selected, nothing_to_show
from results.commands.options import all_option, db_option, where_option
from results.commands.selected_rows import SelectedPoints, select_rows
from results.commands.selection import AXES, selection_from_texts
from results.commands.slow_ceilings import slow_ceilings_in_words
from results.errors import UnknownRevision
from results.exit_codes import ExitCode
from results.files.records import State
from results.files.stacks import StackKind
from results.measuring_again import run_again
from results.output.profile_json import profile_as_json
from results.output.profile_tables import profile_as_text, stacks_as_text
from results.output.text_tables import MANY
from results.queries import profile_of, stacks_of, trace_of, visits_of
from results.store import OpenMode, open_store

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from results.rows import PointRow
    from results.store import Store

NO_PROFILE = "No profile of this point is stored: the run that timed it did not profile it, or ended before."
NO_STACKS = (
    "No stacks of the {kind} are stored for this point: it ran nothing there, or an older version profiled it. "
    "To measure it again:\n\n{commands}"
)

NO_TRACE = (
    "No trace of this point was kept: FUSEBENCH_TRACES=BATCH,… keeps those of some batches. To measure it again with "
    "one:\n\n{commands}"
)
NO_FILE = "Its trace was {path}, which is no longer there (`fusebench store retain-traces` removes old ones)."
HOW_TO_OPEN = (
    "Open it with *Open trace file* at https://ui.perfetto.dev: it is read in the browser and sent nowhere, and the "
    "page works without a network once it was visited; so does chrome://tracing in Chromium."
)


class ProfileFormat(StrEnum):
    """Format of what `profile` prints."""

    TEXT = "text"
    JSON = "json"


@click.command()
@click.argument("revision", metavar="[REV]", required=False)
@click.option(
    "--format",
    "profile_format",
    type=click.Choice([each.value for each in ProfileFormat]),
    default=ProfileFormat.TEXT.value,
    show_default=True,
    help="How to print it.",
)
@click.option("--trace", "asks_for_trace", is_flag=True, help="Print where its trace lies, for Perfetto, instead.")
@click.option(
    "--stacks", "kind", type=click.Choice([kind.value for kind in StackKind]), help="Print its folded stacks instead."
)
@all_option
@where_option
@db_option
def profile(  # noqa: PLR0913 - each is an option
    revision: str | None,
    profile_format: str,
    kind: str | None,
    where: Sequence[str],
    db: str | None,
    *,
    asks_for_trace: bool,
    shows_all: bool,
) -> int:
    """Print what one call of a point does inside: newest, or at commit REV; --where leaves one point.

    Of several machines it is the one that measured last, unless --where names a machine.

    Where its latency was measured in several visits, each is listed.

    \b
    --stacks host      self time on the host, one stack a line: outermost;…;innermost NANOSECONDS
    --stacks device    the same of the kernels on the device, below the operators that launched them

    Flame graph tools read them: fusebench profile … --stacks host | flamegraph.pl --countname ns

    The bytes that an operator must move are the least: each input read once, its output written once.
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    if kind is not None and asks_for_trace:
        raise click.UsageError("--stacks and --trace each print one thing instead of the profile; give one of them")
    if profile_format == "json" and (kind is not None or asks_for_trace):
        raise click.UsageError(
            "--format json is of the profile; leave it out to print its stacks or where its trace lies"
        )
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
        points = _of_the_newest_machine(points)
        if len(points) > 1:
            raise click.UsageError(_which_one(points))
        point = points[0]
        if kind is not None:
            code = _print_stacks(store, point, StackKind(kind))
        elif asks_for_trace:
            code = _print_trace(store, point)
        else:
            code = _print(store, point, ProfileFormat(profile_format), shows_all=shows_all)
        return code


def _print_stacks(store: Store, point: PointRow, kind: StackKind) -> int:
    stacks = stacks_of(store, point=point, kind=kind)
    if not stacks:
        return nothing_to_show(NO_STACKS.format(kind=kind, commands="\n".join(run_again([point]))))
    echo_rendered(stacks_as_text(stacks))
    return ExitCode.FINE


def _print_trace(store: Store, point: PointRow) -> int:
    path = trace_of(store, point=point)
    if path is None:
        return nothing_to_show(NO_TRACE.format(commands="\n".join(run_again([point], is_traced=True))))
    if not path.is_file():
        return nothing_to_show(NO_FILE.format(path=path))
    echo(str(path))
    echo(HOW_TO_OPEN, err=True)
    return ExitCode.FINE


def _print(store: Store, point: PointRow, profile_format: ProfileFormat, *, shows_all: bool) -> int:
    found = profile_of(store, point=point)
    if found is None:
        is_ok = point.state == State.OK
        return nothing_to_show(
            NO_PROFILE if is_ok else f"There is no profile of this point: {point.state}: {point.reason}"
        )
    visits, stacks = visits_of(store, point=point), stacks_of(store, point=point)
    if profile_format is ProfileFormat.JSON:
        trace = trace_of(store, point=point)
        echo_rendered(profile_as_json(point, found, visits=visits, stacks=stacks, trace=trace))
        return ExitCode.FINE
    limit = None if shows_all else MANY
    terminal = terminal_of_output()
    echo_rendered(profile_as_text(point, found, terminal, visits=visits, stacks=stacks, limit=limit))
    for line in slow_ceilings_in_words(store, [point]):
        echo(f"\n{line}")
    return ExitCode.FINE


def _of_the_newest_machine(points: Sequence[PointRow]) -> list[PointRow]:
    """Return the points of the machine that measured last, and say so where others have points as well."""
    newest = max(points, key=lambda point: point.measured_at).machine
    others = _sorted({point.machine for point in points} - {newest})
    if others:
        echo(f"Of {newest}, which measured last; --where machine=… for another ({', '.join(others)}).", err=True)
    return [point for point in points if point.machine == newest]


def _which_one(points: Sequence[PointRow]) -> str:
    """Return the error that lists the options which tell these points apart."""
    choices = {name: {getattr(point, axis) for point in points} for name, axis in AXES.items()}
    options = [f"--where {name}=…  ({', '.join(_sorted(of))})" for name, of in choices.items() if len(of) > 1]
    return "\n  ".join([f"{len(points)} points match, and a profile is of one; add one of each", *options])


def _sorted(values: Collection[int | str | None]) -> list[str]:
    """Return values as they are typed, numbers by size before texts by letter."""
    numbers = sorted(value for value in values if isinstance(value, int))
    return [*map(str, numbers), *sorted(str(value) for value in values if not isinstance(value, int))]
