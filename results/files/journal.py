"""Journals (docs/file-formats.md) → records. A journal is read whole or refused whole."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import orjson

from results.errors import UnreadableFile
from results.files.fields import (
    Malformed,
    finite_number,
    integer_at,
    is_object,
    list_at,
    moment_at,
    number_at,
    object_at,
    optional_text_at,
    shown,
    text_at,
)
from results.files.parameters import is_storable
from results.files.records import (
    CommitRecord,
    JournalRecord,
    KernelRecord,
    OperatorRecord,
    PointRecord,
    ProfileRecord,
    RunRecord,
    Scalar,
    State,
    TimingRecord,
)
from results.files.stacks import is_folded

if TYPE_CHECKING:
    from collections.abc import Mapping

JOURNAL_FORMAT = 1


def journal_from_bytes(content: bytes, *, path: str, first_line: int = 1) -> JournalRecord:
    """The timings and profiles of a journal, in the order written; a torn last line is left out.

    `path` and `first_line` (the number of the first line of `content`) are for messages.
    Raises: UnreadableFile naming the line.
    """
    timings: list[TimingRecord] = []
    profiles: list[ProfileRecord] = []
    torn = False
    lines = content.split(b"\n")
    last = first_line + len(lines) - 1
    for number, line in enumerate(lines, start=first_line):
        if not line.strip():
            continue
        try:
            record = _record_from_line(line)
        except Malformed as error:
            if number == last:  # it has no newline: the machine stopped while writing it
                torn = True
                break
            raise UnreadableFile(path, f"line {number}: {error}") from error
        if isinstance(record, TimingRecord):
            timings.append(record)
        else:
            profiles.append(record)
    return JournalRecord(timings=tuple(timings), profiles=tuple(profiles), torn=torn)


def _record_from_line(line: bytes) -> TimingRecord | ProfileRecord:
    try:
        fields = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise Malformed(f"not JSON ({error})") from error
    if not is_object(fields):
        raise Malformed(f"{shown(fields)} is not an object")
    if fields.get("format") != JOURNAL_FORMAT:
        raise Malformed(f"journal format {shown(fields.get('format'))}; this fusebench reads {JOURNAL_FORMAT}")
    kind = fields.get("kind")
    if kind == "timing":
        return _timing(fields)
    if kind == "profile":
        return _profile(fields)
    raise Malformed(f"`kind` is {shown(kind)}, not timing or profile")


def _run(fields: Mapping[str, object]) -> RunRecord:
    return RunRecord(
        run_id=text_at(fields, "run_id"),
        project=text_at(fields, "project"),
        commit=CommitRecord(
            hash=text_at(fields, "commit"),
            date=moment_at(fields, "commit_date") if fields.get("commit_date") is not None else None,
            subject=optional_text_at(fields, "commit_subject"),
        ),
        machine=text_at(fields, "machine"),
        environment=text_at(fields, "environment"),
        started_at=moment_at(fields, "started_at"),
        ruler_version=text_at(fields, "ruler_version"),
    )


def _point(fields: Mapping[str, object]) -> PointRecord:
    return PointRecord(
        operation=text_at(fields, "operation"),
        provider=text_at(fields, "provider"),
        pass_=text_at(fields, "pass"),
        dtype=text_at(fields, "dtype"),
        activation=optional_text_at(fields, "activation"),
        batch=integer_at(fields, "batch"),
        hidden=integer_at(fields, "hidden"),
        dim=integer_at(fields, "dim"),
        cache=text_at(fields, "cache"),
        weights=text_at(fields, "weights"),
        threads=integer_at(fields, "threads"),
    )


def _conditions(fields: Mapping[str, object]) -> dict[str, Scalar]:
    conditions: dict[str, Scalar] = {}
    for key, found in object_at(fields, "conditions").items():
        if found is not None and not isinstance(found, str | int | float | bool):
            raise Malformed(f"condition `{key}` is {shown(found)}, not a scalar")
        conditions[key] = found
    return conditions


def _state(fields: Mapping[str, object]) -> State:
    found = text_at(fields, "state")
    try:
        return State(found)
    except ValueError as error:
        raise Malformed(f"`state` is {shown(found)}, not one of {', '.join(State)}") from error


def _optional_integer(fields: Mapping[str, object], key: str) -> int | None:
    return None if fields.get(key) is None else integer_at(fields, key)


def _timing(fields: Mapping[str, object]) -> TimingRecord:
    return TimingRecord(
        run=_run(object_at(fields, "run")),
        conditions=_conditions(fields),
        point=_point(object_at(fields, "point")),
        measured_at=moment_at(fields, "measured_at"),
        group=optional_text_at(fields, "group"),
        state=_state(fields),
        reason=optional_text_at(fields, "reason"),
        disturbed=optional_text_at(fields, "disturbed"),
        provider_detail=optional_text_at(fields, "provider_detail"),
        latency_s=number_at(fields, "latency_s"),
        latency_ci_low_s=number_at(fields, "latency_ci_low_s"),
        latency_ci_high_s=number_at(fields, "latency_ci_high_s"),
        samples_s=tuple(finite_number(s, named="samples_s") for s in list_at(fields, "samples_s")),
        calls_per_sample=_optional_integer(fields, "calls_per_sample"),
        stop=optional_text_at(fields, "stop"),
        speedup_vs_eager=number_at(fields, "speedup_vs_eager"),
        speedup_ci_low=number_at(fields, "speedup_ci_low"),
        speedup_ci_high=number_at(fields, "speedup_ci_high"),
        device_time_s=number_at(fields, "device_time_s"),
        host_time_s=number_at(fields, "host_time_s"),
        compile_time_s=number_at(fields, "compile_time_s"),
        compile_time_cold_s=number_at(fields, "compile_time_cold_s"),
        prepare_time_s=number_at(fields, "prepare_time_s"),
        error_rel=number_at(fields, "error_rel"),
        flop=number_at(fields, "flop"),
        min_bytes=number_at(fields, "min_bytes"),
        floor_s=number_at(fields, "floor_s"),
    )


def _profile(fields: Mapping[str, object]) -> ProfileRecord:
    return ProfileRecord(
        run=_run(object_at(fields, "run")),
        conditions=_conditions(fields),
        point=_point(object_at(fields, "point")),
        measured_at=moment_at(fields, "measured_at"),
        state=_state(fields),
        reason=optional_text_at(fields, "reason"),
        operator_count=number_at(fields, "operator_count"),
        operator_time_s=number_at(fields, "operator_time_s"),
        kernel_launches=number_at(fields, "kernel_launches"),
        device_time_s=number_at(fields, "device_time_s"),
        peak_memory_bytes=number_at(fields, "peak_memory_bytes"),
        bound=optional_text_at(fields, "bound"),
        expected_operator_count=number_at(fields, "expected_operator_count"),
        expected_kernel_launches=number_at(fields, "expected_kernel_launches"),
        unexpected=optional_text_at(fields, "unexpected"),
        operators=tuple(_operator(found) for found in list_at(fields, "operators")),
        kernels=tuple(_kernel(found) for found in list_at(fields, "kernels")),
        stacks=tuple(_stack(found) for found in list_at(fields, "stacks")),
        trace=_trace(fields),
    )


def _stack(found: object) -> str:
    if not isinstance(found, str) or not is_storable(found) or not is_folded(found):
        raise Malformed(f"a stack is {shown(found)}, not `frame;frame;frame NANOSECONDS`")
    return found


def _trace(fields: Mapping[str, object]) -> str | None:
    found = optional_text_at(fields, "trace")
    if found is not None and (PurePosixPath(found).is_absolute() or ".." in PurePosixPath(found).parts):
        raise Malformed(f"`trace` is {shown(found)}, not the name of a file under traces/")
    return found


def _operator(found: object) -> OperatorRecord:
    if not is_object(found):
        raise Malformed(f"an operator is {shown(found)}, not an object")
    return OperatorRecord(
        name=text_at(found, "name"),
        count=number_at(found, "count") or 0.0,
        self_time_s=number_at(found, "self_time_s"),
        total_time_s=number_at(found, "total_time_s"),
        is_compute=bool(found.get("is_compute")),
    )


def _kernel(found: object) -> KernelRecord:
    if not is_object(found):
        raise Malformed(f"a kernel is {shown(found)}, not an object")
    return KernelRecord(
        name=text_at(found, "name"),
        count=number_at(found, "count") or 0.0,
        device_time_s=number_at(found, "device_time_s"),
    )
