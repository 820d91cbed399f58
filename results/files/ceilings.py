"""A machine's measured ceilings (docs/file-formats.md) → records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.errors import UnreadableFile
from results.files.fields import Malformed, finite_number, is_object, moment_at, object_at, shown, text_at
from results.files.json_objects import parsed_json
from results.files.records import CeilingRecord

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CEILINGS_FORMAT = 1


def ceilings_from_bytes(content: bytes, *, path: str) -> tuple[CeilingRecord, ...]:
    """The ceilings of every environment of the machine. Raises: UnreadableFile."""
    fields = parsed_json(content, path=path)
    written = fields.get("format")
    if written != CEILINGS_FORMAT:
        raise UnreadableFile(path, f"ceilings format {shown(written)}; this fusebench reads {CEILINGS_FORMAT}")
    try:
        machine = text_at(fields, "machine")
        environments = object_at(fields, "environments")
        return tuple(
            CeilingRecord(
                machine=machine,
                environment=name,
                measured_at=moment_at(found, "measured_at") if found.get("measured_at") is not None else None,
                quantities=dict(_quantities(found)),
            )
            for name in environments
            for found in [object_at(environments, name)]
        )
    except Malformed as error:
        raise UnreadableFile(path, str(error)) from error


def _quantities(fields: Mapping[str, object], *, prefix: str = "") -> Iterator[tuple[str, float]]:
    """The numbers in `fields`, one level deep, as `quantity` or `quantity.kind`."""
    for key, found in fields.items():
        if is_object(found) and not prefix:
            yield from _quantities(found, prefix=f"{key}.")
        elif isinstance(found, int | float) and not isinstance(found, bool):
            yield f"{prefix}{key}", finite_number(found, named=key)
