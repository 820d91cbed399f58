"""Class of a finding by what is around the call: ruler, control series, versions, machine, equal kernels; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.files.records import State
from results.judgement.explanation.conditions import VERSIONS, ConditionKind, in_words, of_kind
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
_COUNTED = {metric.name for metric in SWEEP_METRICS.values() if metric.precision is Precision.EXACT}
Classed = tuple[FindingClass | None, str | None]


@dataclass(frozen=True, kw_only=True)
class Around:
    """What is known around a call; None and empty for what is not.

    has_causes: whether the profiles show what changed. has_new_structure: whether they run different operators or
    kernels.
    """

    finding: Finding | None
    base: ProfiledCall | None
    head: ProfiledCall | None
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
    def is_ours(self) -> bool:
        """Whether a commit of ours can change the provider."""
        return any(one is not None and one.point.provider.startswith(OURS) for one in (self.base, self.head))

    @property
    def is_exact(self) -> bool:
        """Whether the finding is of a count or a state, which no machine's speed changes."""
        finding = self.finding
        return finding is not None and (finding.metric in _COUNTED or finding.turn in {Turn.FAILED, Turn.FIXED})

    @property
    def is_at_both(self) -> bool:
        """Whether both commits measured the call: one that is gone has no head."""
        return self.base is not None and self.head is not None

    @property
    def may_be_code(self) -> bool:
        """Whether a commit may change what ran: any provider's but the baseline's."""
        return any(one is not None and one.point.provider != BASELINE for one in (self.base, self.head))

    @property
    def is_control_still(self) -> bool:
        """Whether there are control series, and they stayed where they were."""
        control = self.control
        return control is not None and not control.is_moved and abs(math.log(control.ratio)) <= math.log1p(STILL)


def class_of(known: Around) -> Classed:
    """Class a finding by exclusion, with the clause of its sentence that says why, None where the class needs none.

    Method before stack and machine, before noise, before code; None where what is known leaves several.
    """
    for rule in _RULES:
        if (found := rule(known)) is not None:
            return found
    return None, None


def _method(known: Around) -> Classed | None:
    if known.base is None or known.head is None or known.base.point.ruler_version == known.head.point.ruler_version:
        return None
    rulers = known.base.point.ruler_version, known.head.point.ruler_version
    return FindingClass.METHOD, f"ruler {rulers[0]} measured the base, and ruler {rulers[1]} the head"


def _everything(known: Around) -> Classed | None:
    """Class what moved the control series, too, or all series of the place at once."""
    control, finding = known.control, known.finding
    if control is not None and control.is_moved and not known.is_exact:
        moved = f"{BASELINE}, which no commit changes, is {change_in_words(control.ratio)}, too"
        if known.versions:
            return FindingClass.STACK, f"{in_words(known.versions)} between the two, and {moved}"
        differing = f" ({in_words(known.others)})" if known.others else ""
        return FindingClass.MACHINE, f"{moved}: the machine{differing}"
    if finding is not None and finding.class_ is FindingClass.MACHINE:
        differing = in_words(known.versions or known.others)
        why = f"{finding.why} ({differing})" if differing and finding.why else finding.why or differing
        return (FindingClass.STACK if known.versions else FindingClass.MACHINE), why or None
    return None


def _stack(known: Around) -> Classed | None:
    if not known.versions:
        return None
    versions = f"{in_words(known.versions)} between the two"
    if known.are_kernels_equal:
        return FindingClass.STACK, f"{versions}, and both have the same kernels"
    if not known.is_ours:
        return FindingClass.STACK, versions
    if known.has_new_structure:
        return None, f"{versions}, so code and stack are not told apart"
    return FindingClass.STACK, f"{versions}; the code of the commits is not ruled out"


def _state(known: Around) -> Classed | None:
    base, head = known.base, known.head
    if base is None or head is None or base.point.state == head.point.state:
        return None
    class_ = FindingClass.CODE if known.may_be_code and not known.are_kernels_equal else None
    if head.point.state == State.OK:
        return class_, f"it was {base.point.state} at the base: {base.point.reason or 'no reason given'}"
    return class_, f"it is {head.point.state}: {head.point.reason or 'no reason given'}"


def _other_machine(known: Around) -> Classed | None:
    """Class what another host or GPU of the same class measured, where no code of ours can have changed it."""
    machines = of_kind(known.conditions, ConditionKind.MACHINE)
    if not machines or (known.is_ours and not known.are_kernels_equal):
        return None
    equal = ", and both have the same kernels" if known.are_kernels_equal else ""
    return FindingClass.MACHINE, f"{in_words(machines)} between the two{equal}"


def _noise(known: Around) -> Classed | None:
    finding = known.finding
    if finding is not None and (finding.class_ is FindingClass.NOISE or finding.state is FindingState.WITHDRAWN):
        return FindingClass.NOISE, finding.why or None
    if not (known.are_kernels_equal and known.may_be_code) or known.has_new_structure:
        return None
    if known.is_exact:
        # No noise changes a count; and of what is gone nothing is known.
        return None, "both commits have the same kernels, and it is counted, not timed" if known.is_at_both else None
    return FindingClass.NOISE, "both commits have the same kernels, and the versions are the same"


def _code(known: Around) -> Classed | None:
    finding = known.finding
    if known.are_kernels_equal:
        return None
    if finding is None:
        return (FindingClass.CODE, None) if known.may_be_code and known.has_new_structure else None
    # With eager where it was and the same machine and versions, what is left of ours is the code; but one comparison
    # of stored runs, of which no profile shows anything, may be noise as well.
    is_borne_out = finding.state is FindingState.CONFIRMED or known.has_causes
    is_all_else_excluded = known.is_control_still and not known.others and known.base and known.head and is_borne_out
    # No clock and no other process changes what is counted; of what is gone nothing was.
    is_counted = finding.metric in _COUNTED and known.is_at_both
    if finding.class_ is FindingClass.CODE:
        return FindingClass.CODE, None
    if known.may_be_code and (known.has_new_structure or is_counted or is_all_else_excluded):
        return FindingClass.CODE, None
    return None


_RULES: tuple[Callable[[Around], Classed | None], ...] = (
    *(_method, _everything, _stack, _state, _other_machine, _noise, _code),
)


def ruled_out(known: Around) -> tuple[str, ...]:
    """Return what the finding is not due to, each with its evidence, in words."""
    found = []
    base, head, control = known.base, known.head, known.control
    if base is not None and head is not None:
        if base.point.ruler_version == head.point.ruler_version:
            found.append(f"method: ruler {head.point.ruler_version} at both")
        if base.conditions and head.conditions:
            if not known.versions and (same := _in_common(base.conditions, head.conditions)):
                found.append(f"stack: {same} at both")
            if not known.others:
                found.append("conditions: the same device, settings and clocks")
        if not (base.point.disturbed or head.point.disturbed):
            found.append("disturbance: none was seen")
    if control is not None and known.is_control_still:
        found.append(f"machine: {BASELINE} is {change_in_words(control.ratio)} over {control.n_series:,} series")
    if known.are_kernels_equal:
        found.append("code: git has the same kernels at both commits")
    return tuple(found)


def _in_common(base: Mapping[str, object], head: Mapping[str, object]) -> str:
    names = [name for name in VERSIONS if base.get(name) is not None and base.get(name) == head.get(name)]
    return ", ".join(f"{name} {head[name]}" for name in names)
