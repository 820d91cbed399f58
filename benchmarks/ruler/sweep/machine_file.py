"""File of a machine, by environment: its ceilings, its best repeat of fixed work, how far visits lie apart on it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping  # noqa: TC003 - the codec reads the annotations
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks.ruler.errors import DamagedCeilings, JournalError
from benchmarks.ruler.plan.roofline import Ceilings
from benchmarks.ruler.record.codec import json_from_value, value_from_json
from benchmarks.ruler.record.durable import write_whole
from benchmarks.ruler.record.lines import Scalar  # noqa: TC001 - the same
from benchmarks.ruler.sweep.usual_spreads import Usual  # noqa: TC001 - the same

if TYPE_CHECKING:
    from pathlib import Path

_Value = TypeVar("_Value")
CEILINGS_FORMAT = 2
_READABLE_FORMATS = {1, CEILINGS_FORMAT}
_MOST_AHEAD = timedelta(days=1)
# Shares of a machine's best that an undisturbed run cannot have had: from there on every interval would be nonsense.
_SLOWEST, _FASTEST = 0.5, 2.0


@dataclass(frozen=True, kw_only=True)
class BestProbe:
    """Best times of the fixed work that tells the machine's speed, in seconds by part; under which conditions.

    Raises: ValueError or TypeError for what is no number or no time.
    """

    seconds: Mapping[str, float]
    measured_at: str
    conditions: Mapping[str, Scalar]

    def __post_init__(self) -> None:
        moment_from_text(self.measured_at)
        for part, seconds in self.seconds.items():
            if not isinstance(seconds, int | float):
                raise TypeError(f"{part} is {seconds!r}, and no time")


@dataclass(frozen=True, kw_only=True)
class KeptUsual:
    """How far visits usually lay apart in the runs until `measured_at`. Raises: ValueError or TypeError, as above."""

    usual: Usual
    measured_at: str

    def __post_init__(self) -> None:
        moment_from_text(self.measured_at)
        for spread in (self.usual.latency, self.usual.slow_latency, self.usual.speedup):
            if not 0 <= spread.sd < math.inf:
                raise ValueError(f"{spread.sd!r} is no spread")
        for measured_at, speed in self.usual.speeds.items():
            moment_from_text(measured_at)
            if not is_speed(speed):
                raise ValueError(f"{speed!r} is no speed")


def is_speed(value: float) -> bool:
    """Return whether a machine can have run at this share of its best. Raises: TypeError for what is no number."""
    return not isinstance(value, bool) and _SLOWEST <= value <= _FASTEST


def moment_from_text(text: str) -> datetime:
    """Return an ISO 8601 time, of UTC where it names no zone. Raises: ValueError, TypeError."""
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_of_a_wrong_clock(measured_at: datetime, *, now: datetime) -> bool:
    """Return whether what was measured then has a time still to come: it would never be old."""
    return measured_at - now > _MOST_AHEAD


def kept_ceilings(data_dir: Path, *, machine: str, environment: str) -> Ceilings | None:
    """Return the machine's ceilings if its file holds them. Raises: JournalError if the file is not one of ours."""
    return _kept(Ceilings, data_dir, machine, "environments", environment)


def keep_ceilings(data_dir: Path, ceilings: Ceilings, *, machine: str, environment: str) -> None:
    """Write the machine's ceilings in place of earlier ones. Raises: JournalError if the file is not one of ours."""
    _keep(ceilings, data_dir, machine, "environments", environment)


def kept_probe(data_dir: Path, *, machine: str, environment: str) -> BestProbe | None:
    """Return the machine's best times of the probe; None if unknown. Raises: JournalError, as above."""
    return _kept(BestProbe, data_dir, machine, "probes", environment)


def keep_probe(data_dir: Path, probe: BestProbe, *, machine: str, environment: str) -> None:
    """Write the machine's best times of the probe in place of earlier ones. Raises: JournalError, as above."""
    _keep(probe, data_dir, machine, "probes", environment)


def kept_usual(data_dir: Path, *, machine: str, environment: str) -> KeptUsual | None:
    """Return how far visits usually lie apart on the machine; None if unknown. Raises: JournalError, as above."""
    return _kept(KeptUsual, data_dir, machine, "spreads", environment)


def keep_usual(data_dir: Path, usual: KeptUsual, *, machine: str, environment: str) -> None:
    """Write how far visits lie apart on the machine in place of what was known. Raises: JournalError, as above."""
    _keep(usual, data_dir, machine, "spreads", environment)


def _kept(kind: type[_Value], data_dir: Path, machine: str, section: str, environment: str) -> _Value | None:
    known = _content(machine_path(data_dir, machine), machine)[section].get(environment)
    return None if known is None else value_from_json(kind, known)


def _keep(
    value: Ceilings | BestProbe | KeptUsual, data_dir: Path, machine: str, section: str, environment: str
) -> None:
    path = machine_path(data_dir, machine)
    content = _content(path, machine)
    content[section][environment] = json_from_value(value)
    _write(path, content)


def machine_path(data_dir: Path, machine: str) -> Path:
    """Return the file that keeps what is known of a machine."""
    return data_dir / "machines" / f"{machine}.json"


def _write(path: Path, content: dict[str, Any]) -> None:
    try:
        write_whole(path, json.dumps({**content, "format": CEILINGS_FORMAT}, indent=1) + "\n")
    except OSError as error:
        raise JournalError(f"{path}: cannot be written ({error.strerror}); make room or set FUSEBENCH_DATA") from error


def _content(path: Path, machine: str) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        # A newer format is one because its values are others, which must not be taken for damaged.
        if (written := content["format"]) not in _READABLE_FORMATS:
            raise DamagedCeilings(
                f"the file of ceilings {path} has format {written!r}, and this ruler reads 1 and 2",
                mend="measure with the newer one, or move it away, and they are measured anew",
            )
        for known in content["environments"].values():
            value_from_json(Ceilings, known)
        for known in content.setdefault("probes", {}).values():
            value_from_json(BestProbe, known)
        for known in content.setdefault("spreads", {}).values():
            value_from_json(KeptUsual, known)
    except FileNotFoundError:
        return {"format": CEILINGS_FORMAT, "machine": machine, "environments": {}, "probes": {}, "spreads": {}}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        damage = f"the file of ceilings {path} {_damage(error)}"
        raise DamagedCeilings(damage, mend="move it away, and they are measured anew") from error
    return content


def _damage(error: Exception) -> str:
    match error:
        case OSError():
            return f"cannot be read ({error.strerror})"
        case json.JSONDecodeError():
            where = f"line {error.lineno}, column {error.colno}"
            return f"is damaged: from {where} on it is no JSON" if error.doc.strip() else "is damaged: it is empty"
        case UnicodeDecodeError():
            return "is damaged: it is no text"
        case KeyError():
            return f"is none: {error} is missing"
        case _:
            return "is none: some of its values are of another kind"
