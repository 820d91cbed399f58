"""Words for findings that pages, tables, charts and the feed share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.judgement.findings import EVERYTHING, Turn
from results.metrics import metric_of
from results.rows import contender_of
from results.units import TIMES, change_in_words, counted

if TYPE_CHECKING:
    from results.judgement.changes.ranked import RankedFinding
    from results.judgement.findings import Finding

KINDS = {Turn.SLOWER: "bad", Turn.FASTER: "good", Turn.CHANGED: ""}
FACTOR_FROM = 3.0
LONGEST_SUBJECT = 64
DIVIDED = "\N{DIVISION SIGN}"


def kind_of(finding: Finding) -> str:
    """Return the tone of a finding, as the style sheet and the charts know it: bad, good, or neither."""
    return KINDS[finding.turn]


def title_of(finding: Finding) -> str:
    """Write what changed: the benchmark, who competes, and the metric."""
    if finding.benchmark == EVERYTHING:
        return "Everything at once"
    parts = [finding.benchmark]
    if contender := contender_of(finding.surface.shared):
        parts.append(contender)
    parts += [
        str(one.value) for one in finding.surface.shared if one.name.rstrip("_") == "pass" and one.value != "forward"
    ]
    return " · ".join([*parts, metric_of(finding.metric, unit="").label])


def change_of(finding: Finding) -> str:
    """Write the worst point's change: in percent, or as a factor where that is the plainer."""
    return "from 0" if finding.ratio is None else ratio_in_words(finding.ratio)


def ratio_in_words(value: float) -> str:
    """Write a ratio as a change in percent, or as a factor where that is the plainer: `× 47.2`, `÷ 5,280`."""
    return _as_factor(value) if _is_factor(value) else change_in_words(value)


def interval_in_words(low: float, high: float, *, ratio: float | None) -> tuple[str, str]:
    """Write the ends of a ratio's interval in the form that the ratio has, so that the three can be compared."""
    as_factors = ratio is not None and _is_factor(ratio)
    write = _as_factor if as_factors and low > 0 else change_in_words
    return write(low), write(high)


def _is_factor(value: float) -> bool:
    return value >= FACTOR_FROM or 0 < value <= 1 / FACTOR_FROM


def _as_factor(value: float) -> str:
    return f"{TIMES} {_factor(value)}" if value >= 1 else f"{DIVIDED} {_factor(1 / value)}"


def range_of(finding: Finding) -> str:
    """Write the range of commits that the cause lies in, as git does, with how many of them nobody measured."""
    between = f"{(finding.last_good or '')[:8]}..{finding.first_bad[:8]}"
    n = finding.n_unmeasured
    return f"{between} ({counted(n, 'commit')} between not measured)" if n else between


def since_of(found: RankedFinding) -> str:
    """Write the day of the first bad commit, and its subject, cut short."""
    run = found.first_bad
    if run is None:
        return found.finding.first_bad[:8]
    day = "no date" if run.commit_date is None else f"{run.commit_date:%Y-%m-%d}"
    subject = run.commit_subject or ""
    return f"{day} {subject if len(subject) <= LONGEST_SUBJECT else subject[: LONGEST_SUBJECT - 1] + '…'}".strip()


def _factor(value: float) -> str:
    return f"{float(f'{value:.3g}'):,.10g}" if value < 1e6 else f"{value:.2g}"
