"""`store join` and `store acknowledge`: decisions of a person."""

from __future__ import annotations

import math
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
import sqlalchemy as sa

from results.commands.echo import echo
from results.commands.no_data import not_measured
from results.commands.options import db_option
from results.commands.selection import selection_from_texts
from results.database.schema import Benchmark, Commit, Project
from results.errors import UnknownParameter, UnknownRevision, UnwritableDecisions
from results.exit_codes import ExitCode
from results.files.decisions import WHERE_DECISIONS, decisions_file_of_environment
from results.files.parameters import ParameterType, is_storable, typed_from_repr, value_from_typed
from results.files.records import AcknowledgementRecord, ContinuationRecord, Decided, TriageDecision
from results.metrics import SWEEP_METRICS
from results.questions.revisions import commit_of
from results.store import OpenMode, Store, open_store
from results.units import counted
from results.upkeep.decisions import acknowledged_by, declare, is_within, of_these_series, withdraw

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SHORTEST_VERSION_PREFIX = 6  # of the 64 characters that asv's have

file_option = click.option(
    "--file",
    type=click.Path(path_type=Path, dir_okay=False),
    default=decisions_file_of_environment,
    show_default=WHERE_DECISIONS,
    help="File of decisions, to keep under version control.",
)
project_option = click.option("--project", metavar="NAME", help="Project; needed where several match.")
note_option = click.option("--note", metavar="TEXT", help="Reason, in words.")
by_option = click.option("--by", metavar="NAME", help="Who decided.")


@click.command()
@click.argument("benchmark")
@click.argument("old")
@click.argument("new")
@click.option("--metric", metavar="NAME", help="Only this metric of the benchmark.  [default: all]")
@project_option
@note_option
@by_option
@file_option
@db_option
def join(  # noqa: PLR0913, PLR0917 - its options
    benchmark: str,
    old: str,
    new: str,
    metric: str | None,
    project: str | None,
    note: str | None,
    by: str | None,
    file: Path,
    db: str | None,
) -> int:
    """Treat version NEW of BENCHMARK as a continuation of version OLD.

    For a benchmark that asv counts as another although it measures the same. A version may be given by its first
    characters; a wrong one is answered with those there are. Versions of the ruler are joined for one operation at a
    time.

    To undo it, take its [[continuation]] out of the file, leave the file itself there, and run `fusebench ingest FILE`.

    \b
    fusebench store join sparse.Matvec.time_matvec 1c8f03 90ab12 --note "only renamed"
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    with open_store(db, mode=OpenMode.READ) as store:
        project, versions = _versions(store, benchmark, metric, project)
        record = ContinuationRecord(
            project=project,
            benchmark=benchmark,
            metric=metric,
            old=_version(old, versions, benchmark),
            new=_version(new, versions, benchmark),
            decided=_decided(note, by),
        )
        if record.old == record.new:
            raise click.UsageError(f"{old} and {new} are the same version of {benchmark}")
        with _named_if_unwritable(file):
            applied = declare(store, record, file=file)
        are_rulers = _are_rulers(store, record)
    echo(f"{benchmark}: {record.new[:12]} continues {record.old[:12]}, written to {file}")
    echo(f"{applied.n_joined} benchmarks of this store continue another version")
    if are_rulers:
        echo(
            f"These are versions of the ruler: what {record.new} measures differently from {record.old} is now told as "
            "a change of the machine or of a commit.",
            err=True,
        )
    return ExitCode.FINE


@click.command()
@click.argument("revision", metavar="REV")
@click.option(
    "--decision",
    type=click.Choice([d.value for d in TriageDecision]),
    default=TriageDecision.ACCEPTED.value,
    show_default=True,
    help="It may stay, is no change of the code, or is still to be fixed.",
)
@click.option("--benchmark", metavar="NAME", help="Only this operation or asv benchmark.")
@click.option("--metric", metavar="NAME", help="Only this metric.")
@click.option("--machine", metavar="NAME", help="Only on this machine.")
@click.option("--environment", metavar="NAME", help="Only in this environment.")
@click.option(
    "--where", metavar="NAME=VALUE", multiple=True, help="Only where parameter NAME is VALUE. May be repeated."
)
@click.option(
    "--later", "is_also_later", is_flag=True, help="Also any series measured at REV, or gone there, only later."
)
@click.option("--undo", is_flag=True, help="Take back what was acknowledged with this selection.")
@project_option
@note_option
@by_option
@file_option
@db_option
def acknowledge(  # noqa: PLR0913, PLR0917 - its options
    revision: str,
    decision: str,
    benchmark: str | None,
    metric: str | None,
    machine: str | None,
    environment: str | None,
    where: Sequence[str],
    project: str | None,
    note: str | None,
    by: str | None,
    file: Path,
    db: str | None,
    *,
    is_also_later: bool,
    undo: bool,
) -> int:
    """Mark the change at commit REV as known: accepted, a false alarm, or to be fixed.

    `gate`, `show`, `status` and the dashboard list it as known, with the note; it makes no exit code 1 or 2. A
    series that gets worse later, or by more than at REV, is a regression as before. One that is gone at REV, measured
    before and not there, is known until it is measured again. It is about what is stored now: a series that is first
    measured at REV later, or gone there only once versions are joined, is new to whoever decided, and judged, unless
    --later is given. A series that was stored at REV is known there whatever it is compared with, so also where only
    joined versions show that it is worse.

    \b
    fusebench store acknowledge HEAD --note "pays for accuracy"
    fusebench store acknowledge 3f1c2a --benchmark mlp --where batch=64 --decision to_fix
    fusebench store acknowledge 3f1c2a --undo                     all that was acknowledged at 3f1c2a
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    parameters = _parameters(where)  # what is misspelt is told before a commit that is not stored
    with open_store(db, mode=OpenMode.READ) as store:
        try:
            commit = commit_of(store, revision)
        except UnknownRevision as error:
            return not_measured(store, error)
        record = AcknowledgementRecord(
            project=_only(_projects_of(store, commit), project, what=f"commit {commit[:8]}"),
            commit=commit,
            decision=TriageDecision(decision),
            benchmark=benchmark,
            metric=metric,
            machine=machine,
            environment=environment,
            parameters=parameters,
            decided=_decided(note, by),
        )
        if undo:
            with _named_if_unwritable(file):
                withdrawn = withdraw(store, lambda stored: is_within(stored, record), by=record.decided, file=file)
            if not withdrawn:
                raise click.UsageError(
                    f"{file} has no acknowledgement at {commit[:8]} with this selection; --file names another"
                )
            echo(f"{commit[:8]}: {counted(len(withdrawn), 'acknowledgement')} removed from {file} and {store.name}")
            return ExitCode.FINE
        found = acknowledged_by(store, record)
        not_yet = f"; {found.n_not_yet} that match were not there yet" if found.n_not_yet else ""
        if not found:
            raise click.UsageError(
                f"no series that was measured at {commit[:8]}, or is gone there, matches the selection{not_yet}; "
                f"nothing was written"
            )
        with _named_if_unwritable(file):
            declare(store, record if is_also_later else of_these_series(store, record, found), file=file)
    later = ", and any measured there later" if is_also_later else ""
    gone = f", {len(found.gone)} of them gone there" if found.gone else ""
    echo(f"{commit[:8]}: {decision} for {len(found)} series{gone}{later}{not_yet}, written to {file}")
    return ExitCode.FINE


@contextmanager
def _named_if_unwritable(file: Path) -> Iterator[None]:
    """Turn what keeps the file from being read or written into UnwritableDecisions, which names it."""
    try:
        yield
    except OSError as error:
        raise UnwritableDecisions(
            f"{file} cannot be written: {error.strerror or error}; nothing was written, name another with --file"
        ) from error


def _decided(note: str | None, by: str | None) -> Decided:
    """Return who decided now, and why. Raises: click.UsageError for bytes that are no text."""
    for option, text in (("--note", note), ("--by", by)):
        if text is not None and not is_storable(text):
            raise click.UsageError(f"{option} holds bytes that are not UTF-8; nothing was written")
    return Decided(note=note, by=by, at=datetime.now(tz=UTC).replace(microsecond=0))


def _versions(store: Store, benchmark: str, metric: str | None, project: str | None) -> tuple[str, list[str]]:
    """Return the benchmark's project and its versions."""
    query = sa.select(Project.name, Benchmark.version).join(Project, Project.id == Benchmark.project_id)
    query = query.where(Benchmark.name == benchmark)
    if metric is not None:
        query = query.where(Benchmark.metric == metric)
    with store.reading() as connection:
        rows = connection.execute(query.distinct().order_by(Project.name, Benchmark.version)).all()
    what = f"benchmark {benchmark}" + (f" with metric {metric}" if metric else "")
    named = _only(dict.fromkeys(row[0] for row in rows), project, what=what)
    return named, [version for name, version in rows if name == named]


def _version(text: str, versions: Sequence[str], benchmark: str) -> str:
    """Return the version that `text` is or begins. Raises: click.UsageError."""
    if text in versions:
        return text
    found = [version for version in versions if len(text) >= SHORTEST_VERSION_PREFIX and version.startswith(text)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(version[:12] for version in versions)
    what = "no version" if not found else f"the start of {len(found)} versions"
    raise click.UsageError(f"{text} is {what} of {benchmark}; there are {known}")


def _are_rulers(store: Store, joined: ContinuationRecord) -> bool:
    """Return whether the joined versions are the sweep's, which are those of its ruler."""
    query = sa.select(Benchmark.metric).join(Project, Project.id == Benchmark.project_id)
    query = query.where(Project.name == joined.project, Benchmark.name == joined.benchmark)
    query = query.where(Benchmark.version == joined.new)
    with store.reading() as connection:
        metrics = set(connection.execute(query).scalars())
    return not metrics.isdisjoint(SWEEP_METRICS)


def _projects_of(store: Store, commit: str) -> list[str]:
    query = sa.select(Project.name).join(Commit, Commit.project_id == Project.id).where(Commit.hash == commit)
    with store.reading() as connection:
        return sorted(connection.execute(query).scalars())


def _only(projects: Iterable[str], named: str | None, *, what: str) -> str:
    """Return the only project, or the named one. Raises: click.UsageError."""
    found = list(projects)
    if named is not None:
        found = [name for name in found if name == named]
    if len(found) == 1:
        return found[0]
    if not found:
        raise click.UsageError(f"nothing is stored of {what}" + (f" in project {named}" if named else ""))
    raise click.UsageError(f"{what} is in several projects: name one with --project ({', '.join(found)})")


def _parameters(where: Sequence[str]) -> dict[str, str | float | bool]:
    """Parse `batch=64` as the number 64 and `provider=fused` as a text."""
    found: dict[str, str | float | bool] = {}
    for name, texts in selection_from_texts(where).texts.items():
        if len(texts) > 1:
            raise UnknownParameter(f"{name} is given twice; acknowledge the series of one value after the other")
        typed = typed_from_repr(texts[0])
        value = value_from_typed(typed.type, typed.text, typed.number)
        is_endless = isinstance(value, float) and not math.isfinite(value)  # which no number of a file may be
        is_text = value is None or is_endless or typed.type in {ParameterType.STR, ParameterType.OTHER}
        found[name] = typed.text if is_text or value is None else value
    return found
