"""Capture a function in a CUDA graph and replay it: one host launch, however many kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

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


def captured(
    function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return `function` as the replay of a CUDA graph captured at the shape of `x`; call it under inference_mode.

    Each call copies its input to where the graph reads it, as torch.compile's CUDA graphs do, and returns the same
    memory: a result holds until the next call.
    """
    static_x = x.clone()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        # Kernels are compiled and workspaces allocated here: neither may happen during a capture.
        for _ in range(_WARM_UP_CALLS):
            function(static_x)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = function(static_x)

    def replay(x: torch.Tensor) -> torch.Tensor:
        static_x.copy_(x)
        graph.replay()
        return out

    return replay
