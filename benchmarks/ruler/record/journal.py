"""The record: one durable line per measurement, appended by one sweep at a time. docs/file-formats.md is its law."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.errors import JournalError
from benchmarks.ruler.record.outcome import KernelRow, OperatorRow, ProfileOutcome, State, TimingOutcome
from benchmarks.ruler.worker.protocol import contender_from_json, shape_from_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from benchmarks.ruler.measure.conditions import Scalar
    from benchmarks.ruler.plan.axes import Contender, Shape

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Run:
    """One sweep of one commit on one machine; all its lines share it. Times are ISO 8601 in UTC."""

    run_id: str
    started_at: str
    project: str
    commit: str
    commit_date: str | None
    commit_subject: str | None
    machine: str
    environment: str
    ruler_version: str


@dataclass(frozen=True, kw_only=True)
class Head:
    """What both kinds of lines say first: when, by which run, of which point, under which conditions."""

    run: Run
    conditions: Mapping[str, Scalar]
    shape: Shape
    contender: Contender
    threads: int
    measured_at: str


@dataclass(frozen=True, kw_only=True)
class TimingLine:
    """A line of kind `timing`. floor_s is None where the machine has no ceiling for the dtype."""

    head: Head
    group: str
    outcome: TimingOutcome
    flop: int
    min_bytes: int
    floor_s: float | None


@dataclass(frozen=True, kw_only=True)
class ProfileLine:
    """A line of kind `profile`. bound is None where the floor or the counts it needs are not known."""

    head: Head
    outcome: ProfileOutcome
    bound: str | None


Line = TimingLine | ProfileLine


def now() -> str:
    """This moment as runs and lines carry it: ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def journal_path(data_dir: Path, run: Run) -> Path:
    """Where the lines of `run` are kept."""
    return data_dir / "journal" / run.machine / f"{run.commit[:8]}-{run.environment}.jsonl"


def append(path: Path, lines: Sequence[Line]) -> None:
    """Append `lines` in one write and wait until they are on the disk.

    A torn last line, left when the machine lost power, is cut off first: it was never a measurement.
    Raises: JournalError.
    """
    if not lines:
        return
    content = "".join(_encoded(line) for line in lines).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+") as file:
            cut_torn_tail(file.fileno())
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise JournalError(f"{path}: cannot be written ({error}); make room or set FUSEBENCH_DATA") from error


def read(path: Path) -> list[Line]:
    """Every line of a journal, oldest first; none if there is no such file; a torn last line is ignored.

    Raises: JournalError, naming the line, if one in the middle cannot be read or is of another format.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise JournalError(f"{path}: cannot be read ({error})") from error
    texts = content.split(b"\n")
    return [_decoded(text, path=path, number=number) for number, text in enumerate(texts[:-1], start=1)]


def cut_torn_tail(fd: int) -> None:
    """Shorten an open file to its last whole line."""
    end = os.fstat(fd).st_size
    position = end
    while position > 0:
        start = max(0, position - 65536)
        found = os.pread(fd, position - start, start).rfind(b"\n")
        if found >= 0:
            position = start + found + 1
            break
        position = start
    if position < end:
        os.ftruncate(fd, position)


def _encoded(line: Line) -> str:
    head = line.head
    shape = asdict(head.shape)
    point = {
        "operation": shape["operation"],
        "provider": head.contender.provider,
        "pass": shape["pass_"],
        **{key: shape[key] for key in ("dtype", "activation", "batch", "hidden", "dim", "cache")},
        "weights": head.contender.weights,
        "threads": head.threads,
    }
    values: dict[str, Any] = {
        "format": FORMAT,
        "kind": "timing" if isinstance(line, TimingLine) else "profile",
        "run": asdict(head.run),
        "conditions": dict(head.conditions),
        "point": point,
        "measured_at": head.measured_at,
    }
    outcome = asdict(line.outcome)
    if isinstance(line, TimingLine):
        values |= {"group": line.group, **outcome}
        values |= {"flop": line.flop, "min_bytes": line.min_bytes, "floor_s": line.floor_s}
    else:
        values |= {**outcome, "bound": line.bound}
    return json.dumps(values, allow_nan=False, separators=(",", ":")) + "\n"


def _decoded(text: bytes, *, path: Path, number: int) -> Line:
    try:
        values = json.loads(text)
        if values["format"] != FORMAT:
            raise JournalError(
                f"{path}:{number}: journal format {values['format']!r}, this ruler writes {FORMAT}; "
                "measure with the newer checkout, or set FUSEBENCH_DATA to another folder"
            )
        return _line(values)
    except (ValueError, KeyError, TypeError) as error:
        raise JournalError(
            f"{path}:{number}: not a line of a journal ({error!r}); move the file away to measure anew"
        ) from error


def _line(values: Mapping[str, Any]) -> Line:
    point = values["point"]
    head = Head(
        run=Run(**values["run"]),
        conditions=values["conditions"],
        shape=shape_from_json({**point, "pass_": point["pass"]}),
        contender=contender_from_json(point),
        threads=point["threads"],
        measured_at=values["measured_at"],
    )
    if values["kind"] == "timing":
        return TimingLine(
            head=head,
            group=values["group"],
            outcome=timing_outcome_from_json(values),
            flop=values["flop"],
            min_bytes=values["min_bytes"],
            floor_s=values["floor_s"],
        )
    return ProfileLine(head=head, outcome=profile_outcome_from_json(values), bound=values["bound"])


def timing_outcome_from_json(values: Mapping[str, Any]) -> TimingOutcome:
    """The TimingOutcome whose fields `values` holds, among others."""
    known = {field.name: values[field.name] for field in fields(TimingOutcome) if field.name in values}
    return TimingOutcome(**{**known, "state": State(known["state"]), "samples_s": tuple(known.get("samples_s") or ())})


def profile_outcome_from_json(values: Mapping[str, Any]) -> ProfileOutcome:
    """The ProfileOutcome whose fields `values` holds, among others."""
    known = {field.name: values[field.name] for field in fields(ProfileOutcome) if field.name in values}
    return ProfileOutcome(
        **{
            **known,
            "state": State(known["state"]),
            "operators": tuple(OperatorRow(**row) for row in known.get("operators") or ()),
            "kernels": tuple(KernelRow(**row) for row in known.get("kernels") or ()),
            "stacks": tuple(known.get("stacks") or ()),
        }
    )
