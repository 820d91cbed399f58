"""Retention of profiler traces: large files that stored profiles refer to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.schema import Profile, Run, Source
from results.files.paths import path_from_text, trace_path

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from results.store import Store


@dataclass(frozen=True, kw_only=True)
class Trace:
    """Trace of a profile. `age`: number of newer runs with traces of its project, machine and environment."""

    path: Path
    measured_at: datetime
    age: int


@dataclass(frozen=True, kw_only=True)
class Retention:
    """Rules for keeping traces. A trace is removed only if every given rule allows it; None is no rule.

    keep: number of newest runs on each machine and environment whose traces stay. older_than: younger ones stay.
    """

    keep: int | None
    older_than: timedelta | None

    def allows_removal(self, trace: Trace, *, now: datetime) -> bool:
        """Return whether every rule allows removing `trace`; without a rule none is removed."""
        rules = []
        if self.keep is not None:
            rules.append(trace.age >= self.keep)
        if self.older_than is not None:
            rules.append(trace.measured_at < now - self.older_than)
        return bool(rules) and all(rules)


def removable_traces(store: Store, folder: Path, *, retention: Retention) -> list[Path]:
    """Return the trace files below `folder` that `retention` allows to remove, each once.

    Files that no stored profile refers to are left alone, and a file stays if any profile needs it.
    """
    now = datetime.now(tz=UTC)
    needed: dict[Path, bool] = {}
    for trace in stored_traces(store, folder):
        needed[trace.path] = needed.get(trace.path, False) or not retention.allows_removal(trace, now=now)
    return sorted(path for path, is_needed in needed.items() if not is_needed and path.is_file())


def stored_traces(store: Store, folder: Path) -> list[Trace]:
    """Return the traces of stored profiles whose journals lie below `folder`, also those whose files are gone."""
    query = (
        sa.select(
            Run.id,
            Run.project_id,
            Run.machine_id,
            Run.environment_id,
            Source.path,
            Profile.trace,
            Profile.measured_at,
        )
        .join(Run, Run.id == Profile.run_id)
        .join(Source, Source.id == Run.source_id)
        .where(Profile.trace.is_not(None))
        .order_by(Run.ordered_at.desc(), Run.position.desc(), Run.started_at.desc(), Run.id.desc())
    )
    with store.reading() as connection:
        rows = connection.execute(query).all()
    newest_first: dict[tuple[int, ...], dict[int, int]] = {}
    traces = []
    root = folder.resolve()
    for row in rows:
        runs = newest_first.setdefault((row.project_id, row.machine_id, row.environment_id), {})
        age = runs.setdefault(row.id, len(runs))
        path = trace_path(path_from_text(row.path), row.trace)
        if path is not None and root in path.parents:
            traces.append(Trace(path=path, measured_at=row.measured_at, age=age))
    return traces


def remove_traces(paths: Iterable[Path]) -> int:
    """Delete the files and return their bytes; measurements and profiles stay. Raises: OSError."""
    n_bytes = 0
    for path in paths:
        n_bytes += path.stat().st_size
        path.unlink()
    return n_bytes
