"""Settings of one run: read once from options and environment, passed on as a value.

The only module that knows the names of the environment's variables, beside the edges that start a process.
"""

from __future__ import annotations

import json
import math
import os
import unicodedata
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import InvalidSettings
from benchmarks.ruler.plan.filters import Filters
from benchmarks.ruler.plan.points import Allocator, DeviceKind
from benchmarks.ruler.plan.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

ROOT = Path(__file__).resolve().parents[3]
# The same for every user and checkout, whatever TMPDIR says.
_LOCK_FILE = Path("/tmp/fusebench-measuring.lock")  # noqa: S108 - opened without following a link


_PREFIX = "FUSEBENCH_"
# A system of files has 255 bytes for a name, of which `.json` and what a file is called while it is written take some.
_LONGEST_NAME = 200
# A letter missing, twice or wrong in a name of seven.
_MISSPELT = 0.85
# One where a file of axes has many, and the other way round; what else ends in -s is near enough.
_OTHER_NUMBER = {"AXIS": "AXES", "BATCHES": "BATCH", "PASSES": "PASS"}


def usable_cpus() -> int:
    """Return the number of CPUs this process may use."""
    return len(os.sched_getaffinity(0))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a run; docs/measuring.md lists them with their options and variables.

    data_dir: folder of record. machine: its name, or None for asv's. device: None for what is found. allocator: state
    of the worker's. run_id: a run to continue or to begin, or None for the commit's latest. commit: HEAD when the run
    began. lock_file: locked by whoever measures on this machine. until: seconds since 1970 after which no group is
    begun. last_visit: of the axes' visits the last to make now, or None for all. times_first_calls: whether each
    provider's first call is timed in a process of its own, too. measures_ceilings: whether the machine's ceilings are
    measured where they are missing or old; those that are kept are used in any case. traced_batches: batches whose
    profiles leave a trace. conditions: what else is so, by name, recorded with every line. host: its name in a
    fleet, or None for the system's. plan: file with the plan of the process that started this one and holds the
    machine's lock. progress: file for the steps.
    """

    data_dir: Path = ROOT / "results" / "data" / "local"
    axes: str = "quick"
    filters: Filters = field(default_factory=Filters)
    provider_module: Path | None = None
    machine: str | None = None
    device: DeviceKind | None = None
    threads: int = field(default_factory=usable_cpus)
    allocator: Allocator = Allocator.RETAINING
    run_id: str | None = None
    commit: str | None = None
    is_uncommitted: bool = False
    waits_for_lock: bool = True
    lock_file: Path = _LOCK_FILE
    point_limit_s: float = 180.0
    until: float | None = None
    last_visit: int | None = None
    times_first_calls: bool = False
    measures_ceilings: bool = True
    traced_batches: tuple[str, ...] = ()
    conditions: tuple[tuple[str, str], ...] = ()
    host: str | None = None
    plan: Path | None = None
    progress: Path | None = None
    asv_commit: str | None = None

    def visits_now(self, n_visits: int) -> int:
        """Return how many of the axes' `n_visits` visits each group has had when this process ends."""
        return min(n_visits, self.last_visit or n_visits)


def settings_from_environment(environ: Mapping[str, str] | None = None) -> Settings:
    """Parse the settings from `environ`, the process's own by default; a variable that is empty counts as unset.

    Raises: InvalidSettings, naming the variable; also one that is nearly called as a setting is, and is none.
    """
    given = {name: text for name, text in (os.environ if environ is None else environ).items() if text}
    _refuse_misspelt(given)
    values = {field: _parsed(name, given[name], parse) for name, (field, parse, _) in _CODEC.items() if name in given}
    filters = {name: words(given[variable]) for name, variable in _FILTERS.items() if variable in given}
    return replace(Settings(), **values, filters=Filters(**filters))  # type: ignore[arg-type] # by the table below


def _refuse_misspelt(given: Iterable[str]) -> None:
    # Else what was asked for would be measured otherwise, without a word.
    settings = [*(name for name in _CODEC if name.startswith(_PREFIX)), *_FILTERS.values()]
    meant = {name.removeprefix(_PREFIX): name for name in settings}
    for name in given:
        if name.upper().startswith(_PREFIX) and name not in settings:
            close = _nearest(name.upper().removeprefix(_PREFIX), meant)
            if close:
                raise InvalidSettings(f"{printable(name)} is no setting: {meant[close]} is")


def _nearest(word: str, words: Iterable[str]) -> str | None:
    """Return the one of `words` that `word` is a slip of, in upper case; None if it is another."""
    for each in words:
        if word == each or _OTHER_NUMBER.get(word) == each or _is_swapped(word, each):
            return each
    return next(iter(get_close_matches(word, words, n=1, cutoff=_MISSPELT)), None)


def _is_swapped(word: str, other: str) -> bool:
    """Return whether two letters of `other` that are neighbours have changed places in `word`."""
    differ = [place for place, (one, two) in enumerate(zip(word, other, strict=False)) if one != two]
    if len(word) != len(other) or len(differ) != 2 or differ[1] != differ[0] + 1:
        return False
    first, second = differ
    return word[first] == other[second] and word[second] == other[first]


def environment_from_settings(settings: Settings, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return `environ`, the process's own by default, with exactly these settings in it: what a child is started with.

    settings_from_environment gives them back.
    """
    default = Settings()
    others = os.environ if environ is None else environ
    found = {name: text for name, text in others.items() if name not in _CODEC and name not in _FILTERS.values()}
    for name, (field_name, _, text_from) in _CODEC.items():
        value = getattr(settings, field_name)
        if value != getattr(default, field_name):
            found[name] = text_from(value)
    for name, variable in _FILTERS.items():
        if words := getattr(settings.filters, name):
            found[variable] = ",".join(words)
    return found


def words(text: str) -> tuple[str, ...]:
    """Return the words of a comma-separated list."""
    return tuple(word.strip() for word in text.split(","))


def axes_name(text: str) -> str:
    """Return the name of axes, or the absolute path of their file."""
    return str(Path(text).absolute()) if text.endswith(".toml") else text


def _parsed(name: str, text: str, parse: Callable[[str], object]) -> object:
    try:
        return parse(text)
    except ValueError as error:
        raise InvalidSettings(f"{name}={printable(text)}: {error}") from None


def _positive(text: str) -> int:
    # int() would take "1_6", too, and says what is wrong in Python's words.
    if not text.isascii() or not text.strip().isdigit() or (number := int(text)) < 1:
        raise ValueError("a whole number from 1 on is needed")
    return number


def _batches(text: str) -> tuple[str, ...]:
    # Of a word that is none no trace would ever be kept, and nobody told.
    try:
        return tuple(str(_positive(word)) for word in words(text))
    except ValueError:
        raise ValueError("whole numbers from 1 on are needed, separated by commas") from None


def _seconds(text: str) -> float:
    if not (number := _number(text)) > 0:
        raise ValueError("a number of seconds above 0 is needed")
    return number


def _moment(text: str) -> float:
    if math.isnan(moment := _number(text)):
        raise ValueError("a number of seconds since 1970 is needed")
    return moment


def _number(text: str) -> float:
    """Return the number that `text` is, or NaN."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _text(text: str) -> str:
    """Return `text`, of which a line of a journal and a database hold every character. Raises: ValueError."""
    if any(unicodedata.category(each) in {"Cc", "Cs"} for each in text):
        raise ValueError("a text in UTF-8 without control characters is needed")
    return text


def _folder_name(text: str) -> str:
    # Names of machines are names of folders.
    _text(text)
    if "/" in text or text in {".", ".."}:
        raise ValueError("a name without / is needed")
    if len(text.encode()) > _LONGEST_NAME:
        raise ValueError(f"a name of at most {_LONGEST_NAME} bytes is needed")
    return text


def _switch(text: str) -> bool:
    if text not in {"0", "1"}:
        raise ValueError("choose from 0, 1")
    return text == "1"


def _conditions(text: str) -> tuple[tuple[str, str], ...]:
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict) or not all(isinstance(value, str) for value in values.values()):
        raise ValueError("a JSON object of texts is needed")
    return tuple((_text(name), _text(value)) for name, value in values.items())


def _device(text: str) -> DeviceKind:
    try:
        return DeviceKind(text)
    except ValueError:
        raise ValueError(f"choose from {', '.join(DeviceKind)}") from None


def _allocator(text: str) -> Allocator:
    try:
        return Allocator(text)
    except ValueError:
        raise ValueError(f"choose from {', '.join(Allocator)}") from None


def _lock_policy(text: str) -> bool:
    if text not in {"fail", "wait"}:
        raise ValueError("choose from fail, wait")
    return text == "wait"


# Variable → field, how its text is parsed, and how it is written.
_CODEC: dict[str, tuple[str, Callable[[str], object], Callable[..., str]]] = {
    "FUSEBENCH_DATA": ("data_dir", lambda text: Path(text).absolute(), str),
    "FUSEBENCH_AXES": ("axes", axes_name, str),
    "FUSEBENCH_PROVIDER_MODULE": ("provider_module", lambda text: Path(text).absolute(), str),
    "FUSEBENCH_MACHINE": ("machine", _folder_name, str),
    "FUSEBENCH_DEVICE": ("device", _device, str),
    "FUSEBENCH_THREADS": ("threads", _positive, str),
    "FUSEBENCH_ALLOCATOR": ("allocator", _allocator, str),
    "FUSEBENCH_RUN_ID": ("run_id", _text, str),
    "FUSEBENCH_COMMIT": ("commit", str, str),
    "FUSEBENCH_UNCOMMITTED": ("is_uncommitted", _switch, lambda is_set: str(int(is_set))),
    "FUSEBENCH_LOCK": ("waits_for_lock", _lock_policy, lambda waits: "wait" if waits else "fail"),
    "FUSEBENCH_LOCK_FILE": ("lock_file", lambda text: Path(text).absolute(), str),
    "FUSEBENCH_POINT_LIMIT_S": ("point_limit_s", _seconds, repr),
    "FUSEBENCH_UNTIL": ("until", _moment, repr),
    "FUSEBENCH_LAST_VISIT": ("last_visit", _positive, str),
    "FUSEBENCH_CEILINGS": ("measures_ceilings", _switch, lambda is_set: str(int(is_set))),
    "FUSEBENCH_FIRST_CALLS": ("times_first_calls", _switch, lambda is_set: str(int(is_set))),
    "FUSEBENCH_TRACES": ("traced_batches", _batches, ",".join),
    "FUSEBENCH_HOST": ("host", _text, str),
    "FUSEBENCH_CONDITIONS": ("conditions", _conditions, lambda pairs: json.dumps(dict(pairs))),
    "FUSEBENCH_PLAN": ("plan", Path, str),
    "FUSEBENCH_PROGRESS": ("progress", Path, str),
    "ASV_COMMIT": ("asv_commit", str, str),
}
_FILTERS = {
    "operation": "FUSEBENCH_OPERATION",
    "provider": "FUSEBENCH_PROVIDER",
    "dtype": "FUSEBENCH_DTYPE",
    "pass_": "FUSEBENCH_PASS",
    "batch": "FUSEBENCH_BATCH",
    "hidden": "FUSEBENCH_HIDDEN",
}


def temporary_folder(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder that is meant for temporary files, whether or not it can hold any."""
    given = os.environ if environ is None else environ
    named = next((given[name] for name in ("TMPDIR", "TEMP", "TMP") if given.get(name)), None)
    # Of what is left tempfile takes the first that can be written, and raises where all are full.
    return Path(named) if named else Path("/tmp")  # noqa: S108 - looked at, and nothing kept in it
