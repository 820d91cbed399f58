"""Differences of the conditions of two runs: versions, the machine, its settings, its state at that moment; pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

VERSIONS = ("torch", "triton", "python", "cuda", "driver", "os")
MACHINE = ("device", "gpu_uuid", "host_cpu", "host")
SETTINGS = (
    "cpu_governor", "transparent_hugepages", "tf32", "float32_matmul_precision", "allocator", "gpu_throttle_reasons",
)  # fmt: skip
# Of the moment: the clocks, and a fixed piece of work. What they vary by anyhow is no difference.
STATE = {
    "cpu_mhz": 0.05, "gpu_sm_clock_mhz": 0.03, "gpu_sm_clock_max_mhz": 0.03, "machine_speed": 0.05, "power_capped": 0.0,
}  # fmt: skip


class ConditionKind(StrEnum):
    """What a condition belongs to."""

    VERSION = "version"
    MACHINE = "machine"
    SETTING = "setting"
    STATE = "state"  # of the machine at that moment


NAMES = {
    ConditionKind.VERSION: VERSIONS,
    ConditionKind.MACHINE: MACHINE,
    ConditionKind.SETTING: SETTINGS,
    ConditionKind.STATE: tuple(STATE),
}
"""Conditions of each kind."""


@dataclass(frozen=True, kw_only=True)
class ConditionDifference:
    """Condition that differs between the two runs."""

    name: str
    kind: ConditionKind
    base: object
    head: object

    @property
    def words(self) -> str:
        """Write `torch 2.12.0 → 2.13.0`."""
        return f"{self.name} {_shown(self.base)} → {_shown(self.head)}"


def differing_conditions(base: Mapping[str, object], head: Mapping[str, object]) -> tuple[ConditionDifference, ...]:
    """Return what differs of the conditions that both runs tell, versions first.

    A version, a machine or a setting that only one of them tells differs, too: unless the other tells no conditions.
    """
    if not base or not head:
        return ()
    return tuple(
        ConditionDifference(name=name, kind=kind, base=base.get(name), head=head.get(name))
        for kind, names in NAMES.items()
        for name in names
        if _are_apart(base.get(name), head.get(name), share=STATE.get(name))
    )


def of_kind(differences: Iterable[ConditionDifference], kind: ConditionKind) -> list[ConditionDifference]:
    """Return the differences of one kind."""
    return [one for one in differences if one.kind is kind]


def in_words(differences: Iterable[ConditionDifference]) -> str:
    """Write the differences in one line."""
    return ", ".join(one.words for one in differences)


def _are_apart(before: object, after: object, *, share: float | None) -> bool:
    if share is None or before is None or after is None:
        return share is None and before != after
    if isinstance(before, int | float) and isinstance(after, int | float) and not isinstance(before, bool):
        return abs(after - before) > share * max(abs(before), abs(after))
    return before != after


def _shown(value: object) -> str:
    return "unknown" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
