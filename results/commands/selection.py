"""Parse NAME=VALUE options such as `batch=64`, `batch=64..1024` or `dtype=float32` into filters; pure."""

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
# Fields of a value of any suite besides its parameters.
SERIES_FIELDS = tuple(name for name in SeriesFilter.__annotations__ if name != "parameters")
RANGE = re.compile(r"(?P<least>-?[0-9.e+]*?)\.\.(?P<most>-?[0-9.e+]*)")


@dataclass(frozen=True)
class Selection:
    """Values given for each name: any value of a name matches, and every name must match."""

    texts: Mapping[str, tuple[str, ...]]

    def __bool__(self) -> bool:
        return bool(self.texts)

    def without(self, *names: str) -> Selection:
        """Return the selection without these names."""
        return Selection({name: texts for name, texts in self.texts.items() if name not in names})


def selection_from_texts(texts: Iterable[str]) -> Selection:
    """Parse texts such as `batch=64`. Raises: UnknownParameter if one is not NAME=VALUE."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UnknownParameter(f"{text!r} is not NAME=VALUE or NAME=FROM..TO")
        found[name] = (*found.get(name, ()), value)
    return Selection(found)


def states_from(selection: Selection) -> frozenset[str] | None:
    """Return the selected states; None for all. Raises: UnknownParameter for an unknown state."""
    texts = selection.texts.get("state")
    if texts is None:
        return None
    for text in texts:
        if text not in set(State):
            raise UnknownParameter(f"{text!r} is not a state; the states are {', '.join(State)}")
    return frozenset(texts)


def point_filter_from(selection: Selection) -> PointFilter:
    """Return the selection as a filter of sweep points. Raises: UnknownParameter for a name that is no axis."""
    found: dict[str, object] = {}
    for name, texts in selection.without("state").texts.items():
        if name not in AXES:
            known = [*AXES, "state"]
            raise UnknownParameter(f"{name} is not an axis{_like(name, known)}; the axes are {', '.join(known)}")
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
    """Return the selection as a filter of series of any suite; `parameters`: the names of the stored parameters.

    A number matches however it is written: `n=1000` matches `1e3`. An operation of the sweep is a benchmark here,
    unless a parameter is called so. Raises: UnknownParameter for a name that nothing stored has.
    """
    found: dict[str, list[str]] = {}
    by_name: dict[str, object] = {}
    for name, texts in selection.without("state").texts.items():
        field = "benchmark" if name == "operation" and name not in parameters else name
        if field in SERIES_FIELDS:
            found[field] = [text for text in texts if text in found.get(field, texts)]
        elif name in parameters:
            by_name[name] = _between(name, texts) or [value for text in texts for value in _meanings(text)]
        else:
            known = [*SERIES_FIELDS, "state", *sorted(parameters)]
            raise UnknownParameter(
                f"no stored value has a {name}{_like(name, known)}; the names are {', '.join(known)}"
            )
    return cast("SeriesFilter", {**found, "parameters": by_name})


def _like(name: str, known: Collection[str]) -> str:
    alike = get_close_matches(name, known, n=1)
    return f" (did you mean {alike[0]}?)" if alike else ""


def _meanings(text: str) -> set[float | bool | str | None]:
    """Return the number and the text that `64` may mean: a suite may have either."""
    typed = typed_from_repr(text)
    return {text, value_from_typed(typed.type, typed.text, typed.number)}


def _between(name: str, texts: tuple[str, ...]) -> Between | None:
    """Parse `64..1024`, `64..` or `..1024`; None if no text is a range."""
    found = [_range_from(text) for text in texts]
    if not any(found):
        return None
    if len(texts) > 1:
        raise UnknownParameter(f"{name} is given {', '.join(texts)}; give one range, or values")
    between = found[0]
    if between and between.least is not None and between.most is not None and between.least > between.most:
        raise UnknownParameter(f"{name}={texts[0]} holds nothing; write the smaller end first")
    return between


def _range_from(text: str) -> Between | None:
    matched = RANGE.fullmatch(text)
    if matched is None or text == "..":
        return None
    try:
        least, most = (float(end) if end else None for end in matched.groups())
    except ValueError:
        return None
    return Between(least, most)
