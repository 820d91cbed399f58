"""Contents of containers that code reads: copied, to be compared at each call."""

from __future__ import annotations

import math
from collections import deque
from types import MethodType
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

ATOMS = (bool, int, float, complex, str, bytes, type(None))
CONTAINERS = (list, tuple, set, frozenset, dict, deque)
MOST_VALUES = 100
"""Of a container that is compared at each call."""
DEEPEST = 6


def content_of(value: Any) -> Any:
    """Return a copy of a container whose changes count, with those in it; None of anything else."""
    if not isinstance(value, CONTAINERS) or len(value) > MOST_VALUES:
        return None
    leaves = None if is_deep(value) else _leaves(value)
    return _copied(value) if leaves is not None and len(leaves) <= MOST_VALUES else None


def is_same(value: Any, before: Any, content: Any) -> bool:
    """Return whether a value is what it was."""
    if content is not None:
        return type(value) is type(before) and _is_same_content(value, content)
    if value is before:
        return True
    if type(value) is MethodType:  # made anew each time
        return type(before) is MethodType and _bound(value) == _bound(before)
    # Zero has a sign, which equality does not see.
    is_equal = type(value) is type(before) and isinstance(value, (*ATOMS, torch.device)) and value == before
    if not is_equal or value:
        return is_equal
    if isinstance(value, float):  # torch.compile with dynamic shapes has no repr of one
        return math.copysign(1.0, value) == math.copysign(1.0, before)
    return repr(value) == repr(before)


def _is_same_content(value: Any, content: Any) -> bool:
    """Compare containers item by item, in their order, with their types."""
    if not isinstance(content, CONTAINERS):
        return is_same(value, content, None)
    if not isinstance(value, CONTAINERS) or len(value) != len(content):
        return False
    if isinstance(value, set | frozenset):
        return bool(value == content) and {*map(type, value)} == {*map(type, content)}
    is_dict = isinstance(value, dict)
    if is_dict != isinstance(content, dict) or not all(map(_is_same_content, value, content)):
        return False
    return not is_dict or all(map(_is_same_content, items_of(value), items_of(content)))


def _bound(method: MethodType) -> tuple[int, int]:
    return id(method.__func__), id(method.__self__)


def is_deep(value: Any) -> bool:
    """Return whether containers lie in one another deeper than anybody compares, as where one holds itself."""
    level = [value]
    for _ in range(DEEPEST):
        inner = {id(each): each for holder in level for each in items_of(holder) if isinstance(each, CONTAINERS)}
        level = [each for each in inner.values() if len(each) <= MOST_VALUES]
        if not level:
            return False
    return True


def module_of(kind: Any) -> str:
    """Return the name of the module that a class or function says it is of; none where it says something else."""
    name = getattr(kind, "__module__", None)
    return name if isinstance(name, str) else ""


def items_of(container: Any) -> Iterable[Any]:
    """Return a container's items: a dictionary's values."""
    values: Iterable[Any] = container.values() if isinstance(container, dict) else container
    return values


def _leaves(value: Any) -> list[Any] | None:
    """Return what containers in one another hold; None where something cannot be compared."""
    if not isinstance(value, CONTAINERS):
        return None if isinstance(value, torch.Tensor) or module_of(type(value)) == "numpy" else [value]
    found: list[Any] = []
    for each in items_of(value):
        leaves = _leaves(each) if len(found) <= MOST_VALUES else None
        if leaves is None:
            return None
        found += leaves
    return found


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copied(each) for name, each in value.items()}
    for kind in (list, tuple, deque):
        if isinstance(value, kind):
            return kind(map(_copied, value))
    return {*value} if isinstance(value, set) else value
