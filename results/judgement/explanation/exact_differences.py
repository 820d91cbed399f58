"""What two calls differ in exactly: states, counts, bytes, what was expected; and times beside them; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.files.records import State
from results.judgement.comparison.relevant_changes import differs
from results.metrics import SWEEP_METRICS, metric_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from results.judgement.explanation.calls import ProfiledCall
    from results.metrics import Metric

Fact = float | str | None


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """Quantity of one call at both commits; unit: of a number. is_exact: whether it is counted, and not timed.

    metric: its tolerance and its floor; None if it has neither.
    """

    name: str
    base: Fact
    head: Fact
    unit: str = ""
    is_exact: bool = True
    metric: Metric | None = None

    @property
    def change(self) -> float | None:
        """Head less base; None unless both are numbers."""
        if not isinstance(self.base, int | float) or not isinstance(self.head, int | float):
            return None
        return self.head - self.base


_OF_POINT = (
    ("error_rel", "relative error", "", True),
    ("latency_s", "latency", "s", False),
    ("device_time_s", "device time", "s", False),
    ("host_time_s", "host time", "s", False),
    ("floor_s", "floor", "s", False),
    ("minor_faults_per_call", "page faults", "", False),
)
_OF_PROFILE = (
    ("operator_count", "operators", "", True),
    ("kernel_launches", "kernels", "", True),
    ("compilations", "compilations in a call", "", True),
    ("peak_memory_bytes", "peak memory", "bytes", True),
    ("allocated_bytes", "memory allocated", "bytes", True),
    ("operators_min_bytes", "bytes that must move", "bytes", True),
    ("expected_operator_count", "operators to expect", "", True),
    ("expected_kernel_launches", "kernels to expect", "", True),
    ("expected_bytes", "traffic to expect", "bytes", True),
    ("bound", "bound", "", True),
    ("unexpected", "unexpected", "", True),
    ("operator_time_s", "operator time", "s", False),
    ("overhead_s", "outside operators", "s", False),
    ("gap_count", "gaps of the device", "", False),
    ("gap_time_s", "time in gaps", "s", False),
)
_LIKE = {"allocated_bytes": "peak_memory_bytes"}  # as exact as that metric of a series


def quantities_of(base: ProfiledCall | None, head: ProfiledCall | None) -> tuple[Quantity, ...]:
    """Return every quantity that both calls have, and of the exact ones those that only one has.

    A profile that only one side has tells of no difference.
    """
    if base is None or head is None:
        return ()
    found = [
        Quantity(name="state", base=base.point.state, head=head.point.state),
        Quantity(name="implementation", base=base.point.provider_detail, head=head.point.provider_detail),
        *_read(base.point, head.point, _OF_POINT, dtype=head.point.dtype),
    ]
    if all(one.profile is not None and one.profile.state == State.OK for one in (base, head)):
        found += _read(base.profile, head.profile, _OF_PROFILE)
    return tuple(one for one in found if one.base is not None or one.head is not None)


def exactly_different(quantities: Iterable[Quantity]) -> tuple[Quantity, ...]:
    """Return the exact ones that differ by more than their tolerance."""
    return tuple(one for one in quantities if one.is_exact and _differs(one))


def _differs(one: Quantity) -> bool:
    base, head = one.base, one.head
    if isinstance(base, int | float) and isinstance(head, int | float):
        return base != head if one.metric is None else differs(one.metric, base, head)
    return base != head


def _read(
    base: object, head: object, fields: Iterable[tuple[str, str, str, bool]], *, dtype: str | None = None
) -> list[Quantity]:
    return [
        Quantity(
            name=label,
            base=getattr(base, name),
            head=getattr(head, name),
            unit=unit,
            is_exact=is_exact,
            metric=metric_of(metric, unit=unit, dtype=dtype) if metric in SWEEP_METRICS else None,
        )
        for name, label, unit, is_exact in fields
        if (metric := _LIKE.get(name, name))
    ]
