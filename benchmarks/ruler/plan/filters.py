"""Filters of sweep points: the values to keep on each axis. Pure."""

from __future__ import annotations

import difflib
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import InvalidAxes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.ruler.plan.points import Contender, Group, Shape


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Values to keep of each axis, as they are written; an empty tuple keeps all."""

    operation: tuple[str, ...] = ()
    provider: tuple[str, ...] = ()
    dtype: tuple[str, ...] = ()
    pass_: tuple[str, ...] = ()
    batch: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    def set_ones(self) -> dict[str, tuple[str, ...]]:
        """Return the values by name, of the filters that are set."""
        return {name: values for name, values in asdict(self).items() if values}

    def __str__(self) -> str:
        return ", ".join(f"{name.rstrip('_')} {','.join(values)}" for name, values in self.set_ones().items())


_VALUES: Mapping[str, Callable[[Shape, Contender], str]] = {
    "operation": lambda shape, _: shape.operation,
    "provider": lambda _, contender: str(contender),
    "dtype": lambda shape, _: shape.dtype,
    "pass_": lambda shape, _: shape.pass_,
    "batch": lambda shape, _: str(shape.batch),
    "hidden": lambda shape, _: str(shape.hidden),
}


def selected(all_groups: Sequence[Group], filters: Filters) -> tuple[Group, ...]:
    """Return the groups with the contenders that pass all `filters`; groups left empty are dropped."""
    wanted = filters.set_ones()
    if not wanted:
        return tuple(all_groups)
    kept = []
    for group in all_groups:
        contenders = tuple(
            contender
            for contender in group.contenders
            if all(_VALUES[name](group.shape, contender) in values for name, values in wanted.items())
        )
        if contenders:
            kept.append(replace(group, contenders=contenders))
    return tuple(kept)


def refuse_unknown_values(all_groups: Sequence[Group], filters: Filters) -> None:
    """Refuse a value that no point of `all_groups` has: a misspelt name is not an empty sweep.

    Raises: InvalidAxes, naming the value, the known ones and the nearest.
    """
    for name, values in filters.set_ones().items():
        known = dict.fromkeys(_VALUES[name](group.shape, c) for group in all_groups for c in group.contenders)
        for value in sorted(set(values) - set(known)):
            nearest = difflib.get_close_matches(value, known, n=1)
            hint = f", did you mean {nearest[0]}?" if nearest else ";"
            raise InvalidAxes(f"no point has {name.rstrip('_')} {value!r}{hint} there are {', '.join(known)}")
