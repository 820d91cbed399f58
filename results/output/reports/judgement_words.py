"""Judgements in words that every format shares; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.judgement.verdicts import Outcome
from results.metrics import SWEEP_METRICS, Precision
from results.output.text_tables import MANY
from results.units import change_in_words, percent

if TYPE_CHECKING:
    from results.judgement.verdicts import Judgement
    from results.rows import SeriesValueRow

_HASH = 10


def headline(judgement: Judgement) -> str:
    """Return the commits, how much was compared, and how many series had which outcome."""
    counts = judgement.count()
    counted = ", ".join(_counted(counts[outcome], outcome) for outcome in Outcome if counts[outcome])
    whole = "" if judgement.n_compared == judgement.n_of_base else f" of {judgement.n_of_base} that the base measured"
    return (
        f"{judgement.base_commit[:8]} → {judgement.head_commit[:8]}: "
        f"{judgement.n_compared} compared{whole}{': ' if counted else ''}{counted}"
    )


def _counted(n: int, outcome: Outcome) -> str:
    is_noun = outcome in {Outcome.REGRESSION, Outcome.IMPROVEMENT}
    return f"{n} {outcome}{'s' if is_noun and n != 1 else ''}"


def benchmark_in_words(row: SeriesValueRow) -> str:
    """Return the benchmark, and its metric where the name does not say it."""
    # asv's name already says what is measured; an operation does not.
    return f"{row.benchmark} {row.metric}" if row.metric in SWEEP_METRICS else row.benchmark


def shared_parameters(judgement: Judgement) -> frozenset[str]:
    """Return the parameters that every compared series has with the same value."""
    if len(judgement.verdicts) < 2:
        return frozenset()
    parameters = [set(verdict.head.parameters) for verdict in judgement.verdicts]
    return frozenset(parameter.name for parameter in set.intersection(*parameters))


def warnings(judgement: Judgement) -> list[str]:
    """Return what keeps the judgement from passing although no finding does."""
    found = []
    if judgement.n_perhaps_worse:
        found.append(
            f"{judgement.n_perhaps_worse:,} series look worse and were not measured well enough to say: "
            f"{how_to_be_sure(judgement)}."
        )
    if not judgement.verdicts:
        found.append("Nothing was measured at both commits on the same machine.")
    return [*found, *_moved_controls(judgement)]


def how_to_be_sure(judgement: Judgement) -> str:
    """Return what decides the undecided: only the sweep's points can be measured by our own command, and once."""
    undecided = judgement.with_outcome(Outcome.UNDECIDED)
    if not any(verdict.metric.name in SWEEP_METRICS for verdict in undecided):
        return "measure both commits again with the suite's own runner"
    if judgement.is_paired:
        return "measured side by side already, so only a calmer machine tells more"
    base, head = (commit[:_HASH] for commit in (judgement.base_commit, judgement.head_commit))
    return f"measure both commits side by side, fusebench ab {base} {head}"


def notes(judgement: Judgement) -> list[str]:
    """Return what is to be known beside the verdicts: noise floor, moved control series, what is not compared."""
    parts = []
    if judgement.floor is not None and judgement.floor < 1:
        parts.append(f"Changes under {percent(judgement.floor, digits=1)} are invisible in half of the series.")
    noisy = [verdict for verdict in judgement.verdicts if verdict.metric.precision is Precision.NOISY]
    if n_own := sum(verdict.least_change != judgement.least_change for verdict in noisy):
        parts.append(f"{n_own:,} series have a least change of their own (pyproject.toml).")
    parts += _moved_controls(judgement)
    if any(control.ratio != 1 for control in judgement.controls):
        parts.append("A change is told without the machine's part, by eager: it may differ from head over base.")
    not_yet = {row.series_id for row in judgement.not_yet}
    for where, rows in (
        ("Not there yet at the head, which is from before they were first measured", judgement.not_yet),
        ("Measured at the base only", [row for row in judgement.only_at_base if row.series_id not in not_yet]),
        ("Measured at the head only", judgement.only_at_head),
    ):
        if rows:
            names = sorted({benchmark_in_words(row) for row in rows})
            listed = ", ".join(names[:MANY]) + (", …" if len(names) > MANY else "")
            parts.append(f"{where}, not compared ({len(rows)}): {listed}")
    return parts


def _moved_controls(judgement: Judgement) -> list[str]:
    again = "on a calmer machine" if judgement.is_paired else "in the same minutes: fusebench ab"
    return [
        f"The machine or torch changed on {control.machine}, {control.environment}: eager is "
        f"{change_in_words(control.ratio)} over {control.n_series} series. Measure both commits {again}."
        for control in judgement.controls
        if control.is_moved
    ]
