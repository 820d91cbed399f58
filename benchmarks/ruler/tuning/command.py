"""Command `python -m benchmarks.tune`: measure the tuned table of fused_mlp on this machine, cell by cell."""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.measure.allocator import AllocatorNotSet, set_allocator
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import settings_from_environment
from benchmarks.ruler.record.durable import write_whole
from benchmarks.ruler.sweep.interruption import Interrupted, interruptible
from benchmarks.ruler.sweep.lock import machine_lock
from benchmarks.ruler.tuning.candidates import candidates, this_machine
from benchmarks.ruler.tuning.cell_timing import DeviceContextLost, measure_cell
from benchmarks.ruler.tuning.cells import NUMBER_FORMATS, OPERATIONS, Cell, Question, cells, key_of
from benchmarks.ruler.tuning.conclusions import merged, policies_from, policy_value, winner
from benchmarks.ruler.tuning.record import Line, append_line, crashes, finished_cells, read_lines
from fused_mlp.choice.implementations import why_unavailable
from fused_mlp.errors import Unavailable
from fused_mlp.native.build import ensure_built, follow_table
from fused_mlp.tuned import TABLE, Policy, entries_from_json, json_from_entries
from fused_mlp.vocabulary import NumberFormat, Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.tuning.candidates import Machine

_Member = TypeVar("_Member", Operation, NumberFormat)


@dataclass(frozen=True, kw_only=True)
class TuningProgress:
    """Progress of a tuning run. lines: all finished cells; n_left: cells the budget left."""

    lines: tuple[Line, ...]
    n_measured: int
    n_left: int


def tune(  # noqa: PLR0913 - what to measure, with what, and where; then three policies
    asked: Sequence[Cell],
    machine: Machine,
    *,
    path: Path,
    say: Callable[[str], None],
    budget_s: float | None = None,
    again: Callable[[Line], bool] = lambda _: False,
    most_tiles: int | None = None,
) -> TuningProgress:
    """Measure the cells missing from `path` until the budget ends; record each as it finishes.

    A cell is begun only if one like the longest so far would end within the budget, so it is exceeded by little; the
    first is always begun. `again` says of a finished cell whether to measure it anew. On a CPU each cell is asked with
    the numbers that earlier ones of its operation found. most_tiles: see `candidates`.

    Raises: DeviceContextLost, after it was recorded; JournalError.
    """
    lines = read_lines(path)
    now = machine.clock.now
    known, start = finished_cells(lines), now()
    finished: list[Line] = []
    n_measured, n_left, longest_s = 0, 0, 0.0
    for number, cell in enumerate(asked, start=1):
        if machine.kind is DeviceKind.CPU:
            found = policies_from((line.cell, line.measured) for line in finished)
            cell = replace(cell, others=found.get((cell.operation, cell.number_format), Policy()))  # noqa: PLW2901 - what is asked depends on what was found
        contenders = candidates(cell, machine, most_tiles=most_tiles)
        key = key_of(cell, machine.circumstances, candidates=sorted(one.name for one in contenders))
        if key in known and not again(known[key]):
            finished.append(known[key])
            continue
        begun = now()
        if n_left or (budget_s is not None and begun - start + longest_s > budget_s and n_measured):
            n_left += 1
            continue
        try:
            answer = measure_cell(cell, contenders, machine, crashed=crashes(lines, key))
        except DeviceContextLost as lost:
            line = _line(key, cell, machine)
            append_line(path, replace(line, crashed=lost.candidate, reason=str(lost)))
            raise
        line = replace(_line(key, cell, machine), measured=answer.measured, disturbed=answer.disturbed)
        append_line(path, line)
        finished.append(line)
        n_measured += 1
        longest_s = max(longest_s, now() - begun)
        say(f"[{number:>{len(str(len(asked)))}}/{len(asked)}] {cell}: {cell_summary(line)}")
    return TuningProgress(lines=tuple(finished), n_measured=n_measured, n_left=n_left)


def cell_summary(line: Line) -> str:
    """Return a one-line description of a finished cell."""
    trouble = [f"{one.name}: {one.reason}" for one in line.measured if (one.reason or "").startswith("wrong")]
    first, *others = (line.disturbed or "").split("; ")
    more = f", and {len(others)} more" if others else ""
    notes = [*trouble, *([f"disturbed: {first}{more}"] if line.disturbed else [])]
    if line.cell.question is not Question.WAY:
        said = f"→ {policy_value(line.measured, line.cell.question)}"
    elif (best := winner(line.measured)) is None:
        said = "no candidate gave a right result"
    else:
        said = f"{best.name}, {(best.seconds or 0.0) * 1e6:.1f} µs, of {len(line.measured)}"
        default = line.measured[0]
        if best is not default and default.seconds and best.seconds:
            said += f"; {default.seconds / best.seconds:.2f} times as fast as {default.name}"
    return "; ".join([said, *notes])


def write_table(path: Path, tuned: TuningProgress, machine: Machine) -> None:
    """Update the table's entry of this device atomically; entries of other cells stay."""
    known = entries_from_json(path.read_text(encoding="utf-8"))
    device = machine.circumstances.device
    found = [(line.cell, line.measured) for line in tuned.lines]
    known[device] = merged(known.get(device), machine.circumstances, found)
    write_whole(path, json_from_entries(known[name] for name in sorted(known)))


def _line(key: str, cell: Cell, machine: Machine) -> Line:
    measured_at = datetime.now(UTC).isoformat(timespec="seconds")
    return Line(key=key, cell=cell, circumstances=machine.circumstances, measured=(), measured_at=measured_at)


def _operations(names: str | None) -> tuple[Operation, ...]:
    return tuple(_member(Operation, name, "operation") for name in names.split(",")) if names else OPERATIONS


def _number_formats(names: str | None, kind: DeviceKind) -> tuple[NumberFormat, ...]:
    chosen = tuple(_member(NumberFormat, n, "dtype") for n in names.split(",")) if names else NUMBER_FORMATS[kind]
    if kind is DeviceKind.CPU and NumberFormat.TF32 in chosen:
        raise click.UsageError("tf32 is a way of CUDA's to multiply float32; a CPU has none")
    return chosen


def _member(kind: type[_Member], name: str, option: str) -> _Member:
    try:
        return kind(name.strip())
    except ValueError:
        raise click.UsageError(f"--{option}: {name.strip()!r}; choose from {', '.join(kind)}") from None


def _why_not_here(kind: DeviceKind) -> str | None:
    if kind is DeviceKind.CUDA:
        return why_unavailable(Operation.LINEAR, device="cuda")
    try:
        ensure_built()
    except Unavailable as unavailable:
        return str(unavailable)
    return None


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--device",
    type=click.Choice([kind.value for kind in DeviceKind]),
    default=None,
    help="[cuda where there is one, else cpu]",
)
@click.option("--operation", default=None, metavar="NAMES", help="Only these operations, comma-separated.")
@click.option("--dtype", default=None, metavar="NAMES", help="Only these; tf32 is float32 that may be rounded so.")
@click.option("--budget-s", type=float, default=None, help="Begin no cell that would end later than this. [no end]")
@click.option("--quick", is_flag=True, help="Two small shapes a question: proves the command, writes no table.")
@click.option("--again", is_flag=True, help="Measure the cells anew that were disturbed.")
@click.option("--results", type=click.Path(path_type=Path, dir_okay=False), default=None, help="Where cells are kept.")
@click.option("--table", type=click.Path(path_type=Path, dir_okay=False), default=TABLE, help="What --write writes to.")
@click.option("--write", is_flag=True, help="Put what was found into fused_mlp's table.")
def main(  # noqa: PLR0913 - each is an option
    *,
    device: str | None,
    operation: str | None,
    dtype: str | None,
    budget_s: float | None,
    quick: bool,
    again: bool,
    results: Path | None,
    table: Path,
    write: bool,
) -> None:
    """Measure which way of fused_mlp is fastest on this machine; measured cells are not repeated."""
    kind = DeviceKind(device or ("cuda" if why_unavailable(Operation.LINEAR, device="cuda") is None else "cpu"))
    if quick and write:
        raise click.UsageError("--quick measures too little for a table; leave one of --quick and --write away")
    asked = cells(kind, operations=_operations(operation), number_formats=_number_formats(dtype, kind), is_quick=quick)
    if reason := _why_not_here(kind):
        click.echo(f"tune: {reason}", err=True)
        sys.exit(ExitCode.NOTHING_MEASURED)
    machine, settings = this_machine(kind), settings_from_environment()
    with suppress(AllocatorNotSet):
        # As where the ways that are chosen here will be measured.
        set_allocator(settings.allocator)
    path = results or settings.data_dir / "tuning" / f"{_file_name(machine.circumstances.device)}.jsonl"
    click.echo(f"{len(asked)} cells for {machine.circumstances.device}, kept in {path}")
    known = partial(tune, asked, machine, path=path, say=click.echo, budget_s=budget_s)
    measure = partial(known, again=lambda line: line.disturbed is not None) if again else known
    sys.exit(_tune_and_report(measure, machine, settings, path=path, table=table if write else None))


def _tune_and_report(
    measure: Callable[[], TuningProgress], machine: Machine, settings: Settings, *, path: Path, table: Path | None
) -> int:
    """Tune, print the summary, write the table if one is given; return the exit code."""
    try:
        with interruptible(), machine_lock(settings.lock_file, say=click.echo, waits=settings.waits_for_lock):
            tuned = measure()
    except Interrupted:
        click.echo(f"interrupted; every finished cell is kept in {path}", err=True)
        raise
    except DeviceContextLost as lost:
        words = f"tune: {lost.candidate} brought the device down ({lost}); call again, and it is left out"
        click.echo(words, err=True)
        return ExitCode.FAILED
    finally:
        if machine.kind is DeviceKind.CPU:
            follow_table(machine.circumstances.device)
    click.echo(summary(tuned, path))
    if table is not None:
        write_table(table, tuned, machine)
        click.echo(f"written to {table}")
    wrong = any((one.reason or "").startswith("wrong") for line in tuned.lines for one in line.measured)
    if wrong:
        return ExitCode.FAILED
    return ExitCode.UNFINISHED if tuned.n_left else ExitCode.FINE


def summary(tuned: TuningProgress, path: Path) -> str:
    """Return a one-line summary of the run."""
    if not tuned.n_measured and not tuned.n_left:
        return f"everything is measured already: {len(tuned.lines)} cells in {path}; nothing was measured"
    known = len(tuned.lines) - tuned.n_measured
    left = f"; {tuned.n_left} left by the budget: call again" if tuned.n_left else ""
    disturbed = sum(line.disturbed is not None for line in tuned.lines)
    noisy = f"; {disturbed} disturbed: --again measures them anew" if disturbed else ""
    return f"measured {tuned.n_measured} cells, {known} were measured before{left}{noisy}"


def _file_name(device: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", device).strip("-")
