"""Chunks of a group's sampling: who watches over them, which that are kept were disturbed, and whether that matters."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Protocol

from benchmarks.ruler.record.outcome import causes_together

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LEAST_CALM_SHARE = 0.5
"""Less of the time tells no longer where a median would lie without the rest: a median holds up to half."""

LEAST_CALM_SAMPLES = 5
MOST_MOVED = 0.01
"""A median this near that of the calm samples is the same: it is known no better."""


class Watch(Protocol):
    """Observer of disturbances on the machine."""

    def start(self) -> None:
        """Start an observation window."""

    def disturbance(self, durations_s: Mapping[str, Sequence[float]]) -> str | None:
        """Return what disturbed the machine since `start`, or None; durations_s: of each contender's samples."""

    def forget(self) -> None:
        """Forget the last window: what was measured in it is thrown away."""

    def forget_all(self) -> None:
        """Forget all windows: all that was measured is thrown away."""

    def forget_disturbed(self) -> None:
        """Forget the windows that were disturbed: what was measured in them is kept, and moved no median."""


@dataclass
class KeptChunks:
    """What is known of the chunks of a group's sampling that were kept.

    kept_s, disturbed_s: how long they lasted, all and the disturbed ones, in seconds. causes: what disturbed them.
    calm_samples: seconds per call, by contender, of the undisturbed ones.
    """

    kept_s: float = 0.0
    disturbed_s: float = 0.0
    causes: list[str] = field(default_factory=list)
    calm_samples: dict[str, list[float]] = field(default_factory=dict)

    def keep(self, seconds: float, cause: str | None, samples: Mapping[str, Sequence[float]]) -> None:
        """Keep a chunk of `seconds`, that `cause` disturbed, or nothing, with its samples, seconds per call."""
        self.kept_s += seconds
        if cause:
            self.causes.append(cause)
            self.disturbed_s += seconds
            return
        for name, taken in samples.items():
            self.calm_samples.setdefault(name, []).extend(taken)

    @property
    def disturbed_share(self) -> float:
        """Share of the kept time that was disturbed."""
        return self.disturbed_s / self.kept_s if self.kept_s else 0.0

    def disturbance(self, samples: Mapping[str, Sequence[float]], *, share: float) -> str | None:
        """Return what disturbed the kept `samples`, if more than `share` of the time was, or None.

        Up to half of it is no disturbance where it moved no contender's median: the calm samples tell.
        """
        if self.disturbed_share <= share:
            return None
        is_tellable = self.disturbed_share <= 1 - LEAST_CALM_SHARE
        if is_tellable and all(self._is_unmoved(name, of_all) for name, of_all in samples.items()):
            return None
        return causes_together(self.causes)

    def _is_unmoved(self, name: str, samples: Sequence[float]) -> bool:
        calm = self.calm_samples.get(name, ())
        if len(calm) < LEAST_CALM_SAMPLES:
            return False
        undisturbed_s = median(calm)
        return abs(median(samples) - undisturbed_s) <= MOST_MOVED * undisturbed_s
