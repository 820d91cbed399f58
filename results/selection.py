"""What a person types to choose rows, `batch=64` or `dtype=float32`, applied to points and values; pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from results.errors import UnknownParameter
from results.parameters import typed_from_repr, typed_from_value
from results.rows import PointFilter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from results.rows import SeriesValueRow

INTEGER_AXES = frozenset({"batch", "hidden", "dim", "threads"})
# What a value has besides its parameters.
VALUE_FIELDS = ("project", "machine", "environment", "benchmark", "metric", "unit", "version", "state")


@dataclass(frozen=True)
class Selection:
    """The texts chosen for each name; a name with several takes any of them, different names must all hold."""

    texts: Mapping[str, tuple[str, ...]]

    def __bool__(self) -> bool:
        return bool(self.texts)


def selection_from_texts(texts: Iterable[str]) -> Selection:
    """`["batch=64", "batch=128"]` as a selection. Raises: UnknownParameter if one is not NAME=VALUE."""
    chosen: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UnknownParameter(f"{text!r} is not NAME=VALUE")
        chosen[name] = (*chosen.get(name, ()), value)
    return Selection(chosen)


def point_filter_from(selection: Selection) -> PointFilter:
    """The selection as axes of the sweep. Raises: UnknownParameter for a name that is no axis."""
    axes = {"pass" if axis == "pass_" else axis: axis for axis in PointFilter.__annotations__}
    found: dict[str, object] = {}
    for name, texts in selection.texts.items():
        if name not in axes:
            raise UnknownParameter(f"{name} is no axis of the sweep; there are {', '.join(sorted(axes))}")
        if name in INTEGER_AXES and not all(text.isdigit() for text in texts):
            raise UnknownParameter(f"{name} is a whole number, not {', '.join(texts)}")
        found[axes[name]] = [int(text) if name in INTEGER_AXES else text for text in texts]
    return cast("PointFilter", found)


def chosen_values(rows: Sequence[SeriesValueRow], selection: Selection) -> list[SeriesValueRow]:
    """Those of `rows` that the selection names, by what a value has and by its parameters.

    A number chooses the same number however it was written: `n=1000` takes `1e3`.
    Raises: UnknownParameter for a name that none of `rows` has.
    """
    known = {*VALUE_FIELDS, *(parameter.name for row in rows for parameter in row.parameters)}
    for name in selection.texts:
        if rows and name not in known:
            raise UnknownParameter(f"no stored value has a {name}; there are {', '.join(sorted(known))}")
    return [row for row in rows if all(_has(row, name, texts) for name, texts in selection.texts.items())]


def _has(row: SeriesValueRow, name: str, texts: tuple[str, ...]) -> bool:
    if name in VALUE_FIELDS:
        return getattr(row, name) in texts
    return any(
        _is_meant(parameter.value, text) for parameter in row.parameters if parameter.name == name for text in texts
    )


def _is_meant(value: float | bool | str | None, text: str) -> bool:  # noqa: FBT001 - it is the subject
    written, typed = typed_from_repr(text), typed_from_value(value)
    if written.number is not None and typed.number is not None:
        return written.number == typed.number
    return text in {typed.text, str(value)}
