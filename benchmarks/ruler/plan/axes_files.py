"""Axes by name or from a TOML file, with the providers that come from outside."""

from __future__ import annotations

import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import InvalidAxes
from benchmarks.ruler.plan.axes import DIM_BY_DEFAULT, NAMED_AXES, QUICK, Axes
from benchmarks.ruler.plan.plugins import foreign_names
from benchmarks.ruler.plan.points import CachePolicy, Operation, Pass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.ruler.plan.settings import Settings


def axes_from_settings(settings: Settings) -> Axes:
    """Return the axes that `settings` name, a preset or a TOML file, with providers from outside added.

    Raises: InvalidAxes, naming the file and the key; InvalidProviderModule.
    """
    name = settings.axes
    if name in NAMED_AXES:
        axes = NAMED_AXES[name]
    elif name.endswith(".toml"):
        axes = axes_from_toml(Path(name))
    else:
        raise InvalidAxes(f"no axes are called {name!r}; choose from {', '.join(NAMED_AXES)}, or name a .toml file")
    return _with_providers(axes, foreign_names(settings.provider_module))


def _with_providers(axes: Axes, names: Sequence[str]) -> Axes:
    also = tuple(_with_providers(part, names) for part in axes.also)
    return replace(axes, providers=tuple(dict.fromkeys((*axes.providers, *names))), also=also)


def axes_from_toml(path: Path) -> Axes:
    """Read axes from a TOML file with the keys of Axes; keys it leaves out are as in `quick`.

    Raises: InvalidAxes, naming the file and the key.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidAxes(f"{path}: cannot be read ({error.strerror})") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidAxes(f"{path}: {error}") from error
    known = {field.name for field in fields(Axes)} - {"name", "also"}
    unknown = sorted(set(content) - known)
    if unknown:
        raise InvalidAxes(f"{path}: unknown key {unknown[0]!r}; the keys are {', '.join(sorted(known))}")
    values: dict[str, object] = {key: _axis_values(path, key, value) for key, value in content.items()}
    axes = replace(QUICK, name=str(path), **values)  # type: ignore[arg-type] # checked just above
    _require_choices(path, "operations", axes.operations, tuple(Operation))
    _require_choices(path, "passes", axes.passes, tuple(Pass))
    _require_choices(path, "caches", axes.caches, tuple(CachePolicy))
    for dim in axes.dims:
        if not isinstance(dim, int) and dim != DIM_BY_DEFAULT:
            raise InvalidAxes(f"{path}: dims holds {dim!r}; a dim is a whole number or {DIM_BY_DEFAULT!r}")
    return axes


def _axis_values(path: Path, key: str, value: object) -> object:
    if key == "budget_s":
        if isinstance(value, int | float) and value > 0:
            return float(value)
        raise InvalidAxes(f"{path}: budget_s is {value!r}; it is a number of seconds above 0")
    if key == "visits":
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        raise InvalidAxes(f"{path}: visits is {value!r}; it is a whole number from 1 on")
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


def _listed(path: Path, key: str, value: object, kind: type | tuple[type, ...]) -> tuple[object, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(item, kind) for item in value):
        name = kind.__name__ if isinstance(kind, type) else " or ".join(k.__name__ for k in kind)
        raise InvalidAxes(f"{path}: {key} is {value!r}; it is a list of at least one {name}")
    for item in value:
        if isinstance(item, int) and item < 1:
            raise InvalidAxes(f"{path}: {key} holds {item}; sizes start at 1")
    return tuple(value)


def _require_choices(path: Path, key: str, values: Sequence[str], choices: Sequence[str]) -> None:
    for value in values:
        if value not in choices:
            raise InvalidAxes(f"{path}: {key} holds {value!r}; choose from {', '.join(choices)}")
