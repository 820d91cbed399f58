"""State of a bisection: one file below the data folder, a durable line for everything that was learnt."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from results.judgement.bisection.search import Answer, Trial
from results.judgement.bisection.target import Followed, Kind, Target
from results.rows import ParameterValue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from results.judgement.bisection.share import Share

FOLDER, CURRENT = "bisection", "current.jsonl"
_FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Commit:
    """Commit of the range, as git describes it. parent: full hash of its first parent."""

    hash: str
    parent: str | None
    author_date: str
    subject: str
    is_merge: bool

    @property
    def label(self) -> str:
        """Short hash and subject."""
        return f"{self.hash[:8]} {self.subject}"


@dataclass(frozen=True, kw_only=True)
class Range:
    """Range of commits: the ends, and the candidates, oldest first, whose kernels differ from their predecessors'.

    is_good_beside: whether the good end is of a branch that the first commit after it merged.
    """

    good: Commit
    bad: Commit
    candidates: tuple[Commit, ...]
    n_equal: int
    n_merges: int
    is_good_beside: bool = False

    def at(self, place: int) -> Commit:
        """Return the commit at a place of the search: 0 is the good end, the last candidate stands for the bad one."""
        return self.good if place == 0 else self.candidates[place - 1]


@dataclass(frozen=True, kw_only=True)
class Made:
    """Trial that was made. share: what it said; n_made: rounds, disturbed ones included; against: full hash."""

    trial: Trial
    why: str
    change: float | None
    interval: tuple[float, float] | None
    n_rounds: int
    n_made: int
    against: str


@dataclass(frozen=True, kw_only=True)
class State:
    """What a bisection knows. begun: ISO 8601; looks: rounds that were stored, by comparison; target: None until known.

    is_equal: whether the ends do not differ, and `why` not.
    """

    path: Path
    id: str
    begun: str
    question: Mapping[str, Any]
    range: Range
    looks: Mapping[str, int]
    target: Target | None = None
    made: tuple[Made, ...] = ()
    is_equal: bool = False
    why: str = ""
    is_finished: bool = False

    def add(self, kind: str, **fields: object) -> State:
        """Append a line, on the disk when this returns; return the state with it. Raises: OSError."""
        _append(self.path, {"kind": kind, **fields})
        return read_state(self.path)

    def add_trial(self, trial: Trial, share: Share, *, n_made: int, against: str) -> State:
        """Append what a trial said."""
        return self.add(
            "trial",
            place=trial.place,
            against_place=trial.against,
            is_confirmation=trial.is_confirmation,
            answer=trial.answer,
            why=share.why,
            change=share.change,
            interval=share.interval,
            n_rounds=share.n_rounds,
            n_made=n_made,
            against=against,
        )


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Let one bisection at a time into the block. Raises: click.UsageError if another one is there."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise click.UsageError(
                f"{folder}: another bisection is running there; wait for it, or name another folder by FUSEBENCH_DATA"
            ) from None
        yield
    finally:
        os.close(descriptor)


def opened_state(folder: Path, plan: Mapping[str, Any], *, again: bool) -> State:
    """Return the state of the bisection that `plan` asks for: the one in `folder`, or a new one.

    A finished one of another question is kept aside, and so is any with `again`. Raises: click.UsageError if an
    unfinished one asks another question, or the file cannot be read.
    """
    path = folder / CURRENT
    if path.exists() and not again:
        state = read_state(path)
        if state.question == plan["question"]:
            return state
        if not state.is_finished:
            ends = f"{state.question['good'][:8]} {state.question['bad'][:8]}"
            raise click.UsageError(
                f"{path}: another bisection is unfinished there ({ends}, {state.question['filters'] or 'all points'}, "
                f"{state.question['environment']}, begun {state.begun}, {len(state.made)} trials made). End it with "
                "its own command, or begin this one with --again, which keeps the other aside"
            )
    if path.exists():
        # What it is called tells when it was begun, where that can be read.
        path.rename(folder / f"{_id_of(path)}.jsonl")
    begun = datetime.now(UTC)
    name = f"{begun:%Y%m%dT%H%M%S}-{secrets.token_hex(2)}"
    header = {"kind": "question", "format": _FORMAT, "id": name, "begun": f"{begun:%Y-%m-%d %H:%M:%S} UTC"}
    _append(path, {**header, "question": plan["question"], "range": plan["range"]})
    return read_state(path)


def read_state(path: Path) -> State:
    """Read a state file; a torn last line, of a power cut, counts as not written.

    Raises: click.UsageError, naming the file, if it is none.
    """
    lines = path.read_bytes().split(b"\n")[:-1]
    try:
        return _state(path, [json.loads(line) for line in lines])
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise click.UsageError(
            f"{path}: no state of a bisection that this version can read ({error!r}); --again keeps it aside"
        ) from None


def _state(path: Path, lines: list[dict[str, Any]]) -> State:
    header, *others = lines
    if header["kind"] != "question" or header["format"] != _FORMAT:
        raise ValueError(f"format {header.get('format')}")
    of_kind: dict[str, list[dict[str, Any]]] = {}
    for line in others:
        of_kind.setdefault(line["kind"], []).append(line)
    equal = of_kind.get("equal", [])
    return State(
        path=path,
        id=header["id"],
        begun=header["begun"],
        question=header["question"],
        range=_range(header["range"]),
        looks={line["name"]: line["rounds"] for line in of_kind.get("look", [])},
        target=_target(of_kind["target"][-1]) if "target" in of_kind else None,
        made=tuple(_made(line) for line in of_kind.get("trial", [])),
        is_equal=bool(equal),
        why=equal[-1]["why"] if equal else "",
        is_finished="end" in of_kind or bool(equal),
    )


def target_as_json(target: Target) -> dict[str, object]:
    """Return a target as it is kept."""
    series = [
        {
            "benchmark": one.benchmark,
            "metric": one.metric,
            "parameters": {each.name: each.value for each in one.parameters},
            "change": one.change,
        }
        for one in target.series
    ]
    return {"of": target.kind, "is_worse": target.is_worse, "n_compared": target.n_compared, "series": series}


def _target(line: Mapping[str, Any]) -> Target:
    series = tuple(
        Followed(
            benchmark=one["benchmark"],
            metric=one["metric"],
            parameters=tuple(ParameterValue(name=name, value=value) for name, value in one["parameters"].items()),
            change=one["change"],
        )
        for one in line["series"]
    )
    kind = Kind(line["of"])
    return Target(kind=kind, is_worse=line["is_worse"], series=series, n_compared=line["n_compared"])


def _range(found: Mapping[str, Any]) -> Range:
    return Range(
        good=Commit(**found["good"]),
        bad=Commit(**found["bad"]),
        candidates=tuple(Commit(**each) for each in found["candidates"]),
        n_equal=found["n_equal"],
        n_merges=found["n_merges"],
        is_good_beside=found.get("is_good_beside", False),
    )


def _made(line: Mapping[str, Any]) -> Made:
    trial = Trial(
        place=line["place"],
        answer=Answer(line["answer"]),
        against=line["against_place"],
        is_confirmation=line["is_confirmation"],
    )
    interval = line["interval"] and (line["interval"][0], line["interval"][1])
    kept = {name: line[name] for name in ("why", "change", "n_rounds", "n_made", "against")}
    return Made(trial=trial, interval=interval, **kept)


def _id_of(path: Path) -> str:
    try:
        return read_state(path).id
    except click.UsageError:
        return f"unreadable-{secrets.token_hex(4)}"


def _append(path: Path, line: Mapping[str, object]) -> None:
    with path.open("ab+") as file:
        content = path.read_bytes()
        if content and not content.endswith(b"\n"):
            file.truncate(content.rfind(b"\n") + 1)
        file.write(json.dumps(line).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
