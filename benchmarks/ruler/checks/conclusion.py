"""Conclusion of a check: pass, fail, or undecided where the machine left too little to count. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from benchmarks.ruler.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LEAST_COUNTED = 0.5
"""Share of a check's cases that has to be counted before it passes."""
DISTURBED = "the machine was disturbed"


class Kind(StrEnum):
    """Kind of a conclusion. UNDECIDED: neither, since the machine let too few cases be counted."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "FAIL"
    UNDECIDED = "undecided"


_EXIT_CODES = {Kind.PASS: ExitCode.FINE, Kind.UNDECIDED: ExitCode.NOTHING_MEASURED, Kind.FAIL: ExitCode.FAILED}


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """Conclusion of a check, and what it rests on in words."""

    kind: Kind
    words: str

    def __str__(self) -> str:
        """Return the line to print."""
        return f"{self.kind}: {self.words}"


def concluded(
    words: str, *, holds: bool, n_counted: int, not_counted: Mapping[str, int], is_share: bool = False
) -> Conclusion:
    """Conclude from `n_counted` cases of which `holds` is true or not, and from how many were not counted, by reason.

    What fails has failed, however few were counted; is_share: not where a share of few cases is judged, which says
    little. Nothing passes of which less than LEAST_COUNTED was counted, or nothing.
    """
    n_all = n_counted + sum(not_counted.values())
    is_enough = n_counted > 0 and n_counted >= LEAST_COUNTED * n_all
    kind = Kind.FAIL if not holds and n_counted else Kind.PASS
    if not is_enough and (kind is Kind.PASS or is_share):
        kind = Kind.UNDECIDED
    said = [words, *(f"{reason}, {n} of {n_all} cases not counted" for reason, n in not_counted.items() if n)]
    if kind is Kind.UNDECIDED:
        said.append("check again while the machine is quiet")
    return Conclusion(kind=kind, words="; ".join(said))


def first_cause(disturbed: str) -> str:
    """Return what disturbed the visits of a point, for a line of a table: the first cause, and how many more."""
    first, *others = dict.fromkeys(disturbed.split("; "))
    return f"{first}; and {len(others)} more" if others else first


def exit_code(conclusions: Sequence[Conclusion]) -> ExitCode:
    """Return the exit code of a check with these conclusions: the worst one's; without any nothing was measured."""
    kinds = {each.kind for each in conclusions}
    worst = next((kind for kind in (Kind.FAIL, Kind.UNDECIDED, Kind.PASS) if kind in kinds), Kind.UNDECIDED)
    return _EXIT_CODES[worst]
