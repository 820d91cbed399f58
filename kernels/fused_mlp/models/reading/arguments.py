"""Arguments of a graph's steps: which a graph has as they are, and which it would have as others."""

from __future__ import annotations

import dataclasses
import enum
import sys
from typing import Any

import torch
from torch import fx

from fused_mlp.models.reading.contents import ATOMS, module_of

_AS_THEY_ARE = (list, tuple, dict, slice, range, torch.Size, fx.immutable_collections.immutable_list)
_DROPPED = (*ATOMS, list, tuple, dict, set, frozenset)


def why_not_written(value: Any) -> str | None:
    """Return what a graph would make another of, in words: it has values as text, and containers as their items."""
    kind = type(value)
    is_known = kind in (*ATOMS, *_AS_THEY_ARE) or isinstance(value, enum.Enum | fx.Node)
    if is_known or (isinstance(value, tuple) and hasattr(value, "_fields")):
        return None
    if isinstance(value, _DROPPED) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        return f"hands on a {kind.__name__}, of which a graph makes another"
    return None


def plain(value: Any) -> Any:
    """Return a number of NumPy's that is a float of Python as the latter: its text needs a name that a graph lacks."""
    numpy: Any = sys.modules.get("numpy")
    return float(value) if numpy is not None and type(value) is numpy.float64 else value


def is_kept_by_others(op: str, target: Any) -> bool:
    """Return whether a step's arguments may be kept, or written into: all but torch's functions may do so."""
    if op == "call_function":
        return module_of(target).partition(".")[0] not in ("torch", "_operator", "builtins", "math", "")
    return op in ("call_module", "output")


def holds_constants(arguments: Any) -> bool:
    """Return whether a list or dictionary of nothing computed is among the arguments: a graph makes it anew."""
    if isinstance(arguments, fx.Node):
        return False
    items = arguments.values() if isinstance(arguments, dict) else arguments
    if isinstance(arguments, list | dict):
        found: list[fx.Node] = []
        fx.node.map_arg(arguments, found.append)
        if not found:
            return True
    return isinstance(arguments, list | tuple | dict) and any(map(holds_constants, items))
