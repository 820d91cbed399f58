"""One finding of the doctor's, and all of them as text or JSON; pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence


class Status(StrEnum):
    """What a finding means for measurements made now."""

    FINE = "fine"
    NOTE = "note"  # something is not there, or not known; measurements are right all the same
    PROBLEM = "problem"  # nothing can be measured, or times would be wrong or disturbed


_STYLES = {Status.FINE: "green", Status.NOTE: "yellow", Status.PROBLEM: "bold red"}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was looked at, how it is, and what to do about it; a problem always has a mend."""

    subject: str
    status: Status
    what: str
    mend: str | None = None


def fine(subject: str, what: str) -> Finding:
    """Return that there is nothing to do."""
    return Finding(subject=subject, status=Status.FINE, what=what)


def note(subject: str, what: str, *, mend: str | None = None) -> Finding:
    """Return something to know."""
    return Finding(subject=subject, status=Status.NOTE, what=what, mend=mend)


def problem(subject: str, what: str, *, mend: str) -> Finding:
    """Return something to mend before measuring."""
    return Finding(subject=subject, status=Status.PROBLEM, what=what, mend=mend)


def table(findings: Sequence[Finding]) -> Table:
    """Return the findings in the order they were made, each mend below what it mends."""
    drawn = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    drawn.add_column(no_wrap=True)
    drawn.add_column(no_wrap=True)
    drawn.add_column(overflow="fold")
    for each in findings:
        drawn.add_row(Text(each.status, style=_STYLES[each.status]), Text(each.subject), Text(each.what))
        if each.mend:
            drawn.add_row("", "", Text(f"→ {each.mend}"))
    return drawn


def conclusion(findings: Sequence[Finding]) -> str:
    """Return in one line whether this machine can be measured on now."""
    problems = [each.subject for each in findings if each.status is Status.PROBLEM]
    if not problems:
        return "Nothing is missing, and nothing would disturb a measurement now."
    n = len(problems)
    return f"{n} {'problem' if n == 1 else 'problems'}: {', '.join(problems)}."


def as_json(findings: Sequence[Finding]) -> list[dict[str, str | None]]:
    """Return the findings as JSON has them."""
    return [asdict(each) for each in findings]
