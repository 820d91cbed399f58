"""Sweep points → text, JSON, CSV; pure."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from results.files.disturbances import disturbed_in_words
from results.files.records import State
from results.judgement.winners import WHAT_DECIDES_NOTHING, Standing, far_quotients_in_words, leads_in_words, ranking_of
from results.output.latency_parts import largest_part_in_words
from results.output.plain_values import plain_fields, rows_as_csv, rows_as_json
from results.output.terminal import UNLIMITED, Style
from results.output.text_tables import Block, Cell, Column, render_blocks
from results.questions.point_rows import shape_of
from results.rows import CEILING_NOT_VALID, PointRow
from results.units import ABSENT, counted, counted_states, figures, relative_half_width, with_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.winners import Ranking
    from results.output.terminal import Terminal

COLUMNS = (
    Column(name="batch", is_right=True),
    Column(name="provider"),
    Column(name="ruler", is_right=True),
    Column(name="latency", is_right=True),
    Column(name="±", is_right=True, drop=2),
    Column(name="rows/s", is_right=True, drop=1),
    Column(name="TFLOP/s", is_right=True, drop=5),
    Column(name="× eager", is_right=True),
    Column(name="kernels", is_right=True, drop=4),
    Column(name="operators", is_right=True, drop=6),
    Column(name="bound", drop=3),
    Column(name="goes to", drop=7),
    Column(name="remark"),
    Column(name="reason", is_note=True),
)
STANDING_STYLES = {Standing.FASTEST: Style.GOOD, Standing.TIED: Style.GOOD, Standing.UNDECIDED: Style.DOUBTFUL}
STANDING, GOES_TO = "standing", "goes_to"
MEASURE_AGAIN = "fusebench run --again"
COMPLETE = "fusebench run"
MOST_UNEXPECTED = 3


def points_as_text(
    rows: Sequence[PointRow], terminal: Terminal = UNLIMITED, *, shown: Sequence[PointRow] | None = None
) -> str:
    """Render a table for each operation and shape, a line for each batch and provider; those to run are marked.

    Where the points are of several rulers, which do not compare, each line names its own.
    shown: the rows to print, where that is not all of them; who is fastest is decided among all rows.
    """
    printed = rows if shown is None else shown
    rankings = _rankings(rows)
    standings = _standings(rankings)
    doubts = {_key(ranking.leader): ranking.doubt_and_lead for ranking in rankings}
    has_one_place = len({_place(row) for row in printed}) == 1
    has_one_ruler = len({row.ruler_version for row in rows}) == 1

    def title(row: PointRow) -> str:
        return _shape(row) if has_one_place else point_title(row)

    blocks = [
        Block(
            title=name,
            rows=[
                _cells(row, standings.get(_key(row)), doubts.get(_key(row)), names_ruler=not has_one_ruler)
                for row in group
            ],
        )
        for name, group in groupby(printed, key=title)
    ]
    parts = [terminal.paragraph(_place(printed[0]), Style.HEADING)] if has_one_place else []
    parts.append(render_blocks(COLUMNS, blocks, terminal))
    parts.append(counted_states([row.state for row in rows], "point"))
    notes = (*_incomplete(rows), *_interference(rows), *_undecided(rankings), *_beaten_ceilings(rows))
    # What is missing comes first: to measure anew would begin another run.
    lacks_visits = any(row.lacks_visits for row in rows)
    what = f"complete the visits: {COMPLETE}" if lacks_visits else f"measure again: {MEASURE_AGAIN}"
    quiet = "while nothing else keeps the machine busy, with the options and at the commit of these points"
    advice = [f"{what}, {quiet}"] if notes else []
    notes = (*_rulers(rows), *notes, *advice, *_far_quotients(rows, rankings), *_unexpected(rows))
    parts.extend(terminal.paragraph(note, Style.DOUBTFUL) for note in notes)
    return "\n\n".join(parts)


def points_as_json(rows: Sequence[PointRow]) -> str:
    """Render a JSON list of objects; null where something is not known.

    `standing`: that of a point which may be the fastest of its shape among the rows, else null. `goes_to`: the largest
    part of its latency.
    """
    return rows_as_json(_plain_rows(rows))


def points_as_csv(rows: Sequence[PointRow]) -> str:
    """Render one line a point, with the columns of the JSON; empty where something is not known."""
    return rows_as_csv(_plain_rows(rows))


def cells_with_standing(rows: Sequence[PointRow]) -> list[tuple[object, ...]]:
    """Return each row's fields and, last, its standing if it may be the fastest of its shape among the rows."""
    standings = _standings(_rankings(rows))
    return [(*row, standings.get(_key(row))) for row in rows]


def most_important_points(rows: Sequence[PointRow], *, count: int) -> list[PointRow]:
    """Return `count` rows in their order: failed points, then the fastest of each shape, then the next of each.

    Of points equally fast among their rivals, those with the largest speedup over eager come first.
    """
    ranks: dict[tuple[object, ...], int] = {}
    for _, group in groupby(sorted(rows, key=_shape_and_latency), key=_shape_key):
        ranks.update({_key(row): rank for rank, row in enumerate(group)})

    def importance(i: int) -> tuple[bool, float, float]:
        row = rows[i]
        has_failed = row.state not in {State.OK, State.UNAVAILABLE}
        is_absent = row.state == State.UNAVAILABLE
        return (not has_failed, float("inf") if is_absent else ranks[_key(row)], -(row.speedup_vs_eager or 0.0))

    return [rows[i] for i in sorted(sorted(range(len(rows)), key=importance)[:count])]


def point_title(row: PointRow) -> str:
    """Name the operation and shape but the batch, and where and at which commit it was measured."""
    return f"{_shape(row)} · {_place(row)}"


def _shape(row: PointRow) -> str:
    activation = f" · {row.activation}" if row.activation else ""
    return (
        f"{row.operation} {row.pass_} · {row.dtype}{activation} · hidden {row.hidden}, dim {row.dim} · "
        f"{row.cache} cache"
    )


def _place(row: PointRow) -> str:
    return f"{row.machine} {row.environment} · {row.commit[:8]}"


def _shape_key(row: PointRow) -> tuple[object, ...]:
    return (row.run_id, *shape_of(row))


def _shape_and_latency(row: PointRow) -> tuple[object, ...]:
    return (_shape_key(row), row.latency_s is None, row.latency_s or 0.0)


def _rankings(rows: Sequence[PointRow]) -> list[Ranking]:
    of_shape: dict[tuple[object, ...], list[PointRow]] = {}
    for row in rows:
        of_shape.setdefault((row.commit, shape_of(row)), []).append(row)
    return [ranking for group in of_shape.values() if (ranking := ranking_of(group)) is not None]


def _standings(rankings: Sequence[Ranking]) -> dict[tuple[object, ...], Standing]:
    """Return the standing of each point that may be the fastest of its shape."""
    return {
        _key(row): ranking.standing
        for ranking in rankings
        if ranking.standing is not None
        for row in ranking.candidates
    }


def _plain_rows(rows: Sequence[PointRow]) -> list[dict[str, object]]:
    names = (*PointRow._fields, STANDING, GOES_TO)
    phrases = map(largest_part_in_words, rows)
    return [
        plain_fields(dict(zip(names, (*cells, phrase), strict=True)))
        for cells, phrase in zip(cells_with_standing(rows), phrases, strict=True)
    ]


def _key(row: PointRow) -> tuple[object, ...]:
    return (row.run_id, row.point_id)


def _cells(row: PointRow, standing: Standing | None, doubt: str | None, *, names_ruler: bool) -> tuple[Cell, ...]:
    return (
        Cell(str(row.batch)),
        Cell(row.contender),
        Cell(row.ruler_version if names_ruler else ""),
        Cell(with_prefix(row.latency_s, "s")),
        Cell(relative_half_width(row.latency_s, row.latency_ci_low_s, row.latency_ci_high_s)),
        Cell(with_prefix(row.rows_per_s)),
        Cell(figures(row.tflop_per_s)),
        Cell(figures(row.speedup_vs_eager)),
        Cell(figures(row.kernel_launches)),
        Cell(figures(row.operator_count)),
        Cell(row.bound_in_words or ABSENT),
        Cell(largest_part_in_words(row) or ABSENT),
        _remark(row, standing),
        Cell(doubt or "", Style.DOUBTFUL) if row.state == State.OK else Cell(row.reason or ""),
    )


def _remark(row: PointRow, standing: Standing | None) -> Cell:
    if row.state != State.OK:
        return Cell(row.state, Style.DOUBTFUL if row.state == State.UNAVAILABLE else Style.BAD)
    visits = f"{row.visit_count} of {counted(row.visits_planned or 0, 'visit')}" if row.lacks_visits else None
    if row.disturbed or visits:
        doubts = ("disturbed" if row.disturbed else None, visits)
        return Cell(", ".join(filter(None, (standing, *doubts))), Style.DOUBTFUL)
    return Cell("") if standing is None else Cell(standing, STANDING_STYLES[standing])


def _incomplete(rows: Sequence[PointRow]) -> list[str]:
    n_points = sum(row.lacks_visits for row in rows)
    if not n_points:
        return []
    why = "what differs between processes is hardly known"
    return [f"fewer visits than planned, {n_points} of {len(rows)} points: {why}"]


def _rulers(rows: Sequence[PointRow]) -> list[str]:
    n_of = Counter(row.ruler_version for row in sorted(rows, key=lambda row: row.measured_at))
    if len(n_of) < 2:
        return []
    listed = ", ".join(f"{n:,} by ruler {ruler}" for ruler, n in n_of.items())
    return [f"{len(n_of)} rulers, {listed}: they do not compare, and of a shape those of the newest alone are ranked"]


def _interference(rows: Sequence[PointRow]) -> list[str]:
    texts = [row.disturbed for row in rows if row.disturbed]
    return [f"disturbed, {len(texts)} of {len(rows)} points: {disturbed_in_words(texts)}"] if texts else []


def _far_quotients(rows: Sequence[PointRow], rankings: Sequence[Ranking]) -> list[str]:
    def key(row: PointRow) -> tuple[object, ...]:
        return (row.commit, row.ruler_version, shape_of(row))

    eagers = {key(row): row for ranking in rankings if (row := ranking.eager)}
    told = far_quotients_in_words([(row, eagers.get(key(row))) for row in rows])
    return [told] if told else []


def _unexpected(rows: Sequence[PointRow]) -> list[str]:
    """Return what ran otherwise than expected: each difference once, with the contenders that it is of."""
    found = [row for row in rows if row.unexpected]
    names: dict[tuple[str, str | None], list[str]] = {}
    for row in found:
        names.setdefault((row.operation, row.unexpected), []).append(row.contender)
    told = [f"{', '.join(dict.fromkeys(of))} {operation}: {said}" for (operation, said), of in names.items()]
    if not told:
        return []
    # `1 more` would take the place of the one that it hides.
    n_shown = len(told) if len(told) <= MOST_UNEXPECTED + 1 else MOST_UNEXPECTED
    more = [f"{len(told) - n_shown} more"] if len(told) > n_shown else []
    return [f"unexpected, {len(found)} of {len(rows)} points: {' · '.join([*told[:n_shown], *more])}"]


def _undecided(rankings: Sequence[Ranking]) -> list[str]:
    n_undecided = sum(ranking.standing is Standing.UNDECIDED for ranking in rankings)
    if not n_undecided:
        return []
    shapes = f"{n_undecided} of {counted(len(rankings), 'shape')}"
    notes = [f"undecided which is fastest, {shapes}: {WHAT_DECIDES_NOTHING}", leads_in_words(rankings)]
    return [note for note in notes if note]


def _beaten_ceilings(rows: Sequence[PointRow]) -> list[str]:
    n_points = sum(not row.has_valid_ceiling for row in rows)
    if not n_points:
        return []
    why = "faster than the machine's ceilings, which were measured too low, so that nothing bounds these points"
    return [f"{CEILING_NOT_VALID}, {n_points} of {len(rows)} points: {why}"]
