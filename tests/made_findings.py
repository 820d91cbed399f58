"""A judgement and histories that were made up: everything that a report can tell of, once or more."""

from __future__ import annotations

from dataclasses import replace

from results.judgement.changes.from_histories import PlaceChanges
from results.judgement.findings import Finding, FindingClass, FindingState, Surface, Turn
from results.judgement.outcomes import Change, Outcome
from results.judgement.verdicts import judge
from results.rows import KnownChange, ParameterValue
from tests.made_values import A, B, failed, row

CALM = (1.0e-3, 1.002e-3, 0.998e-3)
WILD = (1.0e-3, 1.2e-3, 0.85e-3)


def times(factor, values=CALM):
    return [factor * value for value in values]


def judgement():
    """Two commits: a crash, a lost fusion, a slowdown at 3 of 4 points, something better, known, gone and uncertain."""
    factors = {"fused": {1: 1.0, 4: 1.2, 16: 1.4, 64: 4.0}, "compiled": dict.fromkeys((1, 4, 16, 64), 0.7)}
    base = [row(CALM, provider=p, batch=b) for p, of in factors.items() for b in of]
    head = [row(times(f), provider=p, batch=b, commit=B) for p, of in factors.items() for b, f in of.items()]
    base += [row(CALM, provider="eager", batch=b) for b in range(8)]
    head += [row(CALM, provider="eager", batch=b, commit=B) for b in range(8)]
    base += [row(1, metric="operator_count", unit="", batch=b) for b in (1, 4)]
    head += [row(3, metric="operator_count", unit="", batch=b, commit=B) for b in (1, 4)]
    base += [row(CALM, provider="torch | <b>@me</b>", batch=1), row(CALM, provider="old", batch=1)]
    head += [failed(provider="torch | <b>@me</b>", batch=1, commit=B)]
    base += [row(WILD, provider="wild", batch=1), row(CALM, benchmark="linear", batch=1)]
    head += [row(times(1.2, WILD), provider="wild", batch=1, commit=B)]
    base += [row(CALM, provider="known", batch=1)]
    head += [row(times(1.3), provider="known", batch=1, commit=B)]
    base += [row(10.0, benchmark="suite.track_score", metric="track", unit="points", parameters={})]
    head += [row(10.0, benchmark="suite.track_score", metric="track", unit="points", parameters={}, commit=B)]
    found = judge(base, head, base_commit=A, head_commit=B)
    return replace(found, verdicts=tuple(map(_with_known, found.verdicts)))


def _with_known(verdict):
    if ParameterValue(name="provider", value="known") not in verdict.head.parameters:
        return verdict
    head = verdict.head
    known = KnownChange(
        series_id=head.series_id, point_id=None, project="fusebench", machine="m", environment="e", commit=B,
        commit_date=None, decision="accepted", note="pays for accuracy", decided_by="Ada", decided_at=None,
        benchmark=head.benchmark, metric=head.metric, parameters=head.parameters,
    )  # fmt: skip
    return verdict._replace(change=Change.KNOWN, outcome=Outcome.KNOWN, reason=known.reason, known=known)


def finding(**changes):
    """A slowdown of the fused mlp at two of three points."""
    points = [(ParameterValue(name="batch", value=b), ParameterValue(name="provider", value="fused")) for b in (64, 1)]
    surface = Surface(
        project="p", machine="m", environment="e", benchmark="mlp", metric="latency_s",
        shared=(ParameterValue(name="provider", value="fused"),),
    )  # fmt: skip
    found = Finding(
        surface=surface, points=tuple(points), n_points=3, last_good=A, first_bad=B, n_unmeasured=2, ratio=1.25,
        interval=(1.2, 1.3), floor=0.023, turn=Turn.SLOWER, state=FindingState.CONFIRMED, class_=FindingClass.CODE,
        why="certain 2 measured commits later",
    )  # fmt: skip
    return replace(found, **changes)


def named(benchmark, **changes):
    return finding(surface=finding().surface._replace(benchmark=benchmark), **changes)


def histories():
    """One place with a finding of every state and class, another without any."""
    everything = finding().surface._replace(benchmark="*", metric="*", shared=())
    found = (
        finding(),
        named("linear", state=FindingState.SUSPECTED, class_=None, interval=None, why="one measurement: measure again"),
        named("gone_again", state=FindingState.RECOVERED, why="taken back at cccccccc"),
        named("known", state=FindingState.ACKNOWLEDGED, why="accepted at bbbbbbbb by Ada: pays for accuracy"),
        named("unsure", state=FindingState.WITHDRAWN, class_=FindingClass.NOISE, why="not borne out"),
        named("two_levels", class_=FindingClass.NOISE, why="a level this series had before"),
        named("quick", turn=Turn.FASTER, ratio=0.2, interval=(0.19, 0.21)),
        named("suite.track_score", turn=Turn.CHANGED, n_unmeasured=0, ratio=None, floor=None),
        finding(
            surface=everything, points=(), n_points=12, turn=Turn.CHANGED, class_=FindingClass.MACHINE,
            why="8 control series moved together: the machine or torch changed, not the code",
        ),
    )  # fmt: skip
    place = PlaceChanges(
        project="p", machine="m", environment="e", n_series=12, n_commits=20, n_controls=8, findings=found
    )
    return [place, replace(place, machine="m2", n_controls=0, findings=())]
