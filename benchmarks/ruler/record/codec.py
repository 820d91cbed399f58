"""Values as JSON and back: the one codec of worker messages, journal lines, plans and steps.

Standard library only: a suite's environment holds what the commit under test installs, and nothing else of ours.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields, is_dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Value = TypeVar("_Value")
_Decoder = Callable[[Any], Any]


def json_from_value(value: DataclassInstance) -> dict[str, Any]:
    """Return a dataclass as a JSON object with its fields' names as keys."""
    return {name: str(each) if isinstance(each, Path) else each for name, each in asdict(value).items()}


def value_from_json(kind: type[_Value], values: Mapping[str, Any]) -> _Value:
    """Return the dataclass `kind` whose fields `values` holds, among others; what is missing takes its default.

    Raises: ValueError, TypeError or KeyError if `values` is no such object.
    """
    return cast("_Value", _decoder(cast("Any", kind))(values))


@cache
def _decoder(kind: Any) -> _Decoder:  # noqa: ANN401 - any annotation of a field
    if is_dataclass(kind):
        return _dataclass_decoder(cast("type", kind))
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        inner = _decoder(arguments[0])
        return tuple if inner is _same else lambda values: tuple(inner(each) for each in values)
    if origin in {types.UnionType, typing.Union}:
        decoders = {_decoder(each) for each in arguments if each is not types.NoneType}
        inner = decoders.pop() if len(decoders) == 1 else _same
        return inner if inner is _same else lambda value: None if value is None else inner(value)
    if origin is Mapping:
        inner = _decoder(arguments[1])
        return lambda values: {name: inner(each) for name, each in values.items()}
    return _scalar_decoder(kind)


def _scalar_decoder(kind: Any) -> _Decoder:  # noqa: ANN401 - the same
    if kind is int:
        return _int
    if isinstance(kind, type) and issubclass(kind, StrEnum | Path):
        return kind
    return _same


def _dataclass_decoder(kind: type) -> _Decoder:
    @cache
    def decoders() -> list[tuple[str, _Decoder]]:
        # Not before it is needed: a field may hold values of its own class.
        hints = typing.get_type_hints(kind)
        return [(field.name, _decoder(hints[field.name])) for field in fields(kind)]

    def decode(values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - the dataclass
        return kind(**{name: decoder(values[name]) for name, decoder in decoders() if name in values})

    return decode


def _int(value: Any) -> int:  # noqa: ANN401 - anything JSON holds
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is not a whole number")
    return value


def _same(value: _Value) -> _Value:
    return value
