"""What the names of torch.profiler's events say; pure."""

from __future__ import annotations

import re
from functools import lru_cache

_PASSING = re.compile(r"^graph_\d+_|(?<=Torch-Compiled Region): \d+/\d+|(?<=CompiledFxGraph) \w{20,}")
# What autograd's engine wraps around every node of the backward graph.
_AUTOGRAD_NODE = "autograd::engine::"


@lru_cache(maxsize=4096)
def stable_name(name: str) -> str:
    """`name` without what torch numbers per process or hashes per shape, so that the same work has the same name."""
    return _PASSING.sub("", name)


def is_step(name: str) -> bool:
    """Whether it is the profiler's own range around one call, which is no operator and holds what lies between them."""
    return name.startswith("ProfilerStep")


def is_autograd_node(name: str) -> bool:
    """Whether it is a node of the backward graph, which computes nothing itself: what it calls does."""
    return name.startswith(_AUTOGRAD_NODE)
