"""Functions captured in a CUDA graph and replayed: one host launch, however many kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[[torch.Tensor], torch.Tensor]

# After the first call, in which inductor warms up: it records in the second and replays from the third on.
CALLS_UNTIL_REPLAYED = 2
_WARM_UP_CALLS = 3


def why_no_cuda_graphs(device: torch.device) -> str | None:
    """Return why nothing can be captured on `device`, or None if it can."""
    if device.type == "cuda":
        return None
    return f"a CUDA graph needs a GPU; this runs on {device.type}"


class Captured(nn.Module):
    """Replay of a CUDA graph of `function`, captured at the shape of `x`; call it under inference_mode.

    Each call copies its input to where the graph reads it, as torch.compile's CUDA graphs do, and returns the same
    memory: a result holds until the next call.
    """

    def __init__(self, function: Function, x: torch.Tensor) -> None:
        super().__init__()
        self._x = x.clone()
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            # Kernels are compiled and workspaces allocated here: neither may happen during a capture.
            for _ in range(_WARM_UP_CALLS):
                function(self._x)
        torch.cuda.current_stream().wait_stream(stream)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._out = function(self._x)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the function of `x`, in memory that the next call overwrites."""
        self._x.copy_(x)
        self._graph.replay()
        return self._out
