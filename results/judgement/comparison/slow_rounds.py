"""Rounds in which the machine was slower than at its best: which of them count. Pure.

A round is the n-th process of base and that of head, measured one after the other, in turns first.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence

    from results.judgement.comparison.processes import Pair, Process

    _Halves = tuple[Process, Process]

ALIKE = 0.92
"""Speed of the machine in the slower half of a round, over that in the faster one, below which they were not alike."""

_LEAST_DOF = 10
"""Degrees of freedom with fewer of which the spread of undisturbed rounds is not known."""


class _Rounds(NamedTuple):
    """Log ratios of a pair, its control's taken out, in the rounds that count anyhow, and with those that may."""

    calm: tuple[float, ...]
    every: tuple[float, ...]


def with_slow_rounds(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs, those rounds as undisturbed in which the machine was merely slow and that tell something.

    They do where both halves were slow alike. Where they were not, they do if a control was measured in the same
    processes, either half was the slower one in some round, and the testbed's pairs are known better with such rounds
    than without, by the spread of all of them (docs/adr/0022).
    """
    alike = [with_alike_rounds(pair) for pair in pairs]
    controls = {pair.name: pair for pair in alike if pair.is_control}
    shared = [_shared_rounds(pair, controls.get(pair.name if pair.is_control else pair.control)) for pair in alike]
    of_testbed: dict[Hashable, list[_Rounds]] = {}
    for pair, places in zip(alike, shared, strict=True):
        if pair.control in controls:
            of_testbed.setdefault(pair.testbed, []).append(_rounds(pair, controls[pair.control], places))
    helped = {testbed for testbed, each in of_testbed.items() if _is_better_known(each)}
    return [
        _undisturbed(pair, places) if pair.testbed in helped else pair
        for pair, places in zip(alike, shared, strict=True)
    ]


def with_alike_rounds(pair: Pair) -> Pair:
    """Return the pair with those rounds as undisturbed in which the machine was merely slow, in both halves alike.

    What slows both takes no part in their difference; that the machine was at its best is asked of what is compared
    with other hours only.
    """
    places = []
    for i, halves in enumerate(zip(pair.base, pair.head, strict=False)):
        speeds = [one.speed for one in halves if one.speed is not None]
        if len(speeds) == len(halves) and min(speeds) >= ALIKE * max(speeds):
            places.append(i)
    return _undisturbed(pair, places)


def _shared_rounds(pair: Pair, control: Pair | None) -> list[int]:
    """Return the rounds that may count as what slowed them met the control as well; none where one side was unlucky."""
    places, is_base_slower, is_head_slower = [], False, False
    for i, halves, theirs in _with_control(pair, control):
        if not all(_is_merely_slow(one) for one in (*halves, *theirs)):
            continue
        places.append(i)
        base, head = (1.0 if one.speed is None else one.speed for one in halves)
        is_base_slower |= base < ALIKE * head
        is_head_slower |= head < ALIKE * base
    return places if is_base_slower and is_head_slower else []


def _with_control(pair: Pair, control: Pair | None) -> Iterator[tuple[int, _Halves, _Halves]]:
    """Yield each round that the control was measured in as well: its number, and the halves of both."""
    of_control = {} if control is None else {one.key: one for one in (*control.base, *control.head)}
    for i, (base, head) in enumerate(zip(pair.base, pair.head, strict=False)):
        if base.key in of_control and head.key in of_control:
            yield i, (base, head), (of_control[base.key], of_control[head.key])


def _rounds(pair: Pair, control: Pair, places: Sequence[int]) -> _Rounds:
    calm, every = [], []
    for i, (base, head), (before, after) in _with_control(pair, control):
        ratio = head.log - base.log - (after.log - before.log)
        is_calm = not any(one.is_disturbed for one in (base, head, before, after))
        if is_calm:
            calm.append(ratio)
        if is_calm or i in places:
            every.append(ratio)
    return _Rounds(tuple(calm), tuple(every))


def _is_better_known(pairs: Collection[_Rounds]) -> bool:
    return _information([one.every for one in pairs]) > _information([one.calm for one in pairs])


def _information(pairs: Collection[Sequence[float]]) -> float:
    """Return what the repeated ones tell of their means, as the inverse of a variance, by the spread of all of them."""
    repeated = [each for each in pairs if len(each) > 1]
    dof = sum(len(each) - 1 for each in repeated)
    if dof < _LEAST_DOF:
        return 0.0
    squares = math.fsum((one - fmean(each)) ** 2 for each in repeated for one in each)
    return math.inf if squares == 0 else sum(map(len, repeated)) * dof / squares


def _undisturbed(pair: Pair, places: Iterable[int]) -> Pair:
    base, head = list(pair.base), list(pair.head)
    for i in places:
        base[i], head[i] = (one._replace(is_disturbed=False) for one in (base[i], head[i]))
    return pair._replace(base=tuple(base), head=tuple(head))


def _is_merely_slow(one: Process) -> bool:
    """Return whether nothing but slowness, if that, disturbed a process."""
    return one.speed is not None or not one.is_disturbed
