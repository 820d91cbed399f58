"""What base and head measured by different rulers, or versions of a benchmark, in words; none of it compares; pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from results.judgement.sides import OK, point_of
from results.judgement.verdicts import Change
from results.measuring_again import other_version
from results.metrics import LATENCY, SWEEP_METRICS
from results.output.reports.point_words import benchmark_in_words, place_in_words, shared_parameters
from results.rows import parameters_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from results.judgement.verdicts import Judgement
    from results.measuring_again import OtherVersion
    from results.rows import SeriesValueRow

Versions = dict[tuple[str, str, str, bool], set[str]]


def versions_of(rows: Iterable[SeriesValueRow]) -> Versions:
    """Return the versions of each benchmark where it was measured: machine and environment, project, name, ours."""
    found: Versions = {}
    for row in rows:
        key = (place_in_words(row), row.project, row.benchmark, row.metric in SWEEP_METRICS)
        found.setdefault(key, set()).add(row.version)
    return found


def other_versions(judgement: Judgement) -> list[tuple[SeriesValueRow, SeriesValueRow]]:
    """Return the series that both measured, each in another version, as its rows at base and head."""
    at_head = {_series(row): row for row in judgement.only_at_head}
    return [(row, at_head[series]) for row in judgement.only_at_base if (series := _series(row)) in at_head]


def other_version_of(judgement: Judgement, metric: str) -> OtherVersion:
    """Return how the head measured what does not compare, and what helps."""
    return other_version(metric, (judgement.base_commit, judgement.head_commit))


def of_failing_points(judgement: Judgement) -> list[SeriesValueRow]:
    """Return the rows of the base whose points fail at the head: none of their metrics could be measured there."""
    failing = {point_of(row) for row in judgement.failing_anew}
    heads = (verdict.head for verdict in judgement.verdicts)
    failing |= {point_of(row) for row in heads if row.state not in {OK, Change.GONE}}
    return [row for row in judgement.only_at_base if point_of(row) in failing]


def failing_anew(judgement: Judgement) -> list[str]:
    """Return what fails at the head alone and is no finding, as another ruler or version measured it there."""
    by_one = other_version_of(judgement, LATENCY.name).remedy
    remedies = (
        f"It may be the commit or the ruler: {by_one}.",
        "It may be the commit or the version: fusebench store join says of one that it measures the same.",
    )
    return _failing(judgement, judgement.unknown_anew, remedies=remedies)


def failing_besides(judgement: Judgement) -> list[str]:
    """Return what fails at the head by another ruler or version, and is ok there by the base's."""
    by_one = other_version_of(judgement, LATENCY.name).remedy
    remedies = (
        f"By the base's ruler it is ok at the head, and that is compared: {by_one}.",
        "In the base's version it is ok at the head, and that is compared.",
    )
    return _failing(judgement, judgement.failing_besides, remedies=remedies)


def known_anew(judgement: Judgement) -> list[str]:
    """Return what fails so and was acknowledged, with the reasons."""
    found = []
    for reason in dict.fromkeys(change.reason for change in judgement.known_anew):
        ids = {change.series_id for change in judgement.known_anew if change.reason == reason}
        rows = [row for row in judgement.failing_anew if row.series_id in ids]
        found += _failing(judgement, rows, remedies=(f"Known: {reason}.",) * 2)
    return found


def _failing(judgement: Judgement, rows: Iterable[SeriesValueRow], *, remedies: tuple[str, str]) -> list[str]:
    """Return a sentence of the rows by other rulers, and one of those in other versions, each before its remedy."""
    rows, shared, found = list(rows), shared_parameters(judgement), []
    of_rulers = [row for row in rows if row.metric in SWEEP_METRICS]
    of_suites = [row for row in rows if row.metric not in SWEEP_METRICS]
    kinds = ((of_rulers, "which another ruler measured there"), (of_suites, "in another version there"))
    for (chosen, what), remedy in zip(kinds, remedies, strict=True):
        if chosen:
            first, (fail, were) = min(chosen, key=_gravity), ("fails", "was") if len(chosen) == 1 else ("fail", "were")
            parameters = parameters_in_words(first.parameters, without=shared)
            found.append(
                f"{len(chosen):,} series {fail} at the head{_states(chosen)}, {what}, and {were} ok at the base: "
                f"{benchmark_in_words(first)}{f' ({parameters})' if parameters else ''} is {first.state}, "
                f"{first.reason or 'no reason given'}. {remedy}"
            )
    return found


def _gravity(row: SeriesValueRow) -> int:
    """Return where a failure stands among others: what is wrong comes first, what is not available last."""
    return {"wrong": 0, "unavailable": 2}.get(row.state, 1)


def _states(rows: list[SeriesValueRow]) -> str:
    """Return how many rows fail in which way, in parentheses, if in several."""
    counts = Counter(row.state for row in sorted(rows, key=_gravity))
    return f" ({', '.join(f'{n:,} {state}' for state, n in counts.items())})" if len(counts) > 1 else ""


def _series(row: SeriesValueRow) -> tuple[object, ...]:
    return row.metric, *point_of(row)
