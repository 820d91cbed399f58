"""Shell commands that measure sweep points again, by an axes file of exactly their shape; pure.

No axes of a name hold every shape, and the threads are part of what was measured.
"""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.rows import PointRow

AXES_FILE = "point.toml"
BASELINE = "eager"
_HASH = 12
_SHORT_HASH = 10


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
    contenders = dict.fromkeys((BASELINE, point.contender))
    base, head = (revision[:_HASH] for revision in revisions)
    written = shlex.join(["printf", r"%s\n", *_axes([point], contenders=list(contenders))])
    compared = shlex.join(["fusebench", "ab", base, head, "--axes", AXES_FILE])
    return f"{written} > {AXES_FILE} && FUSEBENCH_THREADS={point.threads} {compared}"


def compare_surface_again(revisions: tuple[str, str], *, operation: str, contender: str, pass_: object) -> str:
    """Return one line that measures a contender's points of an operation, and eager's, at both commits.

    They are those of the axes that it has by default: which others were measured is more than a line holds.
    """
    base, head = (revision[:_HASH] for revision in revisions)
    of_pass = () if pass_ is None else ("--pass", str(pass_))
    return shlex.join(["fusebench", "ab", base, head, "--operation", operation, "--provider", contender, *of_pass])


def axes_of(rows: Sequence[PointRow]) -> tuple[str, ...]:
    """Return the lines of the axes file that holds the shape of `rows` and all their contenders."""
    return _axes(rows, contenders=list(dict.fromkeys(one.contender for one in rows)))


def _axes(rows: Sequence[PointRow], *, contenders: list[str]) -> tuple[str, ...]:
    row = rows[0]
    axes = {
        "operations": [row.operation], "providers": contenders,
        "passes": [row.pass_], "dtypes.cpu": [row.dtype], "dtypes.cuda": [row.dtype],
        f"activations.{row.operation}": [row.activation or "none"],
        "batches": [row.batch], "hiddens": [row.hidden], "dims": [row.dim], "caches": [row.cache],
    }  # fmt: skip
    # A list of JSON is one of TOML, too; what names hold stays on its line and in its quotes.
    return tuple(f"{name} = {json.dumps(values)}" for name, values in axes.items())
