"""decisions.toml (docs/file-formats.md): what people declared, read into records and appended to."""

from __future__ import annotations

import fcntl
import json
import os
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import tomlkit

from results.errors import UnreadableFile
from results.files.json_fields import Malformed, is_object, list_at, optional_text_at, shown, text_at
from results.files.parameters import is_storable
from results.files.records import AcknowledgementRecord, ContinuationRecord, Decided, DecisionsRecord, TriageDecision

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping

Version = TypeVar("Version", bound="Hashable")
DECISIONS_FORMAT = 1
DECISIONS_NAME = "decisions.toml"
DEFAULT_DECISIONS = Path("results/data/published", DECISIONS_NAME)
CONTINUATION, ACKNOWLEDGEMENT = "continuation", "acknowledgement"
HOW_DECIDED = ("note", "by", "at")
HEAD = "# What people decided about benchmarks and changes; see docs/file-formats.md. May be edited.\nformat = 1\n"


def decisions_from_bytes(content: bytes, *, path: str) -> DecisionsRecord:
    """Every decision of the file, in its order. Raises: UnreadableFile."""
    try:
        fields = tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:  # not TOML, or not UTF-8
        raise UnreadableFile(path, f"not TOML ({error})") from error
    written = fields.get("format")
    if written != DECISIONS_FORMAT or isinstance(written, bool):
        raise UnreadableFile(path, f"decisions format {shown(written)}; this fusebench reads {DECISIONS_FORMAT}")
    try:
        _refuse_unknown_keys(fields, "file", {"format", CONTINUATION, ACKNOWLEDGEMENT})
        record = DecisionsRecord(
            continuations=tuple(map(_continuation, _tables(fields, CONTINUATION))),
            acknowledgements=tuple(map(_acknowledgement, _tables(fields, ACKNOWLEDGEMENT))),
        )
        _refuse_contradictions(record)
    except Malformed as error:
        raise UnreadableFile(path, str(error)) from error
    return record


def decision_as_toml(record: ContinuationRecord | AcknowledgementRecord) -> str:
    """The table that `decisions_from_bytes` reads as `record`."""
    if isinstance(record, ContinuationRecord):
        return _continuation_as_toml(record)
    return _acknowledgement_as_toml(record)


def _continuation_as_toml(record: ContinuationRecord) -> str:
    what = {"project": record.project, "benchmark": record.benchmark, "metric": record.metric}
    return _as_toml(CONTINUATION, {**what, "old": record.old, "new": record.new}, record.decided)


def _acknowledgement_as_toml(record: AcknowledgementRecord) -> str:
    return _as_toml(
        ACKNOWLEDGEMENT,
        {
            "project": record.project,
            "commit": record.commit,
            "decision": record.decision.value,
            "benchmark": record.benchmark,
            "metric": record.metric,
            "machine": record.machine,
            "environment": record.environment,
            "parameters": dict(record.parameters) or None,
        },
        record.decided,
    )


def append_decision(path: Path, text: str) -> None:
    """Add a table to the file, made if it is not there; two writers at once do not mix. Raises: OSError.

    Nothing is written if the file would not be readable then. Raises: UnreadableFile.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        before = file.read()
        addition = (b"" if before.strip() else HEAD.encode()) + b"\n" + text.encode()
        if before and not before.endswith(b"\n"):
            addition = b"\n" + addition
        decisions_from_bytes(before + addition, path=str(path))
        file.write(addition)
        file.flush()
        os.fsync(file.fileno())


def continuation_chain(newest: Version, older: Mapping[Version, Version]) -> list[Version]:
    """Return `newest` and what it continues, step by step; a circle is cut where it closes."""
    chain = [newest]
    while (before := older.get(chain[-1])) is not None and before not in chain:
        chain.append(before)
    return chain


def withdraw_acknowledgements(
    path: Path, is_meant: Callable[[AcknowledgementRecord], bool]
) -> tuple[AcknowledgementRecord, ...]:
    """Remove the acknowledgements that are meant from the file and return them; the rest stays as it was written.

    A file that does not exist has none. Raises: OSError, UnreadableFile.
    """
    try:
        file = path.open("r+b")
    except FileNotFoundError:
        return ()
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        content = file.read()
        stored = decisions_from_bytes(content, path=str(path)).acknowledgements
        removed = [i for i, record in enumerate(stored) if is_meant(record)]
        if not removed:
            return ()
        document = tomlkit.parse(content)
        tables = document[ACKNOWLEDGEMENT]
        for i in reversed(removed):
            del tables[i]
        if len(removed) == len(stored):
            del document[ACKNOWLEDGEMENT]
        written = tomlkit.dumps(document).encode()
        decisions_from_bytes(written, path=str(path))
        file.seek(0)
        file.write(written)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    return tuple(stored[i] for i in removed)


def _tables(fields: Mapping[str, object], key: str) -> Iterator[dict[str, object]]:
    for found in list_at(fields, key):
        if not is_object(found):
            raise Malformed(f"a {key} is {shown(found)}, not a table [[{key}]]")
        yield found


def _continuation(fields: dict[str, object]) -> ContinuationRecord:
    keys = {"project", "benchmark", "metric", "old", "new", *HOW_DECIDED}
    _refuse_unknown_keys(fields, CONTINUATION, keys)
    old, new = _word(fields, "old"), _word(fields, "new")
    if old == new:
        raise Malformed(f"version {shown(old)} of {_word(fields, 'benchmark')} cannot continue itself")
    return ContinuationRecord(
        project=text_at(fields, "project"),
        benchmark=text_at(fields, "benchmark"),
        metric=optional_text_at(fields, "metric"),
        old=old,
        new=new,
        decided=_decided(fields),
    )


def _acknowledgement(fields: dict[str, object]) -> AcknowledgementRecord:
    which = {"benchmark", "metric", "machine", "environment", "parameters"}
    _refuse_unknown_keys(fields, ACKNOWLEDGEMENT, {"project", "commit", "decision", *which, *HOW_DECIDED})
    decision = text_at(fields, "decision")
    if decision not in set(TriageDecision):
        raise Malformed(f"`decision` is {shown(decision)}, not one of {', '.join(TriageDecision)}")
    parameters = fields.get("parameters", {})
    if not is_object(parameters) or not all(isinstance(v, str | int | float | bool) for v in parameters.values()):
        raise Malformed(f"`parameters` is {shown(parameters)}, not a table of texts, numbers and booleans")
    return AcknowledgementRecord(
        project=text_at(fields, "project"),
        commit=text_at(fields, "commit"),
        decision=TriageDecision(decision),
        benchmark=optional_text_at(fields, "benchmark"),
        metric=optional_text_at(fields, "metric"),
        machine=optional_text_at(fields, "machine"),
        environment=optional_text_at(fields, "environment"),
        parameters={name: value for name, value in parameters.items() if isinstance(value, str | int | float)},
        decided=_decided(fields),
    )


def _decided(fields: Mapping[str, object]) -> Decided:
    at = fields.get("at")
    if at is not None and not isinstance(at, datetime):
        raise Malformed(f"`at` is {shown(at)}, not a date and time")
    if at is not None:
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return Decided(note=optional_text_at(fields, "note"), by=optional_text_at(fields, "by"), at=at)


def _word(fields: Mapping[str, object], key: str) -> str:
    """The text under `key`; an empty one is a version too."""
    found = fields.get(key)
    if not isinstance(found, str) or not is_storable(found):
        raise Malformed(f"`{key}` is {shown(found)}, not a text")
    return found


def _refuse_unknown_keys(fields: Mapping[str, object], kind: str, known: set[str]) -> None:
    if strange := sorted(fields.keys() - known):
        raise Malformed(f"`{strange[0]}` is no key of a {kind}; there are {', '.join(sorted(known))}")


def _refuse_contradictions(record: DecisionsRecord) -> None:
    """A version goes on with one other only, and never in a circle."""
    older: dict[tuple[object, ...], tuple[object, ...]] = {}
    for found in record.continuations:
        what = (found.project, found.benchmark, found.metric)
        new, old = (*what, found.new), (*what, found.old)
        if older.setdefault(new, old) != old:
            raise Malformed(f"version {shown(found.new)} of {found.benchmark} continues two others")
        if new in continuation_chain(old, older):
            raise Malformed(f"the versions of {found.benchmark} continue each other in a circle")


def _as_toml(kind: str, fields: Mapping[str, object], decided: Decided) -> str:
    lines = [f"[[{kind}]]"]
    for key, value in {**fields, "note": decided.note, "by": decided.by, "at": decided.at}.items():
        if value is not None:
            lines.append(f"{key} = {_toml_value(value)}")
    return "\n".join(lines) + "\n"


def _toml_value(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml_value(key)} = {_toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A JSON string is a TOML string, but for DEL, which TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)
