"""Which points of the axes are measured: a comma-separated list of values per FUSEBENCH_ variable."""

from __future__ import annotations

import difflib
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import InvalidAxes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.ruler.plan.axes import Contender, Group, Shape

FILTERS: Mapping[str, Callable[[Shape, Contender], str]] = {
    "OPERATION": lambda shape, _: shape.operation,
    "PROVIDER": lambda _, contender: str(contender),
    "DTYPE": lambda shape, _: shape.dtype,
    "PASS": lambda shape, _: shape.pass_,
    "BATCH": lambda shape, _: str(shape.batch),
    "HIDDEN": lambda shape, _: str(shape.hidden),
}


def selected(all_groups: Sequence[Group], environ: Mapping[str, str] = os.environ) -> tuple[Group, ...]:
    """The groups that FUSEBENCH_OPERATION, _PROVIDER, _DTYPE, _PASS, _BATCH and _HIDDEN leave over.

    Each variable is a comma-separated list of values; an unset or empty one keeps everything.
    """
    wanted = _wanted(environ)
    kept = []
    for group in all_groups:
        contenders = tuple(
            contender
            for contender in group.contenders
            if all(FILTERS[name](group.shape, contender) in values for name, values in wanted.items())
        )
        if contenders:
            kept.append(replace(group, contenders=contenders))
    return tuple(kept)


def refuse_unknown_values(all_groups: Sequence[Group], environ: Mapping[str, str] = os.environ) -> None:
    """Refuse a filter's value that no point of `all_groups` has, so that a slip of the pen is not measured as nothing.

    Raises: InvalidAxes, naming the value, those there are and the nearest.
    """
    for name, values in _wanted(environ).items():
        known = dict.fromkeys(FILTERS[name](group.shape, c) for group in all_groups for c in group.contenders)
        for value in sorted(values - set(known)):
            nearest = difflib.get_close_matches(value, known, n=1)
            meant = f", did you mean {nearest[0]}?" if nearest else ";"
            raise InvalidAxes(f"no point has {name.lower()} {value!r}{meant} there are {', '.join(known)}")


def _wanted(environ: Mapping[str, str]) -> dict[str, set[str]]:
    """The values each filter lets through, by the filter's name; a filter that is not set is left out."""
    return {
        name: {value.strip() for value in environ[f"FUSEBENCH_{name}"].split(",")}
        for name in FILTERS
        if environ.get(f"FUSEBENCH_{name}")
    }
