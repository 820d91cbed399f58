"""asv's result files (version 2) → records, read as asv reads them; its other files are in asv_descriptions."""

from __future__ import annotations

import math
from pathlib import PurePath
from typing import TYPE_CHECKING, cast

from results.errors import UnreadableFile
from results.files.json_fields import (
    NOT_FINITE,
    Malformed,
    as_text,
    is_object,
    moment_from_milliseconds,
    number_at,
    object_at,
    optional_text_at,
    parsed_json,
    shown,
    text_at,
)
from results.files.records import AsvResultRecord, AsvRunRecord, CommitRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

RESULT_VERSION = 2
# Combinations of parameters for which a file has no result, in all: a few axes written in a few bytes make any number
# of them, and each becomes a row. SciPy's files have 3,406 at most.
MOST_WITHOUT_RESULT = 100_000
LARGEST_COUNT = 2**31 - 1  # what an INTEGER column of any database holds
SIMPLE_COLUMNS = frozenset({"result", "params", "version", "started_at", "duration", "samples", "profile"})


def asv_run_from_bytes(content: bytes, *, path: str, machine: str | None) -> AsvRunRecord:
    """Parse an asv result file. `machine`: the name in machine.json beside it; None takes the file's own.

    Raises: UnreadableFile.
    """
    fields = parsed_json(content, path=path)
    try:
        _check_version(fields)
        return _run(fields, machine=machine)
    except Malformed as error:
        raise UnreadableFile(path, str(error)) from error


def _check_version(fields: Mapping[str, object]) -> None:
    version = fields.get("version")
    if "commit_hash" not in fields or "results" not in fields:
        raise Malformed("is no asv result file (it has no commit_hash or no results)")
    if version == 1:
        raise Malformed("asv result format 1; run `asv update` once and ingest again")
    if version != RESULT_VERSION:
        raise Malformed(f"asv result format {shown(version)}; this fusebench reads format {RESULT_VERSION}")


def _run(fields: Mapping[str, object], *, machine: str | None) -> AsvRunRecord:
    columns = fields.get("result_columns")
    if not isinstance(columns, list) or not all(isinstance(c, str) for c in columns):
        raise Malformed(f"`result_columns` is {shown(columns)}, not a list of texts")
    for column in columns:
        if column not in SIMPLE_COLUMNS and not column.startswith("stats_"):
            raise Malformed(f"unknown column {shown(column)}")
    named_machine = text_at(object_at(fields, "params"), "machine")
    if machine is not None and named_machine != machine:
        raise Malformed(f"is of machine {named_machine!r}, but machine.json beside it says {machine!r}")
    env_vars = _texts(fields, "env_vars")
    rows = {name: row for name, row in object_at(fields, "results").items() if row != []}
    _refuse_explosion(columns, rows)
    results = tuple(_result(name, columns, row) for name, row in rows.items())
    return AsvRunRecord(
        uid=asv_run_uid(named_machine, text_at(fields, "commit_hash"), optional_text_at(fields, "env_name") or ""),
        commit=CommitRecord(
            hash=text_at(fields, "commit_hash"),
            date=moment_from_milliseconds(fields.get("date"), named="date"),
            subject=None,
        ),
        machine=named_machine,
        environment=environment_name(
            optional_text_at(fields, "env_name") or "",
            python=optional_text_at(fields, "python") or "",
            env_vars=env_vars,
        ),
        python=optional_text_at(fields, "python") or "",
        requirements=_texts(fields, "requirements"),
        env_vars=env_vars,
        started_at=max((r.started_at for r in results if r.started_at is not None), default=None),
        results=results,
    )


def _refuse_explosion(columns: list[str], rows: Mapping[str, object]) -> None:
    """Raise Malformed if far more combinations of parameters than results would be stored; before any is made."""
    n_without = 0
    for name, row in rows.items():
        cells = dict(zip(columns, row, strict=False)) if isinstance(row, list) else {}
        parameters, found = cells.get("params") or [], cells.get("result") or []
        if not isinstance(parameters, list) or not isinstance(found, list):
            continue  # refused for that by its own check
        n_combinations = math.prod(len(axis) for axis in parameters if isinstance(axis, list))
        n_without += max(0, n_combinations - len(found))
        if n_without > MOST_WITHOUT_RESULT:
            raise Malformed(
                f"{name}: with its parameters more than {MOST_WITHOUT_RESULT:,} combinations have no result, the most "
                "that a file may leave without one"
            )


def asv_run_uid(machine: str, commit: str, env_name: str) -> str:
    """Return the identity of a run, wherever its file lies: no two of its parts can be mistaken for others."""
    return "/".join(("asv", *(part.replace("%", "%25").replace("/", "%2F") for part in (machine, commit)), env_name))


def environment_name(env_name: str, *, python: str, env_vars: Mapping[str, str]) -> str:
    """Return asv's name of an environment without the path that asv puts into those it did not make itself."""
    if env_name and not env_name.startswith("existing-"):
        return env_name
    version = PurePath(python).name.removeprefix("python") or "unknown"
    return "-".join([f"existing-py{version}", *(f"{key}{value}" for key, value in sorted(env_vars.items()))])


def _texts(fields: Mapping[str, object], key: str) -> dict[str, str]:
    found = fields.get(key)
    if found is None:
        return {}
    if not is_object(found):
        raise Malformed(f"`{key}` is {shown(found)}, not an object")
    return {name: as_text(value, named=f"{key}: {name}") for name, value in found.items()}


def _result(name: str, columns: list[str], row: object) -> AsvResultRecord:
    if not isinstance(row, list) or len(row) > len(columns):
        raise Malformed(f"{name}: the row is {shown(row)}, not a list of at most {len(columns)} columns")
    cells: dict[str, object] = dict(zip(columns, row, strict=False))  # asv drops trailing nulls
    parameters = _parameters(name, cells.get("params"))
    length = math.prod(map(len, parameters))
    values, reasons = _values(name, cells.get("result"), length)
    version = cells.get("version")
    return AsvResultRecord(
        name=name,
        version=None if version is None else as_text(version, named=f"{name}: version"),
        parameters=parameters,
        values=values,
        ci_low=_numbers(name, cells, "stats_ci_99_a", length),
        ci_high=_numbers(name, cells, "stats_ci_99_b", length),
        q25=_numbers(name, cells, "stats_q_25", length),
        q75=_numbers(name, cells, "stats_q_75", length),
        calls_per_sample=_counts(name, cells, "stats_number", length),
        sample_count=_counts(name, cells, "stats_repeat", length),
        samples=_samples(name, cells.get("samples"), length),
        started_at=moment_from_milliseconds(cells.get("started_at"), named=f"{name}: started_at"),
        duration_s=number_at(cells, "duration"),
        reasons=reasons,
    )


def _parameters(name: str, found: object) -> tuple[tuple[str, ...], ...]:
    if found is None:
        return ()
    if not isinstance(found, list):
        raise Malformed(f"{name}: `params` is {shown(found)}, not a list")
    for axis in found:
        if not isinstance(axis, list) or set(map(type, axis)) - {str}:
            raise Malformed(f"{name}: a parameter is {shown(axis)}, not a list of reprs")
    return tuple(map(tuple, found))


def _values(name: str, found: object, length: int) -> tuple[list[float | None], dict[int, str]]:
    if found is None:
        return [None] * length, {}
    column = _column(name, "result", found, length)
    plain = _plain(column)
    if plain is not None:
        return plain, {}
    reasons: dict[int, str] = {}
    values: list[float | None] = []
    for position, value in enumerate(column):
        try:
            values.append(_number(value))
        except (ValueError, OverflowError):
            reasons[position] = f"not a number: {shown(value)}"
            values.append(None)
    return values, reasons


def _numbers(name: str, cells: Mapping[str, object], key: str, length: int) -> list[float | None] | None:
    found = cells.get(key)
    if found is None:
        return None
    column = _column(name, key, found, length)
    plain = _plain(column)
    if plain is not None:
        return plain
    try:
        return [_number(value) for value in column]
    except (ValueError, OverflowError) as error:
        raise Malformed(f"{name}: `{key}` holds something that is not a number") from error


def _plain(column: list[object]) -> list[float | None] | None:
    """Return `column` as floats if its types are those of an intact file, a cheap test; else None."""
    kinds = set(map(type, column))
    if kinds <= {float, type(None)}:
        return cast("list[float | None]", column)
    if kinds <= {float, type(None), str}:
        try:
            return [NOT_FINITE[cell] if type(cell) is str else cast("float | None", cell) for cell in column]
        except KeyError:
            return None
    return None


def _counts(name: str, cells: Mapping[str, object], key: str, length: int) -> list[int | None] | None:
    found = cells.get(key)
    if found is None:
        return None
    column = _column(name, key, found, length)
    # Of a whole column there are few different ones.
    different = set(column) if set(map(type, column)) <= {int, type(None)} else column
    for count in different:
        if count is not None and (type(count) is not int or not 0 <= count <= LARGEST_COUNT):
            raise Malformed(f"{name}: `{key}` holds {shown(count)}, not a count")
    return cast("list[int | None]", column)


def _samples(name: str, found: object, length: int) -> list[list[float] | None] | None:
    if found is None:
        return None
    column = _column(name, "samples", found, length)
    try:
        return [
            None if samples is None else [_sample(s) for s in cast("Iterable[object]", samples)] for samples in column
        ]
    except (TypeError, ValueError, OverflowError) as error:
        raise Malformed(f"{name}: `samples` holds something that is not a list of numbers") from error


def _column(name: str, key: str, found: object, length: int) -> list[object]:
    if not isinstance(found, list):
        raise Malformed(f"{name}: `{key}` is {shown(found)}, not a list")
    if len(found) != length:
        # asv pairs them up as far as both go.
        return (found + [None] * (length - len(found)))[:length]
    return found


def _number(found: object) -> float | None:
    """Convert `found` to a float; the text "NaN" and its like are what `parsed_json` makes of the bare words."""
    if found is None or type(found) is float:
        return found
    if isinstance(found, int):
        return float(found)
    if isinstance(found, str) and found in NOT_FINITE:
        return NOT_FINITE[found]
    raise ValueError(found)


def _sample(found: object) -> float:
    number = _number(found)
    if number is None:
        raise ValueError(found)
    return number
