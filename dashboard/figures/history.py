"""Histories of any benchmark over commits: lines and their values → `Chart`."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from dashboard.figures.chart import Absence, Across, Chart, Curve, Mark
from dashboard.figures.notes import MOST_SUBJECTS, commit_lines, escaped, short_hashes, tick_label, wrapped
from dashboard.looks import MORE_DASHES, look_among, look_at
from dashboard.quantities import Reading
from dashboard.scales import CommitSpacing
from results.units import change_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dashboard.figures.chart import Position
    from dashboard.lines import HistoryLine
    from dashboard.looks import Look
    from dashboard.quantities import MetricFormat
    from results.rows import HistoryValue, SeriesHistory


def chart_of_lines(  # noqa: PLR0913 - what to draw, and how
    lines: Sequence[HistoryLine],
    histories: Mapping[int, SeriesHistory],
    *,
    metric_format: MetricFormat,
    order: Sequence[str],
    spacing: CommitSpacing,
    colour: str | None = None,
) -> Chart:
    """Draw one curve per line over commits; `histories` by series, `order` the project's commits, oldest first.

    By date, commits without one are left out; by order all are there. colour: as for `looks_of`.
    """
    rank = {commit: i for i, commit in enumerate(order)}
    of_line = {line.name: _newest_at_commits(line, histories, rank) for line in lines}
    if spacing is CommitSpacing.DATE:
        of_line = {
            name: [(value, version) for value, version in values if value.commit_date is not None]
            for name, values in of_line.items()
        }
    values = {value.commit: value for values in of_line.values() for value, _ in values}
    measured = sorted(values, key=lambda commit: rank.get(commit, -1))
    hashes = short_hashes(measured)
    places: dict[str, Position] = {
        commit: values[commit].commit_date or hashes[commit] if spacing is CommitSpacing.DATE else hashes[commit]
        for commit in measured
    }
    drawn = [
        _curve(line, look, of_line[line.name], places=places, metric_format=metric_format)
        for line, look in zip(lines, looks_of(lines, colour=colour), strict=True)
    ]
    has_room = len(measured) <= MOST_SUBJECTS
    labels: dict[Position, str] = {}
    if spacing is not CommitSpacing.DATE:
        labels = {
            hashes[commit]: tick_label(
                commit, values[commit].commit_date, values[commit].commit_subject, has_room=has_room
            )
            for commit in measured
        }
    return Chart(
        ordinate=metric_format.ordinate,
        across=Across.DATES if spacing is CommitSpacing.DATE else Across.COMMITS,
        positions=tuple((place, commit) for commit, place in places.items()),
        curves=tuple(curve for curve, _ in drawn if curve.pieces),
        absences=tuple(absence for _, absences in drawn for absence in absences),
        interval_level=lines[0].series[0].interval_level if lines else 0.95,
        labels=labels,
    )


def looks_of(lines: Sequence[HistoryLine], *, colour: str | None = None) -> list[Look]:
    """Return the look of each line: its provider's, as on every page, where it has one; else by its position.

    colour: parameter whose values have a colour each; dashes tell lines of one colour apart.
    """
    if colour is not None and colour != "provider":
        values = [next((one.value for one in line.series[0].parameters if one.name == colour), None) for line in lines]
        first = {value: place for place, value in enumerate(dict.fromkeys(values))}
        count: Counter[object] = Counter()
        found = []
        for value in values:
            look = look_at(first[value])
            # Where there are more values than colours, those of one colour begin with other dashes, too.
            number = count[value] + MORE_DASHES.index(look.dash)
            found.append(replace(look, dash=MORE_DASHES[number % len(MORE_DASHES)]))
            count[value] += 1
        return found
    seen: Counter[str] = Counter()
    looks = []
    for position, line in enumerate(lines):
        contender = line.contender
        looks.append(look_at(position) if contender is None else look_among(contender, seen[contender]))
        seen[contender or ""] += 1
    return looks


def _newest_at_commits(
    line: HistoryLine, histories: Mapping[int, SeriesHistory], rank: Mapping[str, int]
) -> list[tuple[HistoryValue, str]]:
    """Return the line's last value at each commit with its benchmark version, oldest commit first."""
    found = [
        (value, series.version)
        for series in line.series
        if series.series_id in histories
        for value in histories[series.series_id].values
    ]
    found.sort(key=lambda pair: 0.0 if pair[0].measured_at is None else pair[0].measured_at.timestamp())
    newest = {value.commit: (value, version) for value, version in found}
    return sorted(newest.values(), key=lambda found: rank.get(found[0].commit, -1))


def _curve(
    line: HistoryLine,
    look: Look,
    values: Sequence[tuple[HistoryValue, str]],
    *,
    places: Mapping[str, Position],
    metric_format: MetricFormat,
) -> tuple[Curve, list[Absence]]:
    pieces: list[list[Mark]] = [[]]
    absences: list[Absence] = []
    before: tuple[float, str] | None = None
    for value, version in values:
        at, number = places[value.commit], value.value
        if number is None or not math.isfinite(number):
            pieces.append([])
            absences.append(
                Absence(
                    name=line.label, look=look, at=at, key=value.commit, state=value.state,
                    note=_note_of_absence(line, value),
                )
            )  # fmt: skip
            continue
        # Another version measures something else: no line joins the two.
        if before is not None and before[1] != version:
            pieces.append([])
            before = None
        text = metric_format.text(number)
        pieces[-1].append(
            Mark(
                at=at, key=value.commit, reading=_reading(value, number), text=text,
                note=_note(line, value, text, before=before and before[0], metric_format=metric_format),
                is_disturbed=value.reason is not None,
            )
        )  # fmt: skip
        before = (number, version)
    return Curve(name=line.label, look=look, pieces=tuple(tuple(piece) for piece in pieces if piece)), absences


def _reading(value: HistoryValue, number: float) -> Reading:
    """Return the value with its interval; asv writes an infinite one where it has too few samples."""
    low, high = value.ci_low, value.ci_high
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return Reading(value=number)
    return Reading(value=number, low=low, high=high)


def _note(
    line: HistoryLine, value: HistoryValue, text: str, *, before: float | None, metric_format: MetricFormat
) -> str:
    number = value.value or 0.0
    reading = _reading(value, number)
    interval = ""
    if reading.low is not None and reading.high is not None:
        level = 100 * line.series[0].interval_level
        interval = f" {metric_format.interval_text(number, reading.low, reading.high)} ({level:g} % interval)"
    lines = [f"<b>{escaped(text)}</b>{interval}", wrapped(line.label)]
    if before:
        lines.append(f"{change_in_words(number / before)} against the commit before")
    if value.reason is not None:
        lines.append(f"disturbed: {wrapped(value.reason)}")
    return "<br>".join([*lines, *commit_lines(value.commit, value.commit_date, value.commit_subject)])


def _note_of_absence(line: HistoryLine, value: HistoryValue) -> str:
    state, reason = value.state.replace("_", " "), value.reason or "no reason given"
    if value.value is not None:  # infinite
        state, reason = f"{value.value}", value.reason or "not a number that an axis holds"
    commit = commit_lines(value.commit, value.commit_date, value.commit_subject)
    return "<br>".join([f"<b>{state}</b>  {wrapped(line.label)}", wrapped(reason), *commit])
