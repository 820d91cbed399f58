"""Choices of the page *Regressions*: one value, held by the URL's query string alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from dashboard.views.url import ALL, member_of, name_or_all, unknown_parameters
from results.judgement.findings import FindingClass, FindingState, Turn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from results.judgement.changes.ranked import RankedFinding
    from results.rows import PlaceRow

KEYS = ("project", "machine", "turn", "state", "class", "contains", "finding")


class TurnChoice(StrEnum):
    """Direction of the findings to list."""

    WORSE = "worse"
    BETTER = "better"
    UNKNOWN = "unknown"  # better direction unknown
    ALL = "all"


class StateChoice(StrEnum):
    """State of the findings to list."""

    OPEN = "open"  # suspected or confirmed
    SUSPECTED = "suspected"
    CONFIRMED = "confirmed"
    ACKNOWLEDGED = "acknowledged"
    RECOVERED = "recovered"
    WITHDRAWN = "withdrawn"
    ALL = "all"


class ClassChoice(StrEnum):
    """Class of the causes of the findings to list."""

    RELEVANT = "relevant"  # neither noise nor the machine's
    CODE = "code"
    STACK = "stack"
    MACHINE = "machine"
    METHOD = "method"
    NOISE = "noise"
    UNKNOWN = "unknown"
    ALL = "all"


LABELS: dict[str, dict[str, str]] = {
    "turn": {"worse": "worse", "better": "better", "unknown": "direction unknown", "all": "any direction"},
    "state": {"open": "open", "suspected": "suspected", "confirmed": "confirmed", "acknowledged": "acknowledged",
              "recovered": "recovered", "withdrawn": "withdrawn", "all": "any state"},
    "class": {"relevant": "code, stack, other", "code": "code", "stack": "stack", "machine": "machine",
              "method": "method", "noise": "noise", "unknown": "not known", "all": "any cause"},
}  # fmt: skip
OPEN = frozenset({FindingState.SUSPECTED, FindingState.CONFIRMED})
TURNS = {TurnChoice.WORSE: Turn.SLOWER, TurnChoice.BETTER: Turn.FASTER, TurnChoice.UNKNOWN: Turn.CHANGED}
NOT_THE_CODES = frozenset({FindingClass.MACHINE, FindingClass.NOISE})


@dataclass(frozen=True, kw_only=True)
class RegressionsChoice:
    """Choices of the page. `project`, `machine`: a name, or ALL; `finding`: a uid, None for the first of the list."""

    project: str = ALL
    machine: str = ALL
    turn: TurnChoice = TurnChoice.WORSE
    state: StateChoice = StateChoice.OPEN
    class_: ClassChoice = ClassChoice.RELEVANT
    contains: str = ""
    finding: str | None = None

    def takes(self, found: RankedFinding) -> bool:
        """Return whether a finding is to be listed."""
        one = found.finding
        return (
            self.project in {ALL, one.surface.project}
            and self.machine in {ALL, one.surface.machine}
            and (self.turn is TurnChoice.ALL or one.turn is TURNS[self.turn])
            and _is_of_state(self.state, one.state)
            and _is_of_class(self.class_, one.class_)
            and self.contains.lower() in _text_of(found)
        )


def regressions_choice_of(
    query: str, *, found: Sequence[RankedFinding], measured: Sequence[PlaceRow], problems: list[str]
) -> tuple[RegressionsChoice, Mapping[str, tuple[str, ...]]]:
    """Return the choice a URL's query string asks for, and the options of its names; adds to `problems`."""
    wanted = dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
    problems += unknown_parameters(wanted, known=KEYS)
    projects = (ALL, *sorted({one.project for one in measured} - {ALL}))
    project = name_or_all("project", wanted, projects, problems)
    machines = {one.machine for one in measured if project in {ALL, one.project}}
    options = {"project": projects, "machine": (ALL, *sorted(machines - {ALL}))}
    choice = RegressionsChoice(
        project=project,
        machine=name_or_all("machine", wanted, options["machine"], problems),
        turn=member_of("turn", wanted, TurnChoice.WORSE, problems),
        state=member_of("state", wanted, StateChoice.OPEN, problems),
        class_=member_of("class", wanted, ClassChoice.RELEVANT, problems),
        contains=wanted.get("contains", "").strip(),
        finding=wanted.get("finding") or None,
    )
    if choice.finding is not None and choice.finding not in {one.uid for one in found}:
        problems.append(f"There is no finding {choice.finding[:16]} any more; showing the first of the list.")
        choice = replace(choice, finding=None)
    return choice, options


def query_from_regressions_choice(choice: RegressionsChoice) -> str:
    """Write `choice` as a query string; what is as at first is left out."""
    first = RegressionsChoice()
    pairs = [(name.rstrip("_"), value) for name, value in vars(choice).items() if value != getattr(first, name)]
    return "?" + urlencode([(name, str(value)) for name, value in pairs]) if pairs else ""


def _is_of_state(chosen: StateChoice, state: FindingState) -> bool:
    if chosen is StateChoice.OPEN:
        return state in OPEN
    return chosen is StateChoice.ALL or chosen.value == state.value


def _is_of_class(chosen: ClassChoice, class_: FindingClass | None) -> bool:
    match chosen:
        case ClassChoice.ALL:
            return True
        case ClassChoice.RELEVANT:
            return class_ not in NOT_THE_CODES
        case ClassChoice.UNKNOWN:
            return class_ is None
        case _:
            return class_ is not None and chosen.value == class_.value


def _text_of(found: RankedFinding) -> str:
    one = found.finding
    shared = " ".join(f"{each.name}={each.value}" for each in one.surface.shared)
    return f"{one.benchmark} {one.metric} {shared} {one.first_bad} {one.why}".lower()
