"""What a referee knows of one contender: how often it was sampled and checked, and what that took. Pure."""

from __future__ import annotations

from dataclasses import dataclass

# Judged from as much sampled time on; threads that wait for the next region may spin a little longer than it lasts.
_JUDGED_FROM_S, _SPARE_CORES = 0.02, 0.3


@dataclass
class ContenderRecord:
    """What is known of one contender, in seconds: its calls, and what its samples, turns and checks took.

    least_calls: fewer were not in a sample. warming_calls: untimed ones before each.
    """

    n_samples: int = 0
    n_checks: int = 0
    least_calls: int = 1
    warming_calls: int = 1
    cpu_s: float = 0.0
    wall_s: float = 0.0
    turn_s: float = 0.0
    check_s: float = 0.0

    def why_too_many_cores(self, threads: int | None) -> str | None:
        """Return that its calls kept more cores busy than `threads`, in words, or None; so if that is not looked at."""
        if threads is None or self.wall_s < _JUDGED_FROM_S:
            return None
        cores = self.cpu_s / self.wall_s
        if cores <= threads + _SPARE_CORES:
            return None
        return f"its calls kept {cores:.1f} cores busy, and all are measured with {threads}"
