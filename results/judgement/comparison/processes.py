"""Values of series process by process, and what control series say of the machine in each. Pure.

A process is a visit, or a run of one; only between processes does a value vary as it will the next time.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping  # noqa: TC003 - fields of dataclasses
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_CONTROLS = 5
"""With fewer control series their median says nothing of the machine."""

ProcessKey = tuple[str, int, bool]


class Process(NamedTuple):
    """Value of a series in one process. run, visit: which process it was, the same for all series that it measured.

    A tuple, as a pair is, because there are thousands.

    log: natural logarithm of the value. within_sd: standard error of `log` by the samples alone, 0 if not known.
    is_head: side that it tells of; one run may have measured both. speed: of the machine meanwhile, 1 where it was at
    its best; None where that is not known, or something else disturbed the process.
    """

    run: str
    visit: int
    log: float
    within_sd: float = 0.0
    is_disturbed: bool = False
    is_head: bool = False
    speed: float | None = None

    @property
    def key(self) -> ProcessKey:
        """Name of the process."""
        return self.run, self.visit, self.is_head


class Pair(NamedTuple):
    """Series at base and head. testbed: where it was measured; surface: the family that it is judged in.

    control: name of the series of the same shape that no commit can change; is_control: whether this is such a one.
    """

    name: Hashable
    testbed: Hashable
    surface: Hashable
    base: tuple[Process, ...]
    head: tuple[Process, ...]
    control: Hashable | None = None
    is_control: bool = False


def counted(processes: Sequence[Process]) -> tuple[Process, ...]:
    """Return the processes that count: the undisturbed ones; all if there is none."""
    calm = tuple([one for one in processes if not one.is_disturbed])
    return calm or tuple(processes)


@dataclass(frozen=True, kw_only=True)
class ControlMove:
    """Change of the control series of a testbed from base to head: median log ratio, its spread, number of series.

    se: standard error over series and processes; None where a single number tells nothing of it.
    """

    log_ratio: float
    se: float | None
    n_series: int


@dataclass(frozen=True, kw_only=True)
class Controls:
    """What control series say of one testbed.

    levels: the machine's level in each process, as a log ratio to its mean over both commits; empty with too few
    series. deviations: of each control series, process by process, from its own mean over both commits.
    """

    levels: Mapping[ProcessKey, float]
    deviations: Mapping[Hashable, Mapping[ProcessKey, float]]
    move: ControlMove | None


def controls_of(pairs: Sequence[Pair]) -> Controls:
    """Return what the control series among `pairs`, all of one testbed, say."""
    deviations: dict[Hashable, dict[ProcessKey, float]] = {}
    ratios: list[float] = []
    for pair in pairs:
        if not (pair.is_control and pair.base and pair.head):
            continue
        at_base, at_head = (fmean(one.log for one in counted(side)) for side in (pair.base, pair.head))
        mean = (at_base + at_head) / 2
        deviations[pair.name] = {one.key: one.log - mean for one in (*counted(pair.base), *counted(pair.head))}
        ratios.append(at_head - at_base)
    of_process: dict[ProcessKey, list[float]] = {}
    for each in deviations.values():
        for key, deviation in each.items():
            of_process.setdefault(key, []).append(deviation)
    levels = {key: median(found) for key, found in of_process.items() if len(found) >= LEAST_CONTROLS}
    return Controls(levels=levels, deviations=deviations, move=_move(ratios, pairs, of_process))


def _move(
    ratios: Sequence[float], pairs: Sequence[Pair], of_process: Mapping[ProcessKey, Sequence[float]]
) -> ControlMove | None:
    if not ratios:
        return None
    at_base = {one.key for pair in pairs if pair.is_control for one in pair.base}
    sides: tuple[list[float], list[float]] = ([], [])
    for key, found in of_process.items():
        sides[key not in at_base].append(median(found))
    spread = [sum((one - fmean(side)) ** 2 for one in side) for side in sides]
    dof = sum(len(side) - 1 for side in sides)
    se = None
    if dof > 0:
        se = (sum(spread) / dof * sum(1 / len(side) for side in sides)) ** 0.5
    return ControlMove(log_ratio=median(ratios), se=se, n_series=len(ratios))
