"""What a provider answers: a callable ready to be timed, or why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch


@dataclass(frozen=True, kw_only=True)
class Built:
    """A provider ready to be called with x. detail: what it says it runs, or None. Times in seconds.

    captured: torch.compile is to replay CUDA graphs. settling_calls: calls after the first before it does what it
    will do from then on.
    """

    function: Callable[[torch.Tensor], torch.Tensor]
    detail: str | None = None
    prepare_time_s: float | None = None
    compile_time_s: float | None = None
    captured: bool = False
    settling_calls: int = 0


@dataclass(frozen=True)
class Unavailable:
    """A provider that cannot run here, and why, in words."""

    reason: str
