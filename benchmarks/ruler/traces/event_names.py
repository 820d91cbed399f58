"""Classify and normalise event names of torch.profiler. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

_PASSING = re.compile(r"^graph_\d+_|(?<=Torch-Compiled Region): \d+/\d+|(?<=CompiledFxGraph) \w{20,}")
# What autograd's engine wraps around every node of the backward graph.
_AUTOGRAD_NODE = "autograd::engine::"
# What dynamo wraps around the compilation of a frame.
_COMPILATION = "_compile.compile_inner"


@lru_cache(maxsize=4096)
def stable_name(name: str) -> str:
    """Strip per-process numbers and per-shape hashes from `name`, so that the same work keeps the same name."""
    return _PASSING.sub("", name)


def is_step(name: str) -> bool:
    """Return whether `name` is the profiler's own range around a step, which is not an operator."""
    return name.startswith("ProfilerStep")


def is_autograd_node(name: str) -> bool:
    """Return whether `name` is a node of the backward graph, which only calls operators."""
    return name.startswith(_AUTOGRAD_NODE)


def is_compilation(name: str) -> bool:
    """Return whether `name` is the compilation of a function by torch.compile."""
    return name.startswith(_COMPILATION)
