"""Request of asv to a process that replays: `--quick`, `-a`, rounds, samples to append to, a profile.

asv tells a suite nothing of these; they are found in the frame of asv_runner's function that runs a benchmark.
"""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import FrameType

_RUNNER = ("asv_runner.run", "_run")


@dataclass(frozen=True, kw_only=True)
class AsvRequest:
    """Request for one benchmark at one combination of parameters.

    attributes: those of the benchmark that asv overrides, by name. profiled: the method that `asv profile` will call,
    if any. is_repeated: asv has asked the same in an earlier round of this run. is_first: of its benchmark, this
    combination of parameters was the first that asv asked for.
    """

    attributes: Mapping[str, Any] = field(default_factory=dict)
    profiled: str | None = None
    is_repeated: bool = False
    is_first: bool = False

    @property
    def is_to_append(self) -> bool:
        """Whether asv holds an earlier result, for which it fixes the number of calls in a sample, to append to."""
        return not self.is_repeated and "number" in self.attributes and "repeat" not in self.attributes


def asv_request() -> AsvRequest:
    """Return what asv asks of this process; of a process that asv did not start, nothing special."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - asv has no other way to ask
    while frame is not None:
        if (frame.f_globals.get("__name__"), frame.f_code.co_name) == _RUNNER:
            asked = frame.f_locals
            name, folder = asked["benchmark_id"], Path.cwd()
            return AsvRequest(
                attributes=dict(asked["extra_params"]),
                profiled=None if asked["profile_path"] is None else name.split("-")[0].split(".")[-1],
                is_repeated=not _is_asked_first(folder, name),
                is_first=_first_asked(folder, name) == name,
            )
        frame = frame.f_back
    return AsvRequest()


def samples_to_replay(samples_s: Sequence[float], request: AsvRequest) -> tuple[float, ...]:
    """Return the samples to give asv, so that one recording never counts as several.

    A later round gets none. What asv appends to an earlier result is the median alone, which changes neither that
    result nor its interval; a number of samples that is asked for gets that many, spread over the recording.
    Raises: NotImplementedError, asv's n/a, where a recording cannot answer.
    """
    attributes = request.attributes
    if request.is_repeated:
        return ()
    for name, replayed in (("number", 1), ("warmup_time", 0)):
        if attributes.get(name, replayed) != replayed:
            raise NotImplementedError(
                f"asv replays what is recorded, for which -a {name}={attributes[name]} is too late"
            )
    repeat = attributes.get("repeat", 0)
    n_asked = int(repeat[1] if isinstance(repeat, list | tuple) else repeat)
    if n_asked > len(samples_s):
        raise NotImplementedError(
            f"asv asks for {n_asked} samples, and {len(samples_s)} are recorded; leave out -a repeat"
        )
    if n_asked:
        ordered = sorted(samples_s)
        return tuple(ordered[int((index + 0.5) / n_asked * len(ordered))] for index in range(n_asked))
    return (median(samples_s),) if request.is_to_append else tuple(samples_s)


# asv makes a folder for each suite and run, a process for each combination of parameters and round, and calls `setup`
# before each sample: answers are kept.


@cache
def _is_asked_first(folder: Path, name: str) -> bool:
    return _is_written_first(folder / f"asked-{_digest(name)}", name)


@cache
def _first_asked(folder: Path, name: str) -> str:
    path = folder / f"first-{_digest(name.split('-', maxsplit=1)[0])}"
    return name if _is_written_first(path, name) else path.read_text(encoding="utf-8")


def _is_written_first(path: Path, text: str) -> bool:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:16]
