"""Questions that the judgement, the commands and the dashboard may ask; they answer in frozen rows (results.rows).

Every question takes the store first and everything else by keyword. Nothing here writes. Where they are: what is
stored (inventory), series of any suite (histories), many of a place at once (history_tables), one commit
(commit_values), sweep points (sweeps), what one call does inside (profiles, timelines), what a machine does at best
(ceilings), what was measured when (freshness), what fails since when (failures), known changes (decisions).
Two commits are judged here, for the gate and the dashboard alike, and so are all histories.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from results.database.fetching import gc_paused
from results.files.records import Decided, TriageDecision
from results.files.stacks import FoldedStack, StackKind
from results.judgement.changes.evidence import LEAST_CHANGE
from results.judgement.changes.from_histories import NOTHING_JUDGED, changes_of_place
from results.judgement.changes.judged import detector_digest
from results.judgement.changes.ranked import ranked_findings
from results.judgement.findings import acknowledgement_of
from results.judgement.known_levels import with_doubts, without_later
from results.judgement.repeatability import LEAST_RUNS, noise_of
from results.judgement.run_spreads import MOST_RUNS, run_spreads
from results.judgement.sides import controls_among, is_control
from results.judgement.thresholds import NO_SETTINGS
from results.judgement.verdicts import LEAST_RELEVANT_CHANGE, Change, in_question, judge, with_known
from results.questions.ceilings import ceilings_of
from results.questions.commit_values import all_values_at, values_at
from results.questions.decisions import known_changes, known_levels, taken_back
from results.questions.failures import failures
from results.questions.freshness import freshness
from results.questions.gone_series import gone_series
from results.questions.histories import history_of, series_where
from results.questions.history_tables import history_tables, run_values
from results.questions.inventory import (
    benchmark_names,
    benchmarks,
    commits,
    parameter_names,
    places,
    point_choices,
    projects,
    series_places,
)
from results.questions.judged import judged_series
from results.questions.judged import unjudged_places as places_unjudged_by
from results.questions.measuring_runs import run_conditions
from results.questions.profiles import conditions_of, profile_of, run_with_profile, stacks_of, trace_of, visits_of
from results.questions.sweeps import latest_points, rows_by_ruler, throughput_by_batch, throughput_by_commit
from results.questions.timelines import timeline_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Unpack

    from results.files.settings import Settings, Threshold
    from results.judgement.changes.ranked import RankedFinding
    from results.judgement.comparison.moderation import Prior
    from results.judgement.findings import Finding
    from results.judgement.repeatability import MeasuredNoise
    from results.judgement.verdicts import Judgement
    from results.rows import JudgedSeries, SeriesFilter, SeriesValueRow, TakenBack, UnjudgedPlace
    from results.store import Store

__all__ = [
    "FoldedStack",
    "StackKind",
    "all_values_at",
    "benchmark_names",
    "benchmarks",
    "ceilings_of",
    "commits",
    "conditions_of",
    "failures",
    "freshness",
    "history_of",
    "history_tables",
    "judged_commits",
    "judged_rounds",
    "judged_series",
    "judged_values",
    "known_changes",
    "latest_points",
    "noise_at",
    "parameter_names",
    "places",
    "point_choices",
    "profile_of",
    "projects",
    "ranked_changes",
    "rows_by_ruler",
    "run_conditions",
    "run_with_profile",
    "series_places",
    "series_where",
    "stacks_of",
    "taken_back_of",
    "throughput_by_batch",
    "throughput_by_commit",
    "timeline_of",
    "trace_of",
    "unjudged_places",
    "values_at",
    "values_of_run",
    "visits_of",
]

LEAST_OF_TESTBED = 60
"""Series whose histories tell of a testbed how far single values stray."""


class RankedChanges(NamedTuple):
    """Findings of all histories, and the series that were judged for them and not before."""

    findings: tuple[RankedFinding, ...]
    judged: tuple[JudgedSeries, ...]


def judged_commits(
    store: Store,
    *,
    base: str,
    head: str,
    least_change: float = LEAST_RELEVANT_CHANGE,
    thresholds: Sequence[Threshold] = (),
    **chosen: Unpack[SeriesFilter],
) -> Judgement:
    """Judge the series that `chosen` takes between two commits, full hashes, by all their runs there."""
    before, after = (all_values_at(store, commit=commit, **chosen) for commit in (base, head))
    return judged_values(store, before, after, base=base, head=head, least_change=least_change, thresholds=thresholds)


@gc_paused()
def judged_values(  # noqa: PLR0913 - two commits, and how to judge them
    store: Store,
    before: Sequence[SeriesValueRow],
    after: Sequence[SeriesValueRow],
    *,
    base: str,
    head: str,
    least_change: float = LEAST_RELEVANT_CHANGE,
    thresholds: Sequence[Threshold] = (),
) -> Judgement:
    """Judge what `all_values_at` tells of two commits, full hashes.

    What looks changed is judged again by how it varied from run to run up to now; acknowledged changes are known.
    """
    judgement = judge(
        before,
        after,
        base_commit=base,
        head_commit=head,
        least_change=least_change,
        thresholds=thresholds,
        spreads=partial(spreads_before, store, after, head),
    )
    return _by_what_is_stored(store, judgement)


def spreads_before(store: Store, after: Sequence[SeriesValueRow], head: str, series_ids: list[int]) -> dict[int, Prior]:
    """Return how series vary from run to run, `head` left out; after: all that it measured.

    Of each testbed some others are read beside them, as how far single values stray there no few series tell.
    """
    asked = set(series_ids)
    found: dict[int, Prior] = {}
    for of_testbed in _by_testbed(after):
        chosen = [one for one in of_testbed if one in asked]
        if not chosen:
            continue
        others = [one for one in of_testbed if one not in asked]
        read = [*chosen, *others[:: max(1, len(others) // LEAST_OF_TESTBED)]]
        controls = controls_among(after, read)
        told, unknown = _spreads_of(store, read, without=head, controls=controls, latest=MOST_RUNS)
        # Where the latest runs do not tell it, all are read.
        older = [one for one in unknown if one in asked]
        found |= told | (_spreads_of(store, older, without=head, controls=controls)[0] if older else {})
    return {series_id: prior for series_id, prior in found.items() if series_id in asked}


def _by_testbed(rows: Iterable[SeriesValueRow]) -> list[list[int]]:
    """Return the ids of the series of each project's metric on a machine and environment, each once."""
    found: dict[tuple[str, ...], dict[int, None]] = {}
    for row in rows:
        found.setdefault((row.project, row.machine, row.environment, row.metric), {})[row.series_id] = None
    return [list(ids) for ids in found.values()]


def _spreads_of(
    store: Store, series_ids: Sequence[int], *, without: str, controls: Mapping[int, int], latest: int | None = None
) -> tuple[dict[int, Prior], list[int]]:
    """Return how series vary from run to run, and those of which not enough runs were read to tell."""
    series = run_values(store, series_ids=series_ids, latest=latest)
    beside = {controls[series_id] for series_id in series_ids if series_id in controls}
    control_series = run_values(store, series_ids=beside, latest=latest) if beside else []
    found = run_spreads(series, without=without, controls=controls, control_series=control_series, is_one_testbed=True)
    return found, [one.series_id for one in series if not one.is_whole and one.series_id not in found]


def judged_rounds(  # noqa: PLR0913 - two commits, two runs, and how to judge them
    store: Store,
    *,
    base: str,
    head: str,
    base_run: str,
    head_run: str,
    least_change: float,
    q: float,
    thresholds: Sequence[Threshold] = (),
    is_one_stack: bool = True,
) -> Judgement:
    """Judge two commits, full hashes, by one run of each whose visits alternated; they may be one commit.

    Acknowledged changes are known. q: share of false findings in this look. is_one_stack: whether both ran on the same
    packages, so that eager is a control.
    """
    before, after = (values_of_run(store, commit=at, run_id=run) for at, run in ((base, base_run), (head, head_run)))
    judgement = judge(
        before,
        after,
        base_commit=base,
        head_commit=head,
        least_change=least_change,
        is_paired=True,
        has_controls=is_one_stack,
        q=q,
        thresholds=thresholds,
    )
    return judgement if base == head else _by_what_is_stored(store, judgement)


def _by_what_is_stored(store: Store, judgement: Judgement) -> Judgement:
    """Return the judgement of two commits by what else is stored: what came after the head, what is known."""
    base, head = judgement.base_commit, judgement.head_commit
    if missing := [one.base.series_id for one in judgement.verdicts if one.change is Change.GONE]:
        later, doubts = gone_series(store, base=base, head=head, series_ids=missing)
        judgement = with_doubts(without_later(judgement, later), doubts)
    if series_ids := in_question(judgement):
        judgement = with_known(judgement, known_levels(store, base=base, head=head, series_ids=series_ids))
    return judgement


def values_of_run(store: Store, *, commit: str, run_id: str) -> list[SeriesValueRow]:
    """Return what one run of a commit, a full hash, measured, with the processes of each value."""
    return all_values_at(store, commit=commit, run_ids=[run_id])


def ranked_changes(
    store: Store, *, earlier: Mapping[bytes, JudgedSeries] = NOTHING_JUDGED, settings: Settings = NO_SETTINGS
) -> RankedChanges:
    """Return the findings in all histories of the store, place by place, in each what deserves most time first.

    earlier: judgements of series by digest, beside those that are kept. Reads every value, a second or two of a
    million; where nothing was judged before it takes ten times as long.
    """
    known, earlier = known_changes(store), {**earlier, **judged_series(store)}
    changes = partial(changes_of_place, known=known, earlier=earlier, **settings.relevance(LEAST_CHANGE))
    judged = [(table, changes(table)) for table in history_tables(store)]
    return RankedChanges(
        findings=tuple(found for table, place in judged for found in ranked_findings(place, table)),
        judged=tuple(one for _, place in judged for one in place.judged),
    )


def unjudged_places(store: Store) -> list[UnjudgedPlace]:
    """Return the places with values that came after their series were judged last, or that another detector judged."""
    return places_unjudged_by(store, detector=detector_digest())


def taken_back_of(store: Store, finding: Finding) -> list[TakenBack]:
    """Return the acknowledgements of a finding's change, or of a part of it, that were taken back, the oldest first."""
    nobody = Decided(note=None, by=None, at=None)
    return taken_back(store, acknowledgement_of(finding, decision=TriageDecision.ACCEPTED, decided=nobody))


def noise_at(store: Store, *, commit: str, **chosen: Unpack[SeriesFilter]) -> MeasuredNoise:
    """Return how the series that `chosen` takes vary from run to run at `commit`, a full hash, by all its runs there.

    A series with few runs there is told by its history. Control series of the same testbeds correct all of them.
    """
    asked = all_values_at(store, commit=commit, **chosen)
    places = {(row.project, row.machine, row.environment) for row in asked}
    names: list[set[str]] = [{place[i] for place in places} for i in range(3)]
    everything = all_values_at(store, commit=commit, project=names[0], machine=names[1], environment=names[2])
    of_asked = {row.series_id for row in asked}
    rows = [row for row in everything if row.series_id in of_asked or is_control(row)]
    n_runs = Counter(row.series_id for row in rows)
    few = [series_id for series_id, n in n_runs.items() if n < LEAST_RUNS]
    series = run_values(store, series_ids=few) if few else []
    controls = controls_among(rows, few)
    beside = run_values(store, series_ids=set(controls.values())) if controls else []
    spreads, corrected = dict[int, "Prior"](), dict[int, "Prior"]()
    for of_testbed in map(frozenset, _by_testbed(rows)):
        own = [one for one in series if one.series_id in of_testbed]
        spreads |= run_spreads(own, without="", is_one_testbed=True)
        corrected |= run_spreads(own, without="", controls=controls, control_series=beside, is_one_testbed=True)
    return noise_of(rows, commit=commit, spreads=spreads, corrected_spreads=corrected).only(of_asked)
