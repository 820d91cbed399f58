"""Parse a machine's measured ceilings (docs/file-formats.md) into records."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from results.errors import UnreadableFile
from results.files.json_fields import Malformed, finite_number, is_object, parsed_json, shown
from results.files.records import CeilingRecord, Text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CEILINGS_FORMATS = (1, 2)
# What they were measured with: no quantity, though some of it is numbers; but for what says that they may be too low.
_CONDITIONS = "conditions"
_TOLD_CONDITIONS = ("slow_rounds", "machine_speed")


class _Ceilings(msgspec.Struct):
    machine: Text
    environments: dict[str, dict[str, Any]]


def ceilings_from_bytes(content: bytes, *, path: str) -> tuple[CeilingRecord, ...]:
    """Parse the ceilings of every environment of a machine. Raises: UnreadableFile."""
    fields = parsed_json(content, path=path)
    written = fields.get("format")
    if written not in CEILINGS_FORMATS:
        raise UnreadableFile(path, f"ceilings format {shown(written)}; this fusebench reads 1 and 2")
    try:
        found = msgspec.convert(fields, _Ceilings)
        return tuple(
            CeilingRecord(
                machine=found.machine,
                environment=name,
                measured_at=_moment(quantities.get("measured_at")),
                quantities=dict(_quantities(quantities)),
            )
            for name, quantities in found.environments.items()
        )
    except (Malformed, ValueError, OverflowError) as error:
        raise UnreadableFile(path, str(error).replace("`$.", "`")) from error


def _moment(found: object) -> datetime | None:
    moment = msgspec.convert(found, datetime | None)
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _quantities(fields: Mapping[str, object], *, prefix: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers in `fields`, one level deep, as `quantity` or `quantity.kind`."""
    for key, found in fields.items():
        if key == _CONDITIONS:
            told = {name: found[name] for name in _TOLD_CONDITIONS if name in found} if is_object(found) else {}
            yield from _quantities(told, prefix=f"{key}.")
            continue
        if is_object(found) and not prefix:
            yield from _quantities(found, prefix=f"{key}.")
        elif isinstance(found, int | float) and not isinstance(found, bool):
            yield f"{prefix}{key}", finite_number(found, named=key)
