"""Content of the page *Compare*: ratios of points between sides, their means, and what else differs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dashboard.tables.ratios import (
    Mean,
    RatioRow,
    key_of,
    mean_of,
    rows_from_judgements,
    rows_from_values,
    shared_parameters,
)
from dashboard.views.compare_choice import Along, Show, compare_choice_of
from dashboard.views.judged_sides import is_judged, judged_sides, values_of_side
from dashboard.views.settings import better_of, relevance_for
from results.judgement.explanation.conditions import differing_conditions
from results.measuring_again import other_version
from results.printable import printable_line
from results.queries import run_conditions
from results.rows import contender_of, parameters_in_words
from results.store import gc_paused

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from dashboard.tables.ratios import Key
    from dashboard.views.compare_choice import CompareChoice, CompareOptions
    from results.measuring_again import OtherVersion
    from results.metrics import Direction
    from results.rows import CommitRow, SeriesValueRow
    from results.store import Store

PREFERRED_METRICS = ("latency_s", "time")
OF_PROVIDER = frozenset({"provider", "weights"})
BASELINE = "eager"


@dataclass(frozen=True, kw_only=True)
class CompareDrawing:
    """Content of the page. `names`: of the sides, the first is compared with; `means`: of the others, in order.

    `rows`: points that are listed, the largest change first; `n_points`: of the first side. `providers`, `metrics`:
    to choose from. `conditions`: what differs between the first and each other side's newest run, in words; None where
    its runs tell nothing. `shared`: parameters that all points have, in words. `better`: the direction that the
    settings tell of a metric without one. `others`: of each other commit, how many points it measured by another ruler
    or version, and what helps.
    """

    choice: CompareChoice
    options: CompareOptions
    problems: tuple[str, ...]
    metrics: tuple[str, ...]
    providers: tuple[str, ...]
    names: tuple[str, ...]
    rows: tuple[RatioRow, ...]
    n_points: int
    means: tuple[Mean, ...]
    conditions: tuple[tuple[str, ...] | None, ...]
    shared: str
    better: Direction | None = None
    others: tuple[tuple[int, OtherVersion], ...] = ()

    @property
    def is_comparable(self) -> bool:
        """Whether some listed point was measured at another side, too, in whatever state; also where none is listed."""
        return not self.rows or any(ratio is not None for row in self.rows for ratio in row.ratios)

    @property
    def unit(self) -> str:
        """Unit of the values; empty without any, and where they have several, as asv's tracked ones do."""
        units = {row.base.unit for row in self.rows}
        return units.pop() if len(units) == 1 else ""


@gc_paused()
def compare_drawing_of(store: Store, *, query: str) -> CompareDrawing:
    """Query the store for what the URL's `query` shows."""
    problems: list[str] = []
    choice, options = compare_choice_of(store, query=query, problems=problems)
    measured = [_values(store, choice, number) for number in range(_n_sides(choice))]
    problems += _not_measured(choice, [bool(rows) for rows in measured])
    every = [_newest_of(rows) for rows in measured]
    metrics = _metrics(every)
    choice = replace(choice, metric=_metric(choice.metric, metrics, problems))
    providers = _providers(every)
    if choice.along is Along.PROVIDER:
        choice = replace(choice, provider=_sides_among(providers, choice.provider, problems))
        every = [[row for row in every[0] if contender_of(row.parameters) == name] for name in choice.provider]
    else:
        choice = replace(choice, provider=_known(providers, choice.provider, problems))
        if choice.provider:
            every = [[row for row in rows if contender_of(row.parameters) in choice.provider] for rows in every]
    words = choice.contains.lower()
    without = OF_PROVIDER if choice.along is Along.PROVIDER else frozenset()
    chosen = [[row for row in rows if row.metric == choice.metric] for rows in every]
    taken = [[row for row in rows if not words or _takes(words, row)] for rows in chosen]
    sides = _by_point(choice.along, taken, without=without)
    shared = shared_parameters(sides[0].values()) if sides else ()
    unnamed = without | {one.name for one in shared}
    rows = _rows(store, choice, sides, unnamed) if len(sides) > 1 else []
    base = sides[0].keys() if sides else set()
    return CompareDrawing(
        choice=choice,
        options=options,
        problems=tuple(problems),
        metrics=metrics,
        providers=providers,
        names=tuple(_name(choice, value, options.commits) for value in choice.sides),
        rows=tuple(rows if choice.show is Show.ALL else [row for row in rows if row.is_significant]),
        n_points=len(rows),
        means=tuple(
            mean_of(rows, number, n_only=len(side.keys() - base)) for number, side in enumerate(sides[1:]) if rows
        ),
        conditions=_conditions(store, sides),
        better=better_of(store, sides[0].values()) if sides else None,
        shared=parameters_in_words(shared, without=without),
        others=_others(choice, rows),
    )


def _n_sides(choice: CompareChoice) -> int:
    return 1 if choice.along is Along.PROVIDER else len(choice.sides)


def _values(store: Store, choice: CompareChoice, number: int) -> Sequence[SeriesValueRow]:
    """Return the values of one side; none where the choice names no place."""
    at = {name: getattr(choice, name) for name in ("commit", "machine", "environment")}
    chosen = {
        name: values[number] if choice.along.value == name else values[0] for name, values in at.items() if values
    }
    if len(chosen) < len(at):
        return ()
    return values_of_side(store, project=choice.project, **chosen)


def _not_measured(choice: CompareChoice, is_measured: Sequence[bool]) -> list[str]:
    """Write which machines or environments did not measure the commit, where others did."""
    missing = [name for name, is_there in zip(choice.sides, is_measured, strict=False) if not is_there]
    if choice.along not in {Along.MACHINE, Along.ENVIRONMENT} or not missing or not any(is_measured):
        return []
    where = f" in {choice.environment[0]}" if choice.along is Along.MACHINE and choice.environment else ""
    what = "commit and environment" if choice.along is Along.MACHINE else "commit"
    commit = choice.commit[0][:10]
    return [f"{', '.join(missing)} did not measure commit {commit}{where}; choose a {what} that they share, if any."]


def _newest_of(rows: Sequence[SeriesValueRow]) -> list[SeriesValueRow]:
    return list({row.series_id: row for row in rows}.values())


def _by_point(
    along: Along, taken: Sequence[Sequence[SeriesValueRow]], *, without: Collection[str]
) -> list[dict[Key, SeriesValueRow]]:
    """Return the rows of each side by point; of what several rulers measured there, the one most share."""

    def measured_alike(row: SeriesValueRow) -> object:
        # Of one place and provider a series knows what was joined.
        return row.series_id if along is Along.COMMIT else (key_of(row, without=without), row.version)

    found = [{key_of(row, without=without): row for row in rows} for rows in taken]
    if all(len(of_side) == len(rows) for of_side, rows in zip(found, taken, strict=True)):
        return found
    n_sides = Counter([one for rows in taken for one in set(map(measured_alike, rows))])
    return [
        {key_of(row, without=without): row for row in sorted(rows, key=lambda row: n_sides[measured_alike(row)])}
        for rows in taken
    ]


def _others(choice: CompareChoice, rows: Sequence[RatioRow]) -> tuple[tuple[int, OtherVersion], ...]:
    if choice.along is not Along.COMMIT or not rows:
        return ()
    base, *heads = choice.commit
    others = [other_version(choice.metric, (base, head)) for head in heads]
    words = [Counter([one.word for row in rows if (one := row.ratios[number])]) for number in range(len(heads))]
    return tuple((found[other.how], other) for found, other in zip(words, others, strict=True))


def _rows(
    store: Store,
    choice: CompareChoice,
    sides: Sequence[Mapping[Key, SeriesValueRow]],
    unnamed: Collection[str],
) -> list[RatioRow]:
    if choice.along is Along.COMMIT and is_judged(choice.metric):
        base, *heads = choice.commit
        place = {"project": choice.project, "machine": choice.machine[0], "environment": choice.environment[0]}
        judgements = [judged_sides(store, base=base, head=head, metric=choice.metric, **place) for head in heads]
        return rows_from_judgements(judgements, sides, unnamed=unnamed)
    return rows_from_values(sides, unnamed=unnamed, **relevance_for(store))


def _takes(words: str, row: SeriesValueRow) -> bool:
    return words in " ".join([row.benchmark, *(f"{one.name}={one.value}" for one in row.parameters)]).lower()


def _metrics(every: Sequence[Sequence[SeriesValueRow]]) -> tuple[str, ...]:
    names = {row.metric for rows in every for row in rows}
    return tuple(sorted(names, key=lambda name: (name not in PREFERRED_METRICS, name)))


def _metric(requested: str, metrics: Sequence[str], problems: list[str]) -> str:
    first = metrics[0] if metrics else ""
    if requested in {"", *metrics}:
        return requested or first
    problems.append(f"No metric {requested[:60]} was measured there; showing {first}.")
    return first


def _providers(every: Sequence[Sequence[SeriesValueRow]]) -> tuple[str, ...]:
    # Every point of a benchmark has the same parameters, and of other suites' thousands none is a provider.
    of_benchmarks = {(row.benchmark, row.version): row.parameters for rows in every for row in rows}
    if all(contender_of(parameters) is None for parameters in of_benchmarks.values()):
        return ()
    of_series = {row.series_id: row.parameters for rows in every for row in rows}
    found = {name for each in of_series.values() if (name := contender_of(each)) is not None}
    return tuple(sorted(found, key=lambda name: (name != BASELINE, name)))


def _sides_among(providers: Sequence[str], wanted: Sequence[str], problems: list[str]) -> tuple[str, ...]:
    found = list(_known(providers, wanted, problems))
    if len(found) == 1:
        found = [*(name for name in providers[:1] if name not in found), *found]
    return tuple(found or providers[:8])


def _known(providers: Sequence[str], wanted: Sequence[str], problems: list[str]) -> tuple[str, ...]:
    unknown = [name[:60] for name in wanted if name not in providers]
    if unknown:
        problems.append(f"No provider {', '.join(unknown)} was measured there.")
    return tuple(name for name in wanted if name in providers)


def _name(choice: CompareChoice, value: str, stored: Sequence[CommitRow]) -> str:
    if choice.along is not Along.COMMIT:
        return value
    row = next((one for one in stored if one.commit == value), None)
    subject = printable_line((row and row.subject) or "")
    day = f" {row.date:%Y-%m-%d}" if row and row.date else ""
    return f"{value[:8]}{day} {subject if len(subject) <= 32 else subject[:31] + '…'}".strip()


def _conditions(store: Store, sides: Sequence[Mapping[Key, SeriesValueRow]]) -> tuple[tuple[str, ...] | None, ...]:
    """Return what differs between the newest runs of the first and each other side."""
    runs = [_newest_run(side.values()) for side in sides]
    known = run_conditions(store, run_ids=[run for run in runs if run])
    base, *others = [known.get(run or "", {}) for run in runs] or [{}]
    return tuple(
        tuple(one.words for one in differing_conditions(base, other)) if base and other else None for other in others
    )


def _newest_run(rows: Collection[SeriesValueRow]) -> str | None:
    at = {row.run_id: row.measured_at for row in rows}
    return max(at, key=lambda run: moment.timestamp() if (moment := at[run]) else 0.0, default=None)
