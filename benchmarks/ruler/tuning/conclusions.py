"""Derive winners and entries of the tuned table from measured cells. Pure."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.ruler.tuning.cells import Cell, Measured, Question, TuningConditions
from fused_mlp.tuned import Entry, Policy, Section, Way
from fused_mlp.vocabulary import Implementation, NumberFormat, Operation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MeasuredCell = tuple[Cell, "Sequence[Measured]"]
TIE = 1.02
"""Two medians nearer than this are a tie whatever their intervals: it is less than one run differs from the next."""
GOOD_ENOUGH = 1.01
"""A number of a policy within this of the best is as good; then the one nearest to the general value is taken."""


def winner(measured: Sequence[Measured]) -> Measured | None:
    """Return the best candidate of a cell, the default first on a tie; None if no output was right.

    Of a way: the least median. Those whose intervals touch the fastest's, or that are within TIE of it, are as fast
    for a caller who waits; among them the least device time wins, if it is known and beyond TIE of the default's, else
    the default if it is among them. Of a policy: see GOOD_ENOUGH.
    """
    timed = [one for one in measured if one.seconds is not None]
    if not timed:
        return None
    fastest = min(timed, key=lambda one: one.seconds or math.inf)
    if fastest.value is not None:
        return fastest
    best_s, reach_s = fastest.seconds or 0.0, fastest.high_s or fastest.seconds or 0.0
    ties = [one for one in timed if (one.low_s or 0.0) <= reach_s or (one.seconds or 0.0) <= TIE * best_s]
    default = measured[0] if measured[0] in ties else fastest
    on_device = [one for one in ties if one.device_s is not None]
    if not on_device:
        return default
    least = min(on_device, key=lambda one: one.device_s or math.inf)
    is_clear = default.device_s is None or (least.device_s or 0.0) * TIE < default.device_s
    return least if is_clear else default


def policy_value(measured: Sequence[Measured], question: Question) -> int | None:
    """Return the policy value within GOOD_ENOUGH of the best score that is nearest to the general value."""
    scored = [(one.seconds, one.value) for one in measured if one.seconds is not None and one.value is not None]
    if not scored:
        return None
    least = min(score for score, _ in scored)
    general = getattr(Policy(), question)
    good = [value for score, value in scored if score <= GOOD_ENOUGH * least]
    return min(good, key=lambda value: abs(math.log((value + 1) / (general + 1))))


def policies_from(cells: Iterable[MeasuredCell]) -> dict[tuple[Operation, NumberFormat], Policy]:
    """Build policies from the measured policy cells; unmeasured numbers keep their value."""
    policies: dict[tuple[Operation, NumberFormat], Policy] = {}
    for cell, measured in cells:
        if cell.question is Question.WAY:
            continue
        value = policy_value(measured, cell.question)
        if value is not None:
            place = cell.operation, cell.number_format
            policies[place] = replace(policies.get(place, cell.others or Policy()), **{str(cell.question): value})
    return policies


def ways_from(cells: Iterable[MeasuredCell]) -> dict[Section, tuple[Way, ...]]:
    """Build ways from the measured shape cells: the fastest, and the best tiles of other implementations.

    Another implementation is listed where tiles that were tried beat its own rule's, for whoever names it. Where the
    fastest has not every activation (cuBLASLt's epilogue), the fastest that has is one too, behind it.
    """
    ways = defaultdict(list)
    for cell, measured in cells:
        best = winner(measured) if cell.question is Question.WAY else None
        if best is None:
            continue
        section = Section(operation=cell.operation, number_format=cell.number_format, weights=cell.weights)
        rows, dim, hidden = cell.shapes[0]
        others = [one for one in measured if one.implementation != Implementation.CUBLASLT]
        fastest = [best] if best in others else [best, winner(others)]
        for implementation in dict.fromkeys((best.implementation, *(one.implementation for one in measured))):
            own = winner([one for one in measured if one.implementation == implementation])
            chosen = next((one for one in fastest if one and one.implementation == implementation), own)
            if chosen is not None and (chosen in fastest or chosen.tiles):
                ways[section].append(
                    Way(
                        rows=rows,
                        dim=dim,
                        hidden=hidden,
                        implementation=Implementation(str(implementation)),
                        tiles=chosen.tiles,
                        is_fastest=chosen in fastest,
                    )
                )
    return {section: tuple(some) for section, some in ways.items()}


def merged(known: Entry | None, circumstances: TuningConditions, cells: Sequence[MeasuredCell]) -> Entry:
    """Return the device's entry with new measurements replacing old ones of the same shapes and policies."""
    policies = {**(known.policies if known else {}), **policies_from(cells)}
    ways = dict(known.ways) if known else {}
    for section, found in ways_from(cells).items():
        shapes = {(way.rows, way.dim, way.hidden) for way in found}
        kept = [way for way in ways.get(section, ()) if (way.rows, way.dim, way.hidden) not in shapes]
        ways[section] = tuple(
            sorted([*kept, *found], key=lambda way: (way.dim, way.hidden, way.rows, not way.is_fastest))
        )
    return Entry(
        device=circumstances.device,
        n_threads=circumstances.n_threads,
        torch=circumstances.torch,
        triton=circumstances.triton,
        policies=policies,
        ways=ways,
    )
