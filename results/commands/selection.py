"""What a person types to choose rows, `batch=64`, `batch=64..1024` or `dtype=float32`, as filters; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, cast

from results.errors import UnknownParameter
from results.files.parameters import typed_from_repr, value_from_typed
from results.files.records import State
from results.rows import Between, PointFilter, SeriesFilter

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

INTEGER_AXES = frozenset({"batch", "hidden", "dim", "threads"})
AXES = {"pass" if axis == "pass_" else axis: axis for axis in PointFilter.__annotations__}
# What a value of any suite has besides its parameters.
SERIES_FIELDS = tuple(name for name in SeriesFilter.__annotations__ if name != "parameters")
RANGE = re.compile(r"(?P<least>-?[0-9.e+]*?)\.\.(?P<most>-?[0-9.e+]*)")


@dataclass(frozen=True)
class Selection:
    """The texts chosen for each name; a name with several takes any of them, different names must all hold."""

    texts: Mapping[str, tuple[str, ...]]

    def __bool__(self) -> bool:
        return bool(self.texts)

    def without(self, *names: str) -> Selection:
        """The rest of the selection."""
        return Selection({name: texts for name, texts in self.texts.items() if name not in names})


def selection_from_texts(texts: Iterable[str]) -> Selection:
    """`["batch=64", "batch=128"]` as a selection. Raises: UnknownParameter if one is not NAME=VALUE."""
    chosen: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UnknownParameter(f"{text!r} is not NAME=VALUE or NAME=FROM..TO")
        chosen[name] = (*chosen.get(name, ()), value)
    return Selection(chosen)


def states_from(selection: Selection) -> frozenset[str] | None:
    """The states chosen; None for all. Raises: UnknownParameter for a word that is none."""
    texts = selection.texts.get("state")
    if texts is None:
        return None
    for text in texts:
        if text not in set(State):
            raise UnknownParameter(f"{text!r} is no state; there are {', '.join(State)}")
    return frozenset(texts)


def point_filter_from(selection: Selection) -> PointFilter:
    """The selection as axes of the sweep. Raises: UnknownParameter for a name that is no axis."""
    found: dict[str, object] = {}
    for name, texts in selection.without("state").texts.items():
        if name not in AXES:
            known = [*AXES, "state"]
            raise UnknownParameter(f"{name} is no axis of the sweep{_like(name, known)}; there are {', '.join(known)}")
        found[AXES[name]] = _whole_numbers(name, texts) if name in INTEGER_AXES else _texts_or_none(name, texts)
    return cast("PointFilter", found)


def _whole_numbers(name: str, texts: tuple[str, ...]) -> Between | list[int]:
    if (between := _between(name, texts)) is not None:
        return between
    if not all(text.isdigit() for text in texts):
        raise UnknownParameter(f"{name} is a whole number or a range such as 64..1024, not {', '.join(texts)}")
    return [int(text) for text in texts]


def _texts_or_none(name: str, texts: tuple[str, ...]) -> list[str | None]:
    return [None if name == "activation" and text == "None" else text for text in texts]


def series_filter_from(selection: Selection, *, parameters: Collection[str]) -> SeriesFilter:
    """The selection as a choice of series of any suite; `parameters` are the names that stored ones have.

    A number takes the same number however it was written: `n=1000` takes `1e3`.
    Raises: UnknownParameter for a name that nothing stored has.
    """
    found: dict[str, object] = {}
    by_name: dict[str, object] = {}
    for name, texts in selection.without("state").texts.items():
        if name in SERIES_FIELDS:
            found[name] = list(texts)
        elif name in parameters:
            by_name[name] = _between(name, texts) or [value for text in texts for value in _meanings(text)]
        else:
            known = [*SERIES_FIELDS, "state", *sorted(parameters)]
            raise UnknownParameter(f"no stored value has a {name}{_like(name, known)}; there are {', '.join(known)}")
    return cast("SeriesFilter", {**found, "parameters": by_name})


def _like(name: str, known: Collection[str]) -> str:
    alike = get_close_matches(name, known, n=1)
    return f" (did you mean {alike[0]}?)" if alike else ""


def _meanings(text: str) -> set[float | bool | str | None]:
    """`64` is the number or the text: whoever types it need not know which the suite has."""
    typed = typed_from_repr(text)
    return {text, value_from_typed(typed.type, typed.text, typed.number)}


def _between(name: str, texts: tuple[str, ...]) -> Between | None:
    """`64..1024`, `64..` or `..1024` as a range; None if no text is one."""
    found = [_range_from(text) for text in texts]
    if not any(found):
        return None
    if len(texts) > 1:
        raise UnknownParameter(f"{name} is given {', '.join(texts)}; give one range, or values")
    return found[0]


def _range_from(text: str) -> Between | None:
    matched = RANGE.fullmatch(text)
    if matched is None or text == "..":
        return None
    try:
        least, most = (float(end) if end else None for end in matched.groups())
    except ValueError:
        return None
    return Between(least, most)
