"""Words for findings that pages, tables, charts and the feed share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.judgement.findings import EVERYTHING, Turn
from results.metrics import metric_of
from results.printable import printable_line
from results.rows import contender_of
from results.units import change_in_words, counted

if TYPE_CHECKING:
    from results.judgement.changes.ranked import RankedFinding
    from results.judgement.findings import Finding

KINDS = {Turn.SLOWER: "bad", Turn.FASTER: "good", Turn.CHANGED: ""}
LONGEST_SUBJECT = 64


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
    return printable_line(" · ".join([*parts, metric_of(finding.metric, unit="").label]))


def change_of(finding: Finding) -> str:
    """Write the worst point's change: in percent, or as a factor where that is the plainer."""
    return "from 0" if finding.ratio is None else change_in_words(finding.ratio)


def largest_change_of(finding: Finding) -> str:
    """Write the change as `change_of` does, and that it is the largest where several points changed."""
    return f"{'up to ' if len(finding.points) > 1 and finding.ratio is not None else ''}{change_of(finding)}"


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
    subject = printable_line(run.commit_subject or "")
    return f"{day} {subject if len(subject) <= LONGEST_SUBJECT else subject[: LONGEST_SUBJECT - 1] + '…'}".strip()


def machine_of(finding: Finding, *, names_project: bool) -> str:
    """Write the finding's machine, and its project where findings of several are beside it."""
    return f"{finding.surface.machine} ({finding.surface.project})" if names_project else finding.surface.machine
