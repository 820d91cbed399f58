"""What was measured when, what fails and which changes are known, by machine → text, JSON; pure."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from tabulate import tabulate

from results.output.known_changes import known_changes_as_text
from results.output.plain_values import plain_fields
from results.units import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from results.rows import FailureRow, FreshnessRow, KnownChange

MANY = 20
Place = tuple[str, str, str]  # project, machine and environment


@dataclass(frozen=True, kw_only=True)
class PlaceStatus:
    """Standing of a project on a machine and environment: freshness by benchmark, the longest not run first.

    missing: benchmarks of the project that were never run there, but on another machine or environment.
    """

    project: str
    machine: str
    environment: str
    freshness: tuple[FreshnessRow, ...]
    failures: tuple[FailureRow, ...]
    known_changes: tuple[KnownChange, ...]
    missing: tuple[str, ...]

    @property
    def newest(self) -> FreshnessRow:
        """Benchmark that was run last."""
        return self.freshness[-1]


def statuses_from(
    freshness: Sequence[FreshnessRow], failures: Sequence[FailureRow], known_changes: Sequence[KnownChange]
) -> list[PlaceStatus]:
    """Group the rows by project, machine and environment, in the order of `freshness`."""
    known_names: dict[str, set[str]] = {}
    for row in freshness:
        known_names.setdefault(row.project, set()).add(row.benchmark)
    by_place = {place: tuple(group) for place, group in groupby(freshness, key=_place)}
    return [
        PlaceStatus(
            project=place[0],
            machine=place[1],
            environment=place[2],
            freshness=rows,
            failures=tuple(row for row in failures if _place(row) == place),
            known_changes=tuple(row for row in known_changes if _place(row) == place),
            missing=tuple(sorted(known_names[place[0]] - {row.benchmark for row in rows})),
        )
        for place, rows in by_place.items()
    ]


def status_as_text(statuses: Sequence[PlaceStatus], *, width: int) -> str:
    """Return a section for each place, no line longer than `width` unless a single word is."""
    return "\n\n".join(_section(status, width=width) for status in statuses)


def status_as_json(statuses: Sequence[PlaceStatus]) -> str:
    """Return a JSON list with an object for each place and everything the rows have."""
    return json.dumps([_fields(status) for status in statuses], indent=1, ensure_ascii=False)


def _place(row: FreshnessRow | FailureRow | KnownChange) -> Place:
    return (row.project, row.machine, row.environment)


def _section(status: PlaceStatus, *, width: int) -> str:
    newest = status.newest
    n_newest = sum(row.commit == newest.commit for row in status.freshness)
    n_points = sum((row.n_points or 0) - (row.n_stale_points or 0) for row in status.freshness if _is_at(row, newest))
    counted = f"{n_newest} of {_plural(len(status.freshness), 'benchmark')}"
    lines = [
        *_wrapped(f"{status.project} on {status.machine}, {status.environment}", width=width),
        *_wrapped(
            f"Newest run: commit {newest.commit[:8]}{_subject(newest)}, measured {_moment(newest.measured_at)}: "
            + counted
            + (f", {_plural(n_points, 'point')}" if n_points else ""),
            width=width,
        ),
        "",
        _table(status, width=width),
        *_missing_as_lines(status.missing, width=width),
        *_failures_as_lines(status.failures, width=width),
    ]
    if known := known_changes_as_text(status.known_changes):
        lines += ["", *(line for one in known.split("\n") for line in _wrapped(one, width=width, indent="    "))]
    return "\n".join(lines)


def _is_at(row: FreshnessRow, newest: FreshnessRow) -> bool:
    return row.commit == newest.commit and row.n_points is not None


def _subject(row: FreshnessRow) -> str:
    return f" ({row.commit_subject})" if row.commit_subject else ""


HEADERS = ("commit", "measured", "behind", "points", "benchmark")
ALIGNMENT = ("left", "left", "right", "left", "left")


def _table(status: PlaceStatus, *, width: int) -> str:
    shown = status.freshness[:MANY]
    lines = [(row.commit[:8], _moment(row.measured_at), str(row.n_commits_behind), _points(row), "") for row in shown]
    rest = len(status.freshness) - len(shown)
    # What the names may take: the last column, so that nothing else moves.
    n_used = max(map(len, tabulate(lines, headers=(*HEADERS[:-1], ""), disable_numparse=True).split("\n")))
    n_left = max(width - n_used, 12)
    named = [(*line[:-1], _shortened(row.benchmark, n_left)) for line, row in zip(lines, shown, strict=True)]
    table = str(
        tabulate(named, headers=HEADERS, disable_numparse=True, colalign=("left", "left", "right", "left", "left"))
    )
    return table + (f"\n… and {rest} run more recently" if rest else "")


def _points(row: FreshnessRow) -> str:
    if row.n_points is None:
        return ABSENT
    if not row.n_stale_points:
        return str(row.n_points)
    return f"{row.n_points - row.n_stale_points} of {row.n_points}"


def _missing_as_lines(names: Sequence[str], *, width: int) -> list[str]:
    if not names:
        return []
    listed = ", ".join(names[:MANY]) + (", …" if len(names) > MANY else "")
    return ["", *_wrapped(f"Never run here ({len(names)}): {listed}", width=width)]


def _failures_as_lines(failures: Sequence[FailureRow], *, width: int) -> list[str]:
    if not failures:
        return ["", "Nothing fails."]
    groups = Counter((row.benchmark, row.state, row.since, row.last_ok, row.reason) for row in failures)
    lines = ["", f"{_plural(len(failures), 'series', 'series')} fail{'s' if len(failures) == 1 else ''}:"]
    for (benchmark, state, since, last_ok, reason), n_series in groups.most_common(MANY):
        before = f"ok until {last_ok[:8]}" if last_ok else "never ok"
        because = f": {reason.splitlines()[0]}" if reason else ""
        said = f"  {benchmark}: {n_series} {state} since {since[:8]}, {before}{because}"
        lines += _wrapped(said, width=width, indent="    ")
    if len(groups) > MANY:
        lines.append(f"  … and {len(groups) - MANY} more kinds of failure")
    return lines


def _wrapped(text: str, *, width: int, indent: str = "  ") -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _shortened(name: str, n_characters: int) -> str:
    """Cut the front, which names of one suite share."""
    return name if len(name) <= n_characters else "…" + name[1 - n_characters :]


def _moment(at: datetime | None) -> str:
    return ABSENT if at is None else f"{at:%Y-%m-%d %H:%M}"


def _plural(n: int, noun: str, nouns: str | None = None) -> str:
    return f"{n:,} {noun if n == 1 else nouns or noun + 's'}"


def _fields(status: PlaceStatus) -> dict[str, object]:
    place = ("project", "machine", "environment")
    newest = status.newest

    def rows(found: Iterable[FreshnessRow] | Iterable[FailureRow] | Iterable[KnownChange]) -> list[dict[str, object]]:
        return [
            {name: value for name, value in _named_parameters(plain_fields(asdict(row))).items() if name not in place}
            for row in found
        ]

    return {
        **{name: getattr(status, name) for name in place},
        "newest": {"commit": newest.commit, "measured_at": plain_fields(asdict(newest))["measured_at"]},
        "benchmarks": rows(status.freshness),
        "failures": rows(status.failures),
        "known_changes": rows(status.known_changes),
        "missing": list(status.missing),
    }


def _named_parameters(fields: dict[str, object]) -> dict[str, object]:
    found = fields.get("parameters")
    if isinstance(found, list | tuple):
        return {**fields, "parameters": {one["name"]: one["value"] for one in found}}
    return fields
