"""Axes by name or from a TOML file, with the providers that come from outside."""

from __future__ import annotations

import math
import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.errors import InvalidAxes
from benchmarks.ruler.plan import work
from benchmarks.ruler.plan.article_axes import ARTICLE_AXES
from benchmarks.ruler.plan.axes import (
    DIM_BY_DEFAULT,
    FULL,
    HISTORY,
    LARGEST_SIZE,
    NO_ACTIVATION,
    QUICK,
    RIVALS,
    Axes,
)
from benchmarks.ruler.plan.campaign_axes import CAMPAIGNS, REHEARSALS
from benchmarks.ruler.plan.model_axes import KEYS_OF_MODEL, MODELS, axes_of_model
from benchmarks.ruler.plan.plugins import foreign_names
from benchmarks.ruler.plan.points import CachePolicy, DeviceKind, Operation, Pass, contender_from_name
from benchmarks.ruler.plan.presets import PRESETS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.ruler.plan.settings import Settings


NAMED_AXES = {axes.name: axes for axes in (QUICK, FULL, HISTORY, RIVALS, MODELS, *CAMPAIGNS)}
MOST_VISITS = 1000
"""More are a mistake: each builds and checks every contender again."""
# What a sweep has once, whatever its parts.
_OF_ALL_PARTS = ("budget_s", "visits")


def axes_from_settings(settings: Settings) -> Axes:
    """Return the axes that `settings` name, a preset or a TOML file, with providers from outside added.

    Raises: InvalidAxes, naming the file and the key; InvalidProviderModule.
    """
    name = settings.axes
    known = NAMED_AXES | {axes.name: axes for axes in (*REHEARSALS, *ARTICLE_AXES.values())}
    if name in known:
        axes = known[name]
    elif name.endswith(".toml"):
        axes = axes_from_toml(Path(name))
    else:
        raise InvalidAxes(f"no axes are called {name!r}; choose from {', '.join(NAMED_AXES)}, or name a .toml file")
    return with_providers(axes, foreign_names(settings.provider_module))


def with_providers(axes: Axes, names: Sequence[str]) -> Axes:
    """Return `axes` with further providers, each once."""
    also = tuple(with_providers(part, names) for part in axes.also)
    return replace(axes, providers=tuple(dict.fromkeys((*axes.providers, *names))), also=also)


def axes_from_toml(path: Path) -> Axes:
    """Read axes from a TOML file with the keys of Axes; keys it leaves out are as in `quick`.

    `model` names a preset, which decides operation, widths and activation. Each table of `[[also]]` has the same keys
    but `budget_s` and `visits`, and adds its own product. Raises: InvalidAxes, naming the file and the key.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidAxes(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InvalidAxes(f"{path}: {error}") from error
    return axes_from_text(text, path=path)


def axes_from_text(text: str, *, path: Path) -> Axes:
    """Parse axes as `axes_from_toml` does, of a file that was read before. Raises: InvalidAxes."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidAxes(f"{path}: {error}") from error
    except RecursionError as error:
        raise InvalidAxes(f"{path}: is nested too deeply to be axes") from error
    return _axes_from_table(path, content)


def _axes_from_table(path: Path, content: dict[str, Any]) -> Axes:
    also = content.pop("also", [])
    if not isinstance(also, list) or not all(isinstance(part, dict) for part in also):
        raise InvalidAxes(f"{path}: also is a list of tables, each begun by [[also]]")
    known = {field.name for field in fields(Axes)} - {"order", "also"}
    unknown = sorted(set(content) - known)
    if unknown:
        raise InvalidAxes(f"{path}: unknown key {unknown[0]!r}; the keys are {', '.join(sorted(known))}")
    values: dict[str, object] = {key: _axis_values(path, key, value) for key, value in content.items()}
    axes = replace(QUICK, **{"name": str(path), **values})  # type: ignore[arg-type] # checked just above
    if axes.model is not None:
        if decided := sorted(set(content) & set(KEYS_OF_MODEL)):
            raise InvalidAxes(f"{path}: model = {axes.model!r} decides {decided[0]} already; leave one of them out")
        axes = axes_of_model(axes.model, axes)
    _require_known(path, axes)
    for part in also:
        if of_all := [key for key in _OF_ALL_PARTS if key in part]:
            raise InvalidAxes(f"{path}: also holds {of_all[0]}, which is of all parts alike; set it above [[also]]")
    return replace(axes, also=tuple(_axes_from_table(path, part) for part in also))


def _require_known(path: Path, axes: Axes) -> None:
    """Refuse a value that no point can have. Raises: InvalidAxes."""
    _require_choices(path, "operations", axes.operations, tuple(Operation))
    _require_choices(path, "passes", axes.passes, tuple(Pass))
    _require_choices(path, "caches", axes.caches, tuple(CachePolicy))
    _require_choices(path, "dtypes", tuple(axes.dtypes), tuple(DeviceKind))
    for device, dtypes in axes.dtypes.items():
        _require_choices(path, f"dtypes.{device}", dtypes, work.DTYPES)
    _require_choices(path, "activations", tuple(axes.activations), tuple(Operation))
    for operation, names in axes.activations.items():
        also_none = (NO_ACTIVATION,) if operation == Operation.LINEAR else ()
        _require_choices(path, f"activations.{operation}", names, (*work.ACTIVATIONS, *also_none))
    for dim in axes.dims:
        if not isinstance(dim, int) and dim != DIM_BY_DEFAULT:
            raise InvalidAxes(f"{path}: dims holds {dim!r}; a dim is a whole number or {DIM_BY_DEFAULT!r}")
    for name in axes.providers:
        try:
            contender = contender_from_name(name)
        except InvalidAxes as error:
            raise InvalidAxes(f"{path}: providers: {error}") from None
        if not contender.provider.strip():
            raise InvalidAxes(f"{path}: providers holds {name!r}; a provider has a name")


def _axis_values(path: Path, key: str, value: object) -> object:
    if key in _CHECKS:
        parse, wanted = _CHECKS[key]
        parsed = parse(value)
        if parsed is None:
            raise InvalidAxes(f"{path}: {key} is {value!r}; {wanted}")
        return parsed
    if key in {"dtypes", "activations"}:
        if not isinstance(value, dict):
            raise InvalidAxes(f"{path}: {key} is a table of lists, such as {key}.cpu = [...]")
        default: Mapping[str, tuple[str, ...]] = getattr(QUICK, key)
        return {
            **default,
            **{inner: _listed(path, f"{key}.{inner}", item, str) for inner, item in value.items()},
        }
    if key in {"batches", "hiddens"}:
        return _listed(path, key, value, int)
    if key == "dims":
        return _listed(path, key, value, (int, str))
    return _listed(path, key, value, str)


def _name(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _model(value: object) -> str | None:
    return value if isinstance(value, str) and value in PRESETS else None


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value < math.inf else None


def _number_of_visits(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_VISITS else None


# How a key with one value is read, None for what it may not be, and what it is.
_CHECKS: Mapping[str, tuple[Callable[[object], object], str]] = {
    "name": (_name, "it is a text"),
    "model": (_model, f"choose from {', '.join(PRESETS)}"),
    "budget_s": (_seconds, "it is a number of seconds above 0"),
    "visits": (_number_of_visits, f"it is a whole number from 1 to {MOST_VISITS}"),
}


def _listed(path: Path, key: str, value: object, kind: type | tuple[type, ...]) -> tuple[object, ...]:
    # To Python true is a whole number.
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(item, kind) and not isinstance(item, bool) for item in value)
    ):
        name = kind.__name__ if isinstance(kind, type) else " or ".join(k.__name__ for k in kind)
        raise InvalidAxes(f"{path}: {key} is {value!r}; it is a list of at least one {name}")
    for item in value:
        if isinstance(item, int) and not 1 <= item <= LARGEST_SIZE:
            raise InvalidAxes(f"{path}: {key} holds {item}; sizes are from 1 to {LARGEST_SIZE}")
    return tuple(value)


def _require_choices(path: Path, key: str, values: Sequence[str], choices: Sequence[str]) -> None:
    for value in values:
        if value not in choices:
            raise InvalidAxes(f"{path}: {key} holds {value!r}; choose from {', '.join(choices)}")
