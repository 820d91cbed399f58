"""[tool.fusebench] of a pyproject.toml ↔ settings of the judgement: which change is relevant, by pattern."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from results.errors import InvalidSettings, UnreadableFile
from results.files.json_fields import Malformed, finite_number, is_object, list_at, shown
from results.files.paths import read_regular_file
from results.metrics import Direction

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SETTINGS_NAME = "pyproject.toml"
PATTERNS = ("project", "benchmark", "provider", "metric")
LIMITS = ("least_change", "tolerance")
BETTER = "better"
_LARGEST = 1.0  # 100 %: more is a percentage that was meant as a fraction
_KEYS, _KEYS_OF_THRESHOLD = {"least_change", "threshold"}, {*PATTERNS, *LIMITS, BETTER}


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """Limit for the series that its patterns match, in which *, ? and [seq] are as in the shell.

    provider: `fused`, or `fused:packed` with packed weights; "*" alone takes benchmarks without a provider, too.
    least_change: smallest relative change of a noisy metric that is relevant. tolerance: relative change of an exact
    metric that is none. better: direction of a metric that tells none itself, such as asv's `track_` of a throughput.
    Each is None where nothing is said of it. place: of the table in its file, from 1.
    """

    project: str = "*"
    benchmark: str = "*"
    provider: str = "*"
    metric: str = "*"
    least_change: float | None = None
    tolerance: float | None = None
    better: Direction | None = None
    place: int = 1


class Relevance(TypedDict):
    """What is relevant: the smallest relative change of a noisy metric, and the thresholds that come before it."""

    least_change: float
    thresholds: tuple[Threshold, ...]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a project. least_change: of series that no threshold is about, None where nothing is said."""

    least_change: float | None = None
    thresholds: tuple[Threshold, ...] = ()
    path: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether they say nothing, so that what is usual counts."""
        return self.least_change is None and not self.thresholds

    def relevance(self, usual: float, *, asked: float | None = None) -> Relevance:
        """Return what is relevant, as a judgement takes it.

        asked: least change that comes before the one here; usual: the one where neither is given.
        """
        given = self.least_change if asked is None else asked
        return {"least_change": usual if given is None else given, "thresholds": self.thresholds}


NO_SETTINGS = Settings()


def settings_of(folder: Path) -> Settings:
    """Read the settings of the project that `folder` lies in; none where no file there has the table.

    The nearest pyproject.toml counts, in the folder or above it. Raises: InvalidSettings.
    """
    for each in (folder, *folder.parents):
        path = each / SETTINGS_NAME
        try:
            is_there = path.is_file() or path.is_symlink()  # what a link leads to is missed, not passed over
        except OSError as error:
            raise InvalidSettings(
                f"{path}: cannot be looked for ({error.strerror}); name a file with --settings"
            ) from error
        if is_there:
            return settings_from_file(path)
    return NO_SETTINGS


def settings_from_file(path: Path) -> Settings:
    """Read the settings in one file; none if it has no table of them. Raises: InvalidSettings."""
    try:
        return settings_from_bytes(read_regular_file(path), path=str(path))
    except OSError as error:
        raise InvalidSettings(f"{path}: cannot be read ({error.strerror})") from error
    except UnreadableFile as error:
        raise InvalidSettings(error.message) from error


def settings_from_bytes(content: bytes, *, path: str) -> Settings:
    """Parse the settings. Raises: InvalidSettings naming the file, the key, and what may stand there."""
    try:
        tools: object = tomllib.loads(content.decode("utf-8-sig")).get("tool", {})
    except (ValueError, RecursionError) as error:
        raise InvalidSettings(f"{path}: not TOML ({error})") from error
    if not is_object(tools):
        raise InvalidSettings(f"{path}: `tool` is {shown(tools)}, not a table; write [tool.fusebench]")
    try:
        return _settings(tools.get("fusebench", {}), path)
    except Malformed as error:
        raise InvalidSettings(f"{path}: [tool.fusebench]: {error}") from error


def _settings(fields: object, path: str) -> Settings:
    if not is_object(fields):
        raise Malformed(f"it is {shown(fields)}, not a table")
    _refuse_unknown(fields, _KEYS)
    if is_object(fields.get("threshold")):
        raise Malformed("`threshold` is a single table; write [[tool.fusebench.threshold]], with two brackets")
    return Settings(
        least_change=_fraction(fields, "least_change"),
        thresholds=tuple(_threshold(table, place) for place, table in enumerate(list_at(fields, "threshold"), start=1)),
        path=path,
    )


def _threshold(table: object, place: int) -> Threshold:
    try:
        return _threshold_of(table, place)
    except Malformed as error:
        raise Malformed(f"threshold {place}: {error}") from error


def _threshold_of(table: object, place: int) -> Threshold:
    if not is_object(table):
        raise Malformed(f"{shown(table)} is no table")
    _refuse_unknown(table, _KEYS_OF_THRESHOLD)
    patterns = {name: _pattern(table, name) for name in PATTERNS}
    limits = {name: _fraction(table, name) for name in LIMITS}
    better = _direction(table)
    if better is None and all(limit is None for limit in limits.values()):
        raise Malformed("none of `least_change` (of times), `tolerance` (of exact metrics) and `better` is given")
    least_change, tolerance = limits.values()
    return Threshold(**patterns, least_change=least_change, tolerance=tolerance, better=better, place=place)


def _direction(table: Mapping[str, object]) -> Direction | None:
    found = table.get(BETTER)
    if found is None:
        return None
    if found not in {Direction.LOWER.value, Direction.HIGHER.value}:
        raise Malformed(f"`{BETTER}` is {shown(found)}, neither 'lower' nor 'higher'")
    return Direction(str(found))


def _pattern(table: Mapping[str, object], name: str) -> str:
    found = table.get(name, "*")
    if not isinstance(found, str) or not found:
        raise Malformed(f"`{name}` is {shown(found)}, not a pattern such as 'fused*'")
    return found


def _fraction(table: Mapping[str, object], name: str) -> float | None:
    if name not in table:
        return None
    found = finite_number(table[name], named=name)
    if not 0 <= found <= _LARGEST:
        raise Malformed(f"`{name}` is {found:g}, not between 0 and {_LARGEST:g}: 0.05 is 5 %")
    return found


def _refuse_unknown(fields: Mapping[str, object], known: set[str]) -> None:
    if strange := sorted(fields.keys() - known):
        raise Malformed(f"`{strange[0]}` is no key here; there are {', '.join(sorted(known))}")
