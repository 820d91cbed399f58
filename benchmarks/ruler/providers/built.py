"""Result of building a provider: a callable ready to be timed, or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch


@dataclass(frozen=True, kw_only=True)
class Built:
    """Provider ready to be called with x. detail: the implementation it reports, or None. Times in seconds.

    compile_time_s: of a provider that is compiled while it is built, not at its first call. captured: torch.compile is
    to replay CUDA graphs. settling_calls: calls after the first before it does what it will do from then on.
    """

    function: Callable[[torch.Tensor], torch.Tensor]
    detail: str | None = None
    prepare_time_s: float | None = None
    compile_time_s: float | None = None
    captured: bool = False
    settling_calls: int = 0


@dataclass(frozen=True)
class Unavailable:
    """Reason why a provider cannot run here."""

    reason: str
