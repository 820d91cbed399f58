"""Rounds of a comparison: measured by the other tower, stored, and read back as rows of each side."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from results.commands.measuring import tower

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COMMAND = (sys.executable, "-m", "benchmarks.ruler.ab.command")
SHAPE = ("pass", "dtype", "activation", "batch", "hidden", "dim", "cache")
"""Parameters that tell shapes of an operation apart."""
_STANDARD_ERROR = 2


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of a comparison as it was measured: full hash of its commit, its run, its stack."""

    commit: str
    run: str
    stack: str


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """How measuring ended. sides: what was measured, None if it failed with `exit_code`.

    failed, why: commit that cannot be measured, by its full hash, and the reason; of another failure that alone.
    """

    exit_code: int
    sides: tuple[Side, ...] | None = None
    failed: str | None = None
    why: str = ""


def gone_on_with(asked: Sequence[str], sides: Sequence[Side]) -> list[str]:
    """Return the options that go on with a comparison that was begun: not anew, and of the same commits."""
    kept = [option for option in asked if option != "--again"]
    return kept if "--pinned" in kept else [*kept, "--pinned", f"{sides[0].commit},{sides[-1].commit}"]


def environment_of(place: tower.Place) -> Mapping[str, str]:
    """Return the environment of the measuring process."""
    return dict(os.environ) if place.data is None else {**os.environ, "FUSEBENCH_DATA": str(place.data)}


def measured_rounds(
    asked: Sequence[str], checkout: Path, place: tower.Place, *, rounds: tuple[int, int], only: Path | None = None
) -> Rounds:
    """Measure the rounds from the first to the last of `rounds` of what is asked for, and store them.

    What is measured meanwhile is printed on standard error: the answer on the other may be read by a program.
    """
    from results.commands.ingest import ingest  # noqa: PLC0415 - needs the store's modules

    first, last = rounds
    selection = place.folder / "selection.json"
    selection.unlink(missing_ok=True)
    options = ["--cwd", str(Path.cwd()), "--parent", str(os.getpid()), "--selection", str(selection)]
    options += ["--rounds", str(last), "--first-round", str(first), *(["--only", str(only)] if only else [])]
    code = tower.run_to_end([*COMMAND, *options, *asked], checkout, environment_of(place), stdout=_STANDARD_ERROR)
    told = json.loads(selection.read_text(encoding="utf-8")) if selection.exists() else {}
    if code:
        return Rounds(exit_code=code, failed=told.get("failed"), why=told.get("why", ""))
    with redirect_stdout(io.StringIO()):
        stored = tower.call_command(ingest, [*([str(place.data)] if place.data else []), *place.db_option])
    if stored:
        return Rounds(exit_code=stored)
    return Rounds(exit_code=0, sides=tuple(Side(**side) for side in told["sides"]))
