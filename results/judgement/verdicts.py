"""Verdicts on the series of two commits, and the exit code they lead to; pure."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import median, median_high, median_low
from typing import TYPE_CHECKING

from results.exit_codes import ExitCode
from results.judgement.comparison.evidence import Compared, Observed, log_ratios, observe, weigh
from results.judgement.comparison.false_discoveries import Q
from results.judgement.comparison.moderation import USUAL, Prior
from results.judgement.comparison.relevant_changes import differs
from results.judgement.comparison.slow_rounds import with_slow_rounds
from results.judgement.comparison.surfaces import SHARE, compare_surfaces
from results.judgement.known_levels import in_question, with_known
from results.judgement.outcomes import (
    EXPLAINABLE,
    LEAST_RELEVANT_CHANGE,
    Change,
    ControlChange,
    Doubt,
    Judgement,
    Outcome,
    Verdict,
)
from results.judgement.series_verdicts import Context, verdict_on, verdicts_on_surfaces
from results.judgement.sides import Side, failing_anew, pairs_of, point_of, sides_of, with_controls
from results.judgement.thresholds import limits_of_rows, metric_of_row
from results.metrics import Precision, Role, metric_of
from results.rows import MeasuredAxes

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence

    from results.files.settings import Threshold
    from results.judgement.comparison.processes import Controls, Pair
    from results.judgement.thresholds import Limits
    from results.rows import SeriesValueRow

__all__ = [
    "EXPLAINABLE",
    "LEAST_RELEVANT_CHANGE",
    "Change",
    "ControlChange",
    "Judgement",
    "Outcome",
    "Verdict",
    "differs",
    "exit_code",
    "in_question",
    "judge",
    "with_known",
]

SpreadsOf = Callable[[list[int]], "Mapping[int, Prior]"]
_LEAST_OF_ALL = 10
_SE_OF_MEDIAN = 1.2533 * 1.4826  # of one value, normally distributed, by the median distance from the median


def judge(  # noqa: PLR0913 - two commits, and how to judge them
    base: Sequence[SeriesValueRow],
    head: Sequence[SeriesValueRow],
    *,
    base_commit: str,
    head_commit: str,
    least_change: float = LEAST_RELEVANT_CHANGE,
    spreads: Mapping[int, Prior] | SpreadsOf | None = None,
    is_paired: bool = False,
    has_controls: bool = True,
    q: float = Q,
    thresholds: Sequence[Threshold] = (),
) -> Judgement:
    """Compare the values of two commits, all series at once; rows of one series are its runs, all of which count.

    Metrics that only explain others are left out. least_change: smallest relative change of a noisy metric that is
    relevant. spreads: how series vary from run to run, by id (`run_spreads`), or a function that tells it of those that
    look changed. is_paired: the processes of the two were measured in rounds, one after the other. has_controls:
    whether eager is the same on both sides; on another stack it is a series like any other. q: share of false findings.
    thresholds: of series whose least relevant change is another one, or whose exact metrics have a tolerance.
    """
    at_base, at_head = (sides_of(_judged(rows)) for rows in (base, head))
    both = {key: (side, at_head[key]) for key, side in at_base.items() if key in at_head}
    pairs = _pairs(both)
    if not has_controls:
        pairs = [pair._replace(control=None, is_control=False) for pair in pairs]
    pairs = with_slow_rounds(pairs) if is_paired else pairs
    limits = limits_of_rows({key: head.row for key, (_, head) in both.items()}, thresholds, least_change)

    observed = observe(pairs, is_paired=is_paired)
    known = {} if spreads is None or callable(spreads) else spreads
    if callable(spreads) and (changed := _look_changed(observed, limits)):
        known = spreads(changed)
    is_by_surface = is_paired and has_controls
    q_of_points = (1 - SHARE) * q if is_by_surface else q
    compared = weigh(observed, spreads=dict(known.items()), q=q_of_points)
    controls = _control_changes(compared.controls, least_change=least_change)
    moved = {testbed for testbed, control in controls.items() if control.is_moved}
    shifted = _shifted(pairs, compared, least_change=least_change) if has_controls else {}
    evidence = dict(zip((pair.name for pair in pairs), compared.evidence, strict=True))
    causes = {pair.name: _cause(pair, moved=moved, shifted=shifted) for pair in pairs} if moved or shifted else {}
    of_controls = {pair.name for pair in pairs if pair.is_control}
    verdicts = [
        verdict_on(
            before,
            after,
            evidence=evidence.get(key),
            context=Context(limits[key], causes.get(key), key in of_controls, key in known, is_paired),
        )
        for key, (before, after) in both.items()
        if before.has_value or after.has_value  # what never worked is no change
    ]
    # On another stack no series tells what the machine does to all points at once.
    together = compare_surfaces(pairs, observed.differences, q=q) if is_by_surface else []
    surfaces = verdicts_on_surfaces(verdicts, together) if together else ()
    missing = [side.row for key, side in at_base.items() if key not in at_head and side.is_ok]
    excused, missed = _missing(missing, [side.row for side in at_head.values()], head_commit, both)
    gone = (verdict._replace(least_change=least_change) for verdict in missed)
    newer = [side.row for key, side in at_head.items() if key not in at_base]
    ok_at_both = [base.row for base, head in both.values() if base.is_ok and head.is_ok]
    return Judgement(
        base_commit=base_commit,
        head_commit=head_commit,
        verdicts=(*verdicts, *gone),
        only_at_base=tuple(excused),
        only_at_head=tuple(side.row for key, side in at_head.items() if key not in at_base and side.is_ok),
        least_change=least_change,
        controls=tuple(controls.values()),
        is_paired=is_paired,
        shifts=tuple(shifted.values()),
        failing=tuple(head.row for base, head in both.values() if not (base.has_value or head.has_value)),
        surfaces=surfaces,
        failing_anew=failing_anew(excused, newer),
        failing_besides=failing_anew(ok_at_both, newer),
    )


def exit_code(judgement: Judgement) -> ExitCode:
    """Return the gate's exit code: failed before regression before nothing comparable before fine.

    A series that looks worse and was not measured well enough to be compared does not pass; nor does any while control
    series moved, or fails by another ruler than the base's; unless that was acknowledged.
    """
    outcomes = judgement.count()
    if outcomes[Outcome.FAILED]:
        return ExitCode.FAILED
    if outcomes[Outcome.REGRESSION] or judgement.together(Outcome.REGRESSION):
        return ExitCode.REGRESSION
    if not judgement.n_compared or judgement.n_perhaps_worse or judgement.is_control_moved or judgement.unknown_anew:
        return ExitCode.NOTHING_COMPARABLE
    return ExitCode.FINE


def _pairs(both: Mapping[int, tuple[Side, Side]]) -> list[Pair]:
    measured = [
        (base, head)
        for base, head in both.values()
        if base.is_ok and head.is_ok and metric_of_row(head.row).precision is Precision.NOISY
    ]
    return with_controls(pairs_of(measured), {key: head.row for key, (_, head) in both.items()})


def _look_changed(observed: Observed, limits: Mapping[int, Limits]) -> list[int]:
    """Return the series whose values differ by a relevant change, whatever their noise."""
    return [
        pair.name
        for pair, log_ratio in zip(observed.pairs, log_ratios(observed), strict=True)
        if isinstance(pair.name, int) and abs(log_ratio) >= math.log1p(limits[pair.name].least_change)
    ]


def _control_changes(controls: Mapping[Hashable, Controls], *, least_change: float) -> dict[Hashable, ControlChange]:
    """Return what the control series of each testbed did; they moved if by a relevant change beyond their noise."""
    found: dict[Hashable, ControlChange] = {}
    for testbed, control in controls.items():
        move = control.move
        if move is None or not isinstance(testbed, tuple):
            continue
        se = USUAL.sd * math.sqrt(2) if move.se is None else move.se
        found[testbed] = ControlChange(
            machine=testbed[1],
            environment=testbed[2],
            ratio=math.exp(move.log_ratio),
            n_series=move.n_series,
            is_moved=abs(move.log_ratio) > max(math.log1p(least_change), 3 * se),
        )
    return found


def _shifted(pairs: Sequence[Pair], compared: Compared, *, least_change: float) -> dict[Hashable, ControlChange]:
    """Return how far the testbeds without control series moved in which more than half of many series did so.

    They did so if their median did by a relevant change beyond its noise; and that of more than half of the surfaces,
    where there are several: one benchmark of many parameters is not everything.
    """
    moves_of: dict[Hashable, list[tuple[Hashable, float]]] = {}
    for pair, evidence in zip(pairs, compared.evidence, strict=True):
        if compared.controls[pair.testbed].move is None:
            moves_of.setdefault(pair.testbed, []).append((pair.surface, math.log(evidence.ratio)))
    least = math.log1p(least_change)
    return {
        testbed: ControlChange(
            machine=testbed[1],
            environment=testbed[2],
            ratio=math.exp(median(moves)),
            n_series=len(moves),
            is_moved=True,
            metric=testbed[3],
        )
        for testbed, of_surfaces in moves_of.items()
        for moves in ([move for _, move in of_surfaces],)
        if len(moves) >= _LEAST_OF_ALL and _is_common(moves, least) and isinstance(testbed, tuple)
        if _is_of_most(of_surfaces, median(moves), least)
    }


def _is_of_most(moves: Sequence[tuple[Hashable, float]], middle: float, least: float) -> bool:
    """Return whether most surfaces moved as all series did. moves: surface of each series, and its log ratio."""
    of_surface: dict[Hashable, list[float]] = {}
    for surface, move in moves:
        of_surface.setdefault(surface, []).append(move)
    n_moved = sum(abs(one) > least and one * middle > 0 for one in map(median, of_surface.values()))
    return 2 * n_moved > len(of_surface)


def _is_common(moves: Sequence[float], least: float) -> bool:
    middle = median(moves)
    # Of an even number this is halfway between two: of half that moved and half that did not, where none is.
    nearer = min(median_low(moves), median_high(moves), key=abs)
    se = _SE_OF_MEDIAN * median(abs(move - middle) for move in moves) / math.sqrt(len(moves))
    return abs(nearer) > least and abs(middle) > 3 * se


def _cause(pair: Pair, *, moved: set[Hashable], shifted: Collection[Hashable]) -> Doubt | None:
    if pair.testbed in moved:
        return Doubt.CONTROL_MOVED
    if pair.testbed in shifted:
        return Doubt.MOVED_TOGETHER
    return None


def _missing(
    missing: Sequence[SeriesValueRow],
    head: Sequence[SeriesValueRow],
    head_commit: str,
    both: Mapping[int, tuple[Side, Side]],
) -> tuple[list[SeriesValueRow], list[Verdict]]:
    """Divide series that only the base measured: those that the head did not set out to, and those that are gone.

    both: the series of both; where they are one, the head's version of a benchmark counts for the base's.
    """
    if not missing:
        return [], []
    continued = {_version_of(before.row): after.row.version for before, after in both.values()}
    at_places: dict[tuple[str, str, str], list[SeriesValueRow]] = {}
    for row in head:
        at_places.setdefault((row.project, row.machine, row.environment), []).append(row)
    axes = {place: MeasuredAxes(rows) for place, rows in at_places.items()}
    failed = {point_of(row) for row in head if row.state != "ok"}
    # By another version: missing has no series of the head's.
    measured = {(row.metric, point_of(row)) for row in head if row.state == "ok"}
    excused, gone = [], []
    for row in missing:
        there = axes.get((row.project, row.machine, row.environment))
        at_head = row._replace(version=continued.get(_version_of(row), row.version))
        point = point_of(row)
        if there is None or not there.have(at_head) or point in failed or (row.metric, point) in measured:
            excused.append(row)
            continue
        gone.append(_gone(row, head_commit))
    return excused, gone


def _version_of(row: SeriesValueRow) -> tuple[str, ...]:
    return row.project, row.benchmark, row.metric, row.version


def _gone(row: SeriesValueRow, head_commit: str) -> Verdict:
    return Verdict(
        base=row,
        head=row._replace(commit=head_commit, state=Change.GONE.value, reason=None, value=None, processes=()),
        metric=metric_of_row(row),
        change=Change.GONE,
        outcome=Outcome.FAILED,
        ratio=None,
        reason="gone: the head did not measure it",
    )


def _judged(rows: Sequence[SeriesValueRow]) -> Sequence[SeriesValueRow]:
    """Return the rows of metrics that are judged; thousands are of one or a few."""
    metrics = {(row.metric, row.unit) for row in rows}
    judged = {(name, unit) for name, unit in metrics if metric_of(name, unit=unit).role is Role.JUDGED}
    return rows if judged == metrics else [row for row in rows if (row.metric, row.unit) in judged]
