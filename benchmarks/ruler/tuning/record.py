"""Tuning record: one durable line per finished cell, so that an interrupted tuning resumes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.errors import JournalError
from benchmarks.ruler.record.durable import append_durably
from benchmarks.ruler.tuning.cells import Cell, Measured, Question, TuningConditions
from fused_mlp.tuned import Policy
from fused_mlp.vocabulary import NumberFormat, Operation, Weights

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Line:
    """Line of the record: a finished cell, or a candidate that crashed the process.

    key: see tuning.cells.key_of. measured: every candidate, the default first; empty if `crashed` names one.
    disturbed: what else the machine did meanwhile, in words. measured_at: ISO 8601 in UTC.
    """

    key: str
    cell: Cell
    circumstances: TuningConditions
    measured: tuple[Measured, ...]
    measured_at: str
    disturbed: str | None = None
    crashed: str | None = None
    reason: str | None = None


def append_line(path: Path, line: Line) -> None:
    """Append `line` and fsync; a torn last line is truncated first. Raises: JournalError."""
    content = json.dumps({"format": FORMAT, **asdict(line)}, allow_nan=False, separators=(",", ":")) + "\n"
    try:
        append_durably(path, content)
    except OSError as error:
        raise JournalError(f"{path}: cannot be written ({error}); make room, or name another with --results") from error


def read_lines(path: Path) -> tuple[Line, ...]:
    """Read all lines, oldest first; empty if the file is missing; a torn last line is ignored.

    Raises: JournalError, naming the line, if one cannot be read or is of another format.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise JournalError(f"{path}: cannot be read ({error})") from error
    return tuple(_line(text, path, number) for number, text in enumerate(content.split(b"\n")[:-1], start=1))


def finished_cells(lines: Sequence[Line]) -> dict[str, Line]:
    """Map each key to its latest finished line."""
    return {line.key: line for line in lines if line.crashed is None}


def crashes(lines: Sequence[Line], key: str) -> dict[str, str]:
    """Map the candidates of a cell that crashed a process to the reason."""
    return {line.crashed: line.reason or "" for line in lines if line.key == key and line.crashed is not None}


def _line(text: bytes, path: Path, number: int) -> Line:
    try:
        return _line_from_json(json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise JournalError(
            f"{path}:{number}: not a line of tuning ({error!r}); move the file away to measure anew"
        ) from error


def _line_from_json(values: dict[str, Any]) -> Line:
    if values.pop("format") != FORMAT:
        raise ValueError(f"this ruler writes format {FORMAT}")
    made = {
        "cell": _cell(values["cell"]),
        "circumstances": TuningConditions(**values["circumstances"]),
        "measured": tuple(Measured(**one) for one in values["measured"]),
    }
    return Line(**{**values, **made})


def _cell(values: dict[str, Any]) -> Cell:
    return Cell(
        question=Question(values["question"]),
        operation=Operation(values["operation"]),
        number_format=NumberFormat(values["number_format"]),
        weights=Weights(values["weights"]),
        shapes=tuple((rows, dim, hidden) for rows, dim, hidden in values["shapes"]),
        others=Policy(**values["others"]) if values["others"] else None,
    )
