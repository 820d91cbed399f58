"""decisions.toml (docs/file-formats.md) ↔ records of what people decided."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from results.data_folder import data_folder_of_environment
from results.errors import UnreadableFile
from results.files.atomic_write import locked_folder, replacing
from results.files.json_fields import Malformed, finite_number, is_object, list_at, optional_text_at, shown, text_at
from results.files.parameters import is_storable
from results.files.paths import read_regular_file
from results.files.records import (
    AcknowledgementRecord,
    ContinuationRecord,
    Decided,
    DecisionsRecord,
    TriageDecision,
    WithdrawalRecord,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

Version = TypeVar("Version", bound="Hashable")
DECISIONS_FORMAT = 1
DECISIONS_NAME = "decisions.toml"
DEFAULT_DECISIONS = Path("results/data/published", DECISIONS_NAME)
CONTINUATION, ACKNOWLEDGEMENT, WITHDRAWAL = "continuation", "acknowledgement", "withdrawal"
WHERE_DECISIONS = f"{DECISIONS_NAME} in FUSEBENCH_DATA's folder, else {DEFAULT_DECISIONS}"
_IS_DIGEST = re.compile(r"[0-9a-f]{12}")
_IS_HEADER = re.compile(r"\s*\[\[?\s*(?!acknowledgement\s*\.)")  # a table within an acknowledgement belongs to it
_IS_ACKNOWLEDGEMENT = re.compile(r"\s*\[\[\s*acknowledgement\s*\]\]")
HOW_DECIDED = ("note", "by", "at")
HOW_WITHDRAWN = tuple(f"withdrawn_{name}" for name in HOW_DECIDED)
_WHICH = ("benchmark", "metric", "machine", "environment", "parameters", "series")
_ACKNOWLEDGED = {"project", "commit", "decision", *_WHICH, *HOW_DECIDED}
_KINDS = {ContinuationRecord: CONTINUATION, AcknowledgementRecord: ACKNOWLEDGEMENT, WithdrawalRecord: WITHDRAWAL}
HEAD = "# What people decided about benchmarks and changes; see docs/file-formats.md. May be edited.\nformat = 1\n"


def decisions_file_of_environment() -> Path:
    """Return the file that decisions are written to where none is named: beside what they are about."""
    folder = data_folder_of_environment()
    return DEFAULT_DECISIONS if folder is None else folder / DECISIONS_NAME


def decisions_from_bytes(content: bytes, *, path: str) -> DecisionsRecord:
    """Parse every decision of the file, in its order. Raises: UnreadableFile."""
    try:
        fields = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # not TOML, or not UTF-8
        raise UnreadableFile(path, f"not TOML ({error})") from error
    written = fields.get("format")
    if written != DECISIONS_FORMAT or isinstance(written, bool):
        raise UnreadableFile(path, f"decisions format {shown(written)}; this fusebench reads {DECISIONS_FORMAT}")
    try:
        _refuse_unknown_keys(fields, "file", {"format", CONTINUATION, ACKNOWLEDGEMENT, WITHDRAWAL})
        record = DecisionsRecord(
            continuations=tuple(map(_continuation, _tables(fields, CONTINUATION))),
            acknowledgements=tuple(map(_acknowledgement, _tables(fields, ACKNOWLEDGEMENT))),
            withdrawals=tuple(map(_withdrawal, _tables(fields, WITHDRAWAL))),
        )
        _refuse_contradictions(record)
    except Malformed as error:
        raise UnreadableFile(path, str(error)) from error
    return record


def decision_as_toml(record: ContinuationRecord | AcknowledgementRecord | WithdrawalRecord) -> str:
    """Return the table that `decisions_from_bytes` reads as `record`."""
    import tomlkit  # noqa: PLC0415 - reading needs none of it

    table = tomlkit.table()
    for key, value in _fields_of(record).items():
        if isinstance(value, dict):
            inline = tomlkit.inline_table()
            inline.update(value)
            table.append(key, inline)
        elif isinstance(value, tuple):
            listed = tomlkit.array()
            listed.extend(value)
            table.append(key, listed.multiline(multiline=True))
        elif value is not None:
            table.append(key, value)
    tables = tomlkit.aot()
    tables.append(table)
    return tomlkit.dumps({_KINDS[type(record)]: tables})


def _fields_of(record: ContinuationRecord | AcknowledgementRecord | WithdrawalRecord) -> dict[str, object]:
    if isinstance(record, WithdrawalRecord):
        withdrawn = {f"withdrawn_{name}": value for name, value in vars(record.withdrawn).items()}
        return {**_fields_of(record.acknowledgement), **withdrawn}
    fields = {name: value for name, value in vars(record).items() if name != "decided"}
    if isinstance(record, AcknowledgementRecord):
        fields |= {"decision": record.decision.value, "parameters": dict(record.parameters) or None}
    return {**fields, **vars(record.decided)}


def append_decision(path: Path, record: ContinuationRecord | AcknowledgementRecord) -> None:
    """Add a decision to the file, created if missing; what was written by hand stays. Raises: OSError.

    Two writers at once do not mix. Nothing is written if the file could not be read then. Raises: UnreadableFile.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked_folder(path.parent):
        before = read_regular_file(path) if path.exists() else b""
        separator = b"\n" if not before or before.endswith(b"\n") else b"\n\n"
        addition = separator + decision_as_toml(record).encode()
        _replace(path, (before if before.strip() else HEAD.encode()) + addition)


def withdraw_acknowledgements(
    path: Path, is_meant: Callable[[AcknowledgementRecord], bool], *, withdrawn: Decided
) -> tuple[AcknowledgementRecord, ...]:
    """Turn the acknowledgements that are meant into withdrawals and return them; what was written by hand stays.

    `withdrawn`: who takes them back, and why. A file that does not exist has none. Raises: OSError, UnreadableFile.
    """
    if not path.exists():
        return ()
    with locked_folder(path.parent):
        content = read_regular_file(path)
        record = decisions_from_bytes(content, path=str(path))
        stored = record.acknowledgements
        removed = [i for i, one in enumerate(stored) if is_meant(one)]
        if removed:
            left = replace(record, acknowledgements=tuple(one for i, one in enumerate(stored) if i not in removed))
            rest = _without(content, removed, left=left)
            kept = (decision_as_toml(WithdrawalRecord(acknowledgement=stored[i], withdrawn=withdrawn)) for i in removed)
            end = b"" if rest.endswith(b"\n") else b"\n"
            _replace(path, b"\n".join([rest + end, *(one.encode() for one in kept)]))
    return tuple(stored[i] for i in removed)


def _without(content: bytes, removed: Sequence[int], *, left: DecisionsRecord) -> bytes:
    """Return the file without its tables `removed`; order and comments of the others stay.

    `left`: what the rest must read as. tomlkit keeps that too where the tables are written in another way, but of
    tables between others it moves some and loses comments.
    """
    text = content.decode("utf-8-sig")
    rest = "".join(_lines_without(text.splitlines(keepends=True), removed)).encode()
    with suppress(UnreadableFile):
        if decisions_from_bytes(rest, path="") == left:
            return rest
    import tomlkit  # noqa: PLC0415 - reading needs none of it

    document = tomlkit.parse(text)
    for i in reversed(removed):
        del document[ACKNOWLEDGEMENT][i]
    if not left.acknowledgements:
        del document[ACKNOWLEDGEMENT]
    return tomlkit.dumps(document).encode()


def _lines_without(lines: Sequence[str], removed: Sequence[int]) -> Iterator[str]:
    """Yield the lines but those of tables `removed`: from a header to what precedes the comments of the next one."""
    headers = [i for i, line in enumerate(lines) if _IS_HEADER.match(line)]
    tables = [i for i in headers if _IS_ACKNOWLEDGEMENT.match(lines[i])]
    dropped: set[int] = set()
    for start in (tables[i] for i in removed if i < len(tables)):
        end = min((i for i in headers if i > start), default=len(lines))
        while end > start + 1 and (not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#")):
            end -= 1
        while end < len(lines) and not lines[end].strip():
            end += 1
        dropped.update(range(start, end))
    return (line for i, line in enumerate(lines) if i not in dropped)


def _replace(path: Path, content: bytes) -> None:
    decisions_from_bytes(content, path=str(path))
    with replacing(path) as file:
        file.write(content)


def continuation_chain(newest: Version, older: Mapping[Version, Version]) -> list[Version]:
    """Return `newest` and what it continues, step by step; a circle is cut where it closes."""
    chain = [newest]
    while (before := older.get(chain[-1])) is not None and before not in chain:
        chain.append(before)
    return chain


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
    _refuse_unknown_keys(fields, ACKNOWLEDGEMENT, _ACKNOWLEDGED)
    decision = text_at(fields, "decision")
    if decision not in set(TriageDecision):
        raise Malformed(f"`decision` is {shown(decision)}, not one of {', '.join(TriageDecision)}")
    parameters = fields.get("parameters", {})
    if not is_object(parameters) or not all(isinstance(v, str | int | float | bool) for v in parameters.values()):
        raise Malformed(f"`parameters` is {shown(parameters)}, not a table of texts, numbers and booleans")
    for name, value in parameters.items():
        if isinstance(value, str):
            _word(parameters, name)
        elif not isinstance(value, bool):
            finite_number(value, named=name)
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
        series=_series(fields),
    )


def _series(fields: Mapping[str, object]) -> tuple[str, ...] | None:
    found = fields.get("series")
    if found is None:
        return None
    if not isinstance(found, list) or not all(isinstance(one, str) and _IS_DIGEST.fullmatch(one) for one in found):
        raise Malformed(
            f"`series` is {shown(found)}, not a list of digests as `fusebench store acknowledge` writes them"
        )
    return tuple(found)


def _withdrawal(fields: dict[str, object]) -> WithdrawalRecord:
    _refuse_unknown_keys(fields, WITHDRAWAL, {*_ACKNOWLEDGED, *HOW_WITHDRAWN})
    acknowledged = {name: value for name, value in fields.items() if name not in HOW_WITHDRAWN}
    return WithdrawalRecord(
        acknowledgement=_acknowledgement(acknowledged), withdrawn=_decided(fields, prefix="withdrawn_")
    )


def _decided(fields: Mapping[str, object], *, prefix: str = "") -> Decided:
    at = fields.get(f"{prefix}at")
    if at is not None and not isinstance(at, datetime):
        raise Malformed(f"`{prefix}at` is {shown(at)}, not a date and time")
    if at is not None:
        try:
            at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
        except OverflowError as error:
            raise Malformed(f"`{prefix}at` is {at}, in UTC outside the years 1 to 9999") from error
    return Decided(note=optional_text_at(fields, f"{prefix}note"), by=optional_text_at(fields, f"{prefix}by"), at=at)


def _word(fields: Mapping[str, object], key: str) -> str:
    """Return the text under `key`; an empty one is a version too."""
    found = fields.get(key)
    if not isinstance(found, str) or not is_storable(found):
        raise Malformed(f"`{key}` is {shown(found)}, not a text")
    return found


def _refuse_unknown_keys(fields: Mapping[str, object], kind: str, known: set[str]) -> None:
    if strange := sorted(fields.keys() - known):
        raise Malformed(f"`{strange[0]}` is no key of a {kind}; there are {', '.join(sorted(known))}")


def _refuse_contradictions(record: DecisionsRecord) -> None:
    """Raise Malformed if a version continues two others, or versions continue each other in a circle."""
    older: dict[tuple[object, ...], tuple[object, ...]] = {}
    for found in record.continuations:
        what = (found.project, found.benchmark, found.metric)
        new, old = (*what, found.new), (*what, found.old)
        if older.setdefault(new, old) != old:
            raise Malformed(f"version {shown(found.new)} of {found.benchmark} continues two others")
        if new in continuation_chain(old, older):
            raise Malformed(f"the versions of {found.benchmark} continue each other in a circle")
