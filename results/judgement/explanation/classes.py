"""Class of a finding by what is around the call: ruler, control series, versions, machine, equal kernels; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.files.records import State
from results.judgement.comparison.relevant_changes import size_of
from results.judgement.explanation.causes import LEAST_SHARE
from results.judgement.explanation.conditions import NAMES, VERSIONS, ConditionKind, in_words, of_kind
from results.judgement.findings import FindingClass, FindingState, Turn
from results.judgement.sides import BASELINE
from results.metrics import SWEEP_METRICS, Precision
from results.units import change_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from results.judgement.explanation.calls import ProfiledCall
    from results.judgement.explanation.conditions import ConditionDifference
    from results.judgement.findings import Finding
    from results.judgement.outcomes import ControlChange

OURS = "fused"
"""Beginning of the names of the providers that a commit of ours can change."""
STILL = 0.03
"""Change of control series up to which they count as where they were."""
ALIKE = frozenset({"host", "gpu_uuid"})
"""Names that tell machines of one class apart: they run the same work, faster or slower."""
OF_WORK = frozenset({"device", "host_cpu", "tf32", "float32_matmul_precision", "allocator"})
"""Conditions by which the same code runs other kernels, or takes other memory."""
_COUNTED = {metric.name for metric in SWEEP_METRICS.values() if metric.precision is Precision.EXACT}
_PLACE = frozenset({ConditionKind.MACHINE, ConditionKind.SETTING})
_IN_WORDS = {ConditionKind.MACHINE: "device", ConditionKind.SETTING: "settings", ConditionKind.STATE: "clocks"}
Classed = tuple[FindingClass | None, str | None]


@dataclass(frozen=True, kw_only=True)
class Around:
    """What is known around a call; None and empty for what is not.

    calls: at the base and at the head; None unless both commits measured it. has_causes: whether the profiles show what
    changed. has_new_structure: whether they run different operators or kernels.
    """

    finding: Finding | None
    calls: tuple[ProfiledCall, ProfiledCall] | None
    conditions: tuple[ConditionDifference, ...]
    control: ControlChange | None
    are_kernels_equal: bool | None
    has_causes: bool
    has_new_structure: bool

    @property
    def versions(self) -> list[ConditionDifference]:
        """Versions that differ."""
        return of_kind(self.conditions, ConditionKind.VERSION)

    @property
    def others(self) -> list[ConditionDifference]:
        """Conditions that differ and are no versions."""
        return [one for one in self.conditions if one.kind is not ConditionKind.VERSION]

    @property
    def provider(self) -> str:
        """Provider of the call; empty unless both commits measured it."""
        return next((call.point.provider for call in self.calls or ()), "")

    @property
    def is_ours(self) -> bool:
        """Whether a commit of ours can change the provider."""
        return self.provider.startswith(OURS)

    @property
    def may_be_code(self) -> bool:
        """Whether a commit may change what ran: any provider's but the baseline's."""
        return self.provider not in {"", BASELINE}

    @property
    def is_counted(self) -> bool:
        """Whether the finding is of a count, which no clock and no other process changes."""
        return self.finding is not None and self.finding.metric in _COUNTED

    @property
    def is_exact(self) -> bool:
        """Whether the finding is of a count or a state, which no machine's speed changes."""
        return self.is_counted or (self.finding is not None and self.finding.turn in {Turn.FAILED, Turn.FIXED})

    @property
    def ratio(self) -> float | None:
        """Head ÷ base of what is explained: of the finding, or of the latency of a point without one."""
        if self.finding is not None:
            return self.finding.ratio
        if self.calls is None:
            return None
        before_s, after_s = (call.point.latency_s for call in self.calls)
        return after_s / before_s if before_s and after_s else None

    @property
    def is_control_still(self) -> bool:
        """Whether there are control series, and they stayed where they were."""
        control = self.control
        return control is not None and not control.is_moved and max(control.ratio, 1 / control.ratio) <= 1 + STILL


def class_of(known: Around) -> Classed:
    """Class a finding by exclusion, with the clause of its sentence that says why, None where the class needs none.

    Method before stack and machine, before noise, before code; None where what is known leaves several.
    """
    for rule in _RULES:
        if (found := rule(known)) is not None:
            return found
    return None, None


def _method(known: Around) -> Classed | None:
    if known.calls is None:
        return None
    base, head = (call.point.ruler_version for call in known.calls)
    return None if base == head else (FindingClass.METHOD, f"ruler {base} measured the base, and ruler {head} the head")


def _seen_before(known: Around) -> Classed | None:
    """Class what later measurements took back, or a level that was there before: no version explains that."""
    finding = known.finding
    if finding is None or (finding.class_ is not FindingClass.NOISE and finding.state is not FindingState.WITHDRAWN):
        return None
    return FindingClass.NOISE, finding.why


def _everything(known: Around) -> Classed | None:
    """Class what moved the control series, too, or all series of the place at once."""
    finding = known.finding
    if (control := known.control) is not None and control.is_moved and not known.is_exact:
        return _beside_control(known, control)
    if finding is not None and finding.class_ is FindingClass.MACHINE:
        why = f"{finding.why} ({in_words(known.conditions)})" if known.conditions else finding.why
        if known.versions:
            return None if known.others else FindingClass.STACK, why
        return FindingClass.MACHINE, why
    return None


def _beside_control(known: Around, control: ControlChange) -> Classed | None:
    """Class a time by control series that moved: the other way they explain nothing, and by less than half not all."""
    ratio = known.ratio or control.ratio
    if math.log(control.ratio) * math.log(ratio) <= 0:
        return None
    moved = f"{BASELINE}, which no commit changes, is {change_in_words(control.ratio)}, too"
    versions = f"{in_words(known.versions)} between the two, and " if known.versions else ""
    if size_of(control.ratio) < LEAST_SHARE * size_of(ratio):
        return None, f"{versions}{moved}, less than half of it"
    differing = f" ({in_words(known.others)})" if known.others else ""
    is_perhaps_code = known.may_be_code and known.has_new_structure and not known.are_kernels_equal
    if is_perhaps_code and (known.is_ours or not versions):
        return (
            None,
            f"{versions}{moved}{differing}, so code and {'stack' if versions else 'machine'} are not told apart",
        )
    if versions and known.others:
        return None, f"{in_words(known.conditions)} between the two, which are not told apart, and {moved}"
    if versions:
        return FindingClass.STACK, f"{versions}{moved}"
    return FindingClass.MACHINE, f"{moved}: the machine{differing}"


def _stack(known: Around) -> Classed | None:
    is_of_one_commit = known.finding is not None and known.finding.class_ is FindingClass.STACK
    if not known.versions:
        return (FindingClass.STACK, _state_in_words(known)) if is_of_one_commit else None
    state = f"; {words}" if (words := _state_in_words(known)) else ""
    versions = f"{in_words(known.versions)} between the two"
    is_ours = known.is_ours and not known.are_kernels_equal
    # No clock changes a count; of a time eager tells whether the machine is as fast as it was.
    others = [one for one in known.others if one.name in OF_WORK or not (known.is_exact or known.is_control_still)]
    if others and not (is_of_one_commit or is_ours):
        return None, f"{in_words((*known.versions, *others))} between the two, which are not told apart{state}"
    if known.are_kernels_equal:
        return FindingClass.STACK, f"{versions}, and both have the same kernels{state}"
    if is_of_one_commit or not is_ours:
        return FindingClass.STACK, f"{versions}{state}"
    return None, f"{versions}, so code and stack are not told apart{state}"


def _state(known: Around) -> Classed | None:
    """Class what another state is of: what another place lacks, or a clock ended, is not certainly of the code."""
    words = _state_in_words(known)
    if words is None or known.calls is None:
        return None
    if not known.may_be_code or known.are_kernels_equal:
        return None, words
    if places := [one for one in known.others if one.kind in _PLACE]:
        return None, f"{in_words(places)} between the two, from which the code is not told apart; {words}"
    states = {call.point.state for call in known.calls}
    is_of_time = State.TIMED_OUT in states and (bool(known.others) or not known.is_control_still)
    is_of_packages = State.UNAVAILABLE in states and not known.is_ours
    return None if is_of_time or is_of_packages else FindingClass.CODE, words


def _state_in_words(known: Around) -> str | None:
    if known.calls is None:
        return None
    base, head = (call.point for call in known.calls)
    if base.state == head.state:
        return None
    if head.state == State.OK:
        return f"it was {base.state} at the base: {base.reason or 'no reason given'}"
    return f"it is {head.state}: {head.reason or 'no reason given'}"


def _other_machine(known: Around) -> Classed | None:
    """Class what another host or GPU measured, where no code of ours can have changed it."""
    machines = of_kind(known.conditions, ConditionKind.MACHINE)
    if not machines or (known.is_ours and not known.are_kernels_equal):
        return None
    if (known.is_exact or known.has_new_structure) and all(one.name in ALIKE for one in machines):
        return None
    equal = ", and both have the same kernels" if known.are_kernels_equal else ""
    return FindingClass.MACHINE, f"{in_words(machines)} between the two{equal}"


def _noise(known: Around) -> Classed | None:
    if known.calls is None or not (known.are_kernels_equal and known.may_be_code) or known.has_new_structure:
        return None
    equal = "both commits have the same kernels"
    if known.is_exact:
        return None, f"{equal}, and it is counted, not timed"  # no noise changes a count
    if not all(call.conditions for call in known.calls):
        return None, f"{equal}; whether the versions are the same is not known"
    if known.others:
        return None, f"{equal}; {in_words(known.others)} between the two"
    is_lasting = known.finding is not None and known.finding.state is FindingState.CONFIRMED
    return None if is_lasting else FindingClass.NOISE, f"{equal}, and the versions are the same"


def _code(known: Around) -> Classed | None:
    finding = known.finding
    if known.are_kernels_equal:
        return None
    if known.calls is None:
        return (FindingClass.CODE, None) if finding is not None and finding.class_ is FindingClass.CODE else None
    if finding is not None and finding.turn is Turn.FAILED:
        return None  # of a call as it was: a metric that was not taken tells nothing of the code
    # With eager where it was and the same machine and versions, what is left of ours is the code; but one comparison
    # of stored runs, of which no profile shows anything, may be noise as well.
    is_borne_out = finding is not None and (finding.state is FindingState.CONFIRMED or known.has_causes)
    is_all_else_excluded = known.is_control_still and not known.others and is_borne_out
    is_of_both = finding is not None and finding.class_ is FindingClass.CODE
    is_code = is_of_both or known.has_new_structure or known.is_counted or is_all_else_excluded
    if not (known.may_be_code and is_code):
        return None
    if works := [one for one in known.others if one.name in OF_WORK]:
        return None, f"{in_words(works)} between the two, from which the code is not told apart"
    return FindingClass.CODE, None


_RULES: tuple[Callable[[Around], Classed | None], ...] = (
    *(_method, _seen_before, _everything, _stack, _state, _other_machine, _noise, _code),
)


def ruled_out(known: Around) -> tuple[str, ...]:
    """Return what the finding is not due to, each with its evidence, in words."""
    found = []
    control = known.control
    if known.calls is not None:
        base, head = known.calls
        if base.point.ruler_version == head.point.ruler_version:
            found.append(f"method: ruler {head.point.ruler_version} at both")
        if not known.versions and (same := _in_common(base.conditions, head.conditions)):
            found.append(f"stack: {same} at both")
        if not known.others and (kinds := _kinds_in_common(base.conditions, head.conditions)):
            found.append(f"conditions: the same {kinds}")
        if not (base.point.disturbed or head.point.disturbed):
            found.append("disturbance: none was seen")
    # Of a fleet eager may have been measured on other hosts.
    if control is not None and known.is_control_still and not of_kind(known.conditions, ConditionKind.MACHINE):
        found.append(f"machine: {BASELINE} is {change_in_words(control.ratio)} over {control.n_series:,} series")
    if known.are_kernels_equal:
        found.append("code: git has the same kernels at both commits")
    return tuple(found)


def _kinds_in_common(base: Mapping[str, object], head: Mapping[str, object]) -> str:
    """Return which kinds of conditions both tell, in words."""
    known = [
        words
        for kind, words in _IN_WORDS.items()
        if any(base.get(name) is not None and head.get(name) is not None for name in NAMES[kind])
    ]
    return " and ".join(filter(None, (", ".join(known[:-1]), *known[-1:])))


def _in_common(base: Mapping[str, object], head: Mapping[str, object]) -> str:
    names = [name for name in VERSIONS if base.get(name) is not None and base.get(name) == head.get(name)]
    return ", ".join(f"{name} {head[name]}" for name in names)
