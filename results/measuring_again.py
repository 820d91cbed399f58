"""Shell commands that measure sweep points again, by an axes file of exactly their shape; pure.

No axes of a name hold every shape, and the threads are part of what was measured.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, NamedTuple

from results.metrics import SWEEP_METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from results.rows import ParameterValue, PointRow

    Value = str | int | float | bool | None

AXES_FILE = "point.toml"
BASELINE = "eager"
_HASH = 12
_SHORT_HASH = 10
_DIM_OF_HIDDEN = 4
_AXES = {
    "pass": ("passes",),
    "dtype": ("dtypes.cpu", "dtypes.cuda"),
    "activation": ("activations.{operation}",),
    "batch": ("batches",),
    "hidden": ("hiddens",),
    "dim": ("dims",),
    "cache": ("caches",),
}
"""Keys of an axes file by the parameter that they list."""


class OtherVersion(NamedTuple):
    """How what does not compare was measured at a head, the command that helps, and what that does, in words."""

    how: str
    command: str
    effect: str

    @property
    def remedy(self) -> str:
        """Command and effect as a clause."""
        return f"{self.command} {self.effect}"


def other_version(metric: str, revisions: tuple[str, str]) -> OtherVersion:
    """Return the words for a point of which a head measured this metric by another ruler or version than its base."""
    if metric in SWEEP_METRICS:
        return OtherVersion("by another ruler", side_by_side(revisions), "measures both by one")
    return OtherVersion("in another version", "fusebench store join", "says of one that it is the same")


def side_by_side(revisions: tuple[str, str]) -> str:
    """Return the command that measures two commits in the same minutes, which is by one ruler."""
    return " ".join(["fusebench", "ab", *(revision[:_SHORT_HASH] for revision in revisions)])


def run_again(rows: Sequence[PointRow], *, is_traced: bool = False) -> tuple[str, ...]:
    """Return the lines that check out the commit of one shape's points and measure them anew.

    is_traced: whether the trace of the call's profile is to be kept.
    """
    row = rows[0]
    traces = f"FUSEBENCH_TRACES={row.batch} " if is_traced else ""
    return (
        shlex.join(["git", "checkout", row.commit[:_SHORT_HASH]]),
        f"cat > {AXES_FILE} <<'END'",
        *axes_of(rows),
        "END",
        f"{traces}FUSEBENCH_THREADS={row.threads} fusebench run --axes {AXES_FILE} --again",
    )


def compare_again(revisions: tuple[str, str], point: PointRow) -> str:
    """Return one line that measures `point`, and eager beside it, at both commits in the same minutes."""
    axes = _axes([point], contenders=_beside_baseline(point.contender))
    return _compared(revisions, axes, contender=point.contender, threads=point.threads)


def compare_surface_again(
    revisions: tuple[str, str], *, operation: str, contender: str, points: Iterable[Sequence[ParameterValue]]
) -> str:
    """Return one line that measures a contender's `points` of an operation, and eager's, at both commits.

    An axes file lists each parameter by itself: points that it adds to those of a sweep with gaps are measured, too.
    """
    values: dict[str, dict[Value, None]] = {}
    hiddens: set[tuple[Value, Value]] = set()
    for point in points:
        of_point: dict[str, Value] = {one.name: one.value for one in point}
        hiddens.add((of_point.get("dim"), of_point.get("hidden")))
        for name, value in of_point.items():
            values.setdefault(name, {})[value] = None
    if all(isinstance(hidden, int) and dim == max(1, hidden // _DIM_OF_HIDDEN) for dim, hidden in hiddens):
        values.pop("dim", None)  # as it is by default; each with each hidden would be more
    axes = _lines(operation, _beside_baseline(contender), {name: list(each) for name, each in values.items()})
    threads = list(values.get("threads", ()))
    return _compared(revisions, axes, contender=contender, threads=threads[0] if len(threads) == 1 else None)


def axes_of(rows: Sequence[PointRow]) -> tuple[str, ...]:
    """Return the lines of the axes file that holds the shape of `rows` and all their contenders."""
    return _axes(rows, contenders=list(dict.fromkeys(one.contender for one in rows)))


def _beside_baseline(contender: str) -> list[str]:
    return list(dict.fromkeys((BASELINE, contender)))


def _compared(revisions: tuple[str, str], axes: Sequence[str], *, contender: str, threads: Value) -> str:
    base, head = (revision[:_HASH] for revision in revisions)
    written = shlex.join(["printf", r"%s\n", *axes])
    # Unasked `ab` takes ours alone, whatever the file lists.
    compared = shlex.join(["fusebench", "ab", base, head, "--axes", AXES_FILE, "--provider", contender])
    of_threads = "" if threads is None else f"FUSEBENCH_THREADS={threads} "
    return f"{written} > {AXES_FILE} && {of_threads}{compared}"


def _axes(rows: Sequence[PointRow], *, contenders: list[str]) -> tuple[str, ...]:
    row = rows[0]
    values: dict[str, list[Value]] = {
        "pass": [row.pass_], "dtype": [row.dtype], "activation": [row.activation], "batch": [row.batch],
        "hidden": [row.hidden], "dim": [row.dim], "cache": [row.cache],
    }  # fmt: skip
    return _lines(row.operation, contenders, values)


def _lines(operation: str, contenders: Sequence[str], values: Mapping[str, Sequence[Value]]) -> tuple[str, ...]:
    axes: dict[str, Sequence[Value]] = {"operations": [operation], "providers": contenders}
    for name, keys in _AXES.items():
        for key in keys if name in values else ():
            axes[key.format(operation=operation)] = ["none" if value is None else value for value in values[name]]
    # A list of JSON is one of TOML, too; what names hold stays on its line and in its quotes.
    return tuple(f"{name} = {json.dumps(listed)}" for name, listed in axes.items())
