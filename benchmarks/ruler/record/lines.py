"""Lines of a journal as values and as JSON; docs/file-formats.md describes the keys."""

from __future__ import annotations

import json
from collections.abc import Mapping  # noqa: TC003 - the codec reads the annotations
from dataclasses import dataclass
from typing import Any

from benchmarks.ruler.plan.points import Contender, Shape
from benchmarks.ruler.record.codec import json_from_value, value_from_json
from benchmarks.ruler.record.outcome import ProfileOutcome, TimingOutcome

FORMAT = 1
Scalar = str | int | float | bool | None


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

    def label(self) -> str:
        """Return a name for people: `run 0123456789ab of 2026-01-02 03:04 UTC`."""
        return f"run {self.run_id} of {self.started_at[:16].replace('T', ' ')} UTC"


@dataclass(frozen=True, kw_only=True)
class Head:
    """Keys that both kinds of lines share: run, conditions, point, time."""

    run: Run
    conditions: Mapping[str, Scalar]
    shape: Shape
    contender: Contender
    threads: int
    measured_at: str


@dataclass(frozen=True, kw_only=True)
class TimingLine:
    """Line of kind `timing`. floor_s is None where the machine has no ceiling for the dtype."""

    head: Head
    group: str
    outcome: TimingOutcome
    flop: int
    min_bytes: int
    floor_s: float | None


@dataclass(frozen=True, kw_only=True)
class ProfileLine:
    """Line of kind `profile`. bound is None where the floor or the counts it needs are not known.

    bound_detail: its evidence in words. overhead_s: the latency outside computing operators; None on CUDA.
    """

    head: Head
    outcome: ProfileOutcome
    bound: str | None
    bound_detail: str | None = None
    overhead_s: float | None = None


Line = TimingLine | ProfileLine


class OtherFormat(Exception):
    """Raised for a line of another journal format; the message names both formats."""


def text_from_line(line: Line) -> str:
    """Return `line` as one line of JSON. Raises: ValueError for a number that is not finite."""
    head = line.head
    shape = json_from_value(head.shape)
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
        "run": json_from_value(head.run),
        "conditions": dict(head.conditions),
        "point": point,
        "measured_at": head.measured_at,
    }
    outcome = json_from_value(line.outcome)
    if isinstance(line, TimingLine):
        values |= {"group": line.group, **outcome}
        values |= {"flop": line.flop, "min_bytes": line.min_bytes, "floor_s": line.floor_s}
    else:
        values |= {**outcome, "bound": line.bound, "bound_detail": line.bound_detail, "overhead_s": line.overhead_s}
    return json.dumps(values, allow_nan=False, separators=(",", ":")) + "\n"


def line_from_text(text: bytes) -> Line:
    """Parse one line of a journal.

    Raises: OtherFormat; ValueError, KeyError or TypeError if it is no line of a journal.
    """
    values = json.loads(text)
    if values["format"] != FORMAT:
        raise OtherFormat(f"journal format {values['format']!r}, this ruler writes {FORMAT}")
    point = values["point"]
    head = Head(
        run=value_from_json(Run, values["run"]),
        conditions=values["conditions"],
        shape=value_from_json(Shape, {**point, "pass_": point["pass"]}),
        contender=value_from_json(Contender, point),
        threads=point["threads"],
        measured_at=values["measured_at"],
    )
    if values["kind"] == "timing":
        return TimingLine(
            head=head,
            group=values["group"],
            outcome=value_from_json(TimingOutcome, values),
            flop=values["flop"],
            min_bytes=values["min_bytes"],
            floor_s=values["floor_s"],
        )
    return ProfileLine(
        head=head,
        outcome=value_from_json(ProfileOutcome, values),
        bound=values["bound"],
        bound_detail=values.get("bound_detail"),
        overhead_s=values.get("overhead_s"),
    )
