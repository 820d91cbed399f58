"""Replay recorded samples to asv, whose commands then work on measurements it did not have to repeat.

The only wing shaped by asv, and the entry point of its processes, where settings are read. asv starts a process for
each benchmark and parameter; here `setup_cache` measures the whole sweep once, and each of those processes reads its
samples from the recording through asv's `timer`.
"""

from __future__ import annotations

import math
import sys
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, ClassVar

from benchmarks.ruler.plan.axes import NO_ACTIVATION, resolve_dim
from benchmarks.ruler.plan.axes_files import axes_from_settings
from benchmarks.ruler.plan.points import CachePolicy, DeviceKind, Operation, Pass, Shape, contender_from_name
from benchmarks.ruler.plan.settings import ROOT, Settings, settings_from_environment
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.record.provenance import RULER_VERSION, expected_device, refuse_uncommitted_changes
from benchmarks.ruler.replay.asv_request import asv_request, samples_to_replay
from benchmarks.ruler.sweep.measure import measure
from benchmarks.ruler.sweep.sweep_plan import read_plan
from benchmarks.ruler.sweep.visits import counted_samples
from benchmarks.ruler.worker.parent_death import die_with_asv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.ruler.plan.axes import Axes
    from benchmarks.ruler.plan.points import Contender
    from benchmarks.ruler.sweep.sweep_plan import PointKey
    from benchmarks.ruler.sweep.sweep_plan import Recorded as Lines

PARAM_NAMES = ("provider", "batch", "hidden", "dim", "dtype", "activation", "cache")


@dataclass(frozen=True, kw_only=True)
class Track:
    """Record of one point for asv. samples_s: seconds per call; the rest per call, NaN where not known.

    run: what is replayed, in words.
    """

    reason: str | None
    samples_s: tuple[float, ...]
    run: str = ""
    kernel_launches: float = math.nan
    operator_count: float = math.nan
    device_time_s: float = math.nan
    peak_memory_bytes: float = math.nan


Recording = dict["PointKey", Track]
# asv need not have kept the samples of what it appends to, and no process of a suite is told whether it did.
_MEDIAN_ALONE = (
    ", the median alone, to append to samples that asv kept; without them it now has no interval, "
    "and asv run --record-samples gives it one and keeps them"
)
_NOT_MEASURED = Track(reason="this point is not among those measured on this machine", samples_s=())


@cache
def suite_settings() -> Settings:
    """Return the settings of this process of asv's, which runs in a folder of asv's: paths start from the checkout."""
    with chdir(ROOT):
        return settings_from_environment()


@cache
def suite_axes() -> Axes:
    """Return the axes of this process of asv's: the plan's if one is handed on, else those the settings name."""
    settings = suite_settings()
    return read_plan(settings.plan).axes if settings.plan else axes_from_settings(settings)


@cache
def suite_device() -> DeviceKind:
    """Return the device of this process of asv's: the plan's if one is handed on, else what is expected here."""
    settings = suite_settings()
    return read_plan(settings.plan).device if settings.plan else expected_device(settings)


def parameters(operation: str) -> list[tuple[object, ...]]:
    """Return the `params` of a suite, in the order of PARAM_NAMES; of dtypes, those measured on this device.

    Parts of the axes that are a model's have a suite of their own.
    """
    parts = suite_axes().parts()
    values = [_values(part, operation) for part in parts if operation in part.operations and part.model is None]
    if not values:
        # An operation that the axes leave out: one point, which asv finds not available.
        return [of_one[:1] for of_one in _values(parts[0], operation)]
    return [tuple(dict.fromkeys(chain.from_iterable(of_one))) for of_one in zip(*values, strict=True)]


def _values(axes: Axes, operation: str) -> tuple[tuple[object, ...], ...]:
    caches = tuple(str(cache) for cache in axes.caches)
    activations = axes.activations[operation]
    return axes.providers, axes.batches, axes.hiddens, axes.dims, dtypes_here(axes), activations, caches


def dtypes_here(axes: Axes) -> tuple[str, ...]:
    """Return the dtypes of `axes` on this device.

    Axes for another kind of device have dtypes of that one only; asv needs one, and finds it not available.
    """
    return axes.dtypes.get(suite_device()) or next(iter(axes.dtypes.values()))


def record(operation: str) -> Recording:
    """Measure what this run has not measured yet of `operation`; return what asv's processes will replay."""
    settings = suite_settings()
    with _throwaway_folder(settings) as folder:
        recorded = measure(replace(settings, data_dir=folder or settings.data_dir), operation=operation)
    return recording_from_lines(recorded, operation=operation)


def recording_from_lines(recorded: Lines, *, operation: str) -> Recording:
    """Return what asv's processes replay of `operation`, from what its run has recorded."""
    recording: Recording = {}
    for key, timing in recorded.timings.items():
        if key[0].operation != operation:
            continue
        profile = recorded.profiles.get(key)
        seen = profile.outcome if profile else None
        recording[key] = Track(
            reason=None if timing.outcome.state is State.OK else f"{timing.outcome.state}: {timing.outcome.reason}",
            samples_s=counted_samples(timing.outcome),
            run=timing.head.run.label(),
            kernel_launches=_or_nan(seen.kernel_launches if seen else None),
            operator_count=_or_nan(seen.operator_count if seen else None),
            device_time_s=_or_nan(timing.outcome.device_time_s),
            peak_memory_bytes=_or_nan(seen.peak_memory_bytes if seen else None),
        )
    return recording


@contextmanager
def _throwaway_folder(settings: Settings) -> Iterator[Path | None]:
    """Yield a folder to record in instead of the checkout's own, if what is measured is in no commit; else None."""
    if not settings.is_uncommitted or settings.data_dir != Settings().data_dir:
        yield None
        return
    with TemporaryDirectory() as folder:
        yield Path(folder)


class Replay:
    """Timer from which asv reads `samples_s`, one after the other, instead of a clock."""

    # Of all: who calls the benchmark at another time is a profiler.
    is_running: ClassVar[bool] = False

    def __init__(self, samples_s: Sequence[float]) -> None:
        self._samples_s = iter(samples_s)

    def __call__(self) -> float:
        """Return 0 at the start of a sample, its length at the end."""
        Replay.is_running = not Replay.is_running
        return 0.0 if Replay.is_running else next(self._samples_s)


class Recorded:
    """Suite that replays. Subclasses set `operation`, `params` and a `setup_cache` of two lines.

    Importing one fails if the code under test differs from every commit.
    """

    operation: ClassVar[str]
    param_names: ClassVar[tuple[str, ...]] = PARAM_NAMES
    version = RULER_VERSION
    # asv counts silence against the timeout, and the first compilation of a machine is long.
    timeout = 900.0
    number, rounds, warmup_time, min_run_count = 1, 1, 0, 1
    _profiled_calls: Callable[[], None] | None = None

    def __init_subclass__(cls) -> None:
        """Refuse to be imported for a measurement that could not be filed under its commit.

        A pass that the axes do not visit is no benchmark, nor is what only a GPU has.
        """
        _refuse_uncommitted_changes_once()
        if {"setup_cache", "run_server"} & set(sys.argv):
            # asv killed outright ends neither of these, and its fork server would wait for it for ever.
            die_with_asv()
        if all(Pass.FORWARD_BACKWARD not in part.passes for part in suite_axes().parts()):
            cls.time_forward_backward = None  # type: ignore[assignment, method-assign] # asv then finds no benchmark
        if suite_device() is DeviceKind.CPU:
            cls.track_kernel_launches = cls.track_device_time = None  # type: ignore[assignment, method-assign]

    def setup(self, recording: Recording, *params: object) -> None:
        """Find the point's samples. Raises NotImplementedError, asv's n/a, with the reason why there are none."""
        forward, both = (recording.get(self._key(pass_, *params), _NOT_MEASURED) for pass_ in Pass)
        if not forward.samples_s and not both.samples_s:
            raise NotImplementedError(forward.reason)
        self.track = forward
        request = asv_request()
        for pass_, track in zip(Pass, (forward, both), strict=True):
            # asv asks the function before the suite: each pass has samples of its own.
            function = getattr(type(self), f"time_{pass_}")
            if function is not None:
                samples_s = samples_to_replay(track.samples_s or (math.nan,), request)
                function.repeat = (len(samples_s), len(samples_s), 1e9)
                function.timer = Replay(samples_s)
        for pass_ in Pass:
            if request.profiled == f"time_{pass_}":
                self._profiled_calls = _profiled_calls(*self._key(pass_, *params))
        if request.profiled and request.profiled.startswith("track_"):
            _say(f"{request.profiled} tells a recorded value, and calls nothing that could be profiled")
        if request.is_first:
            what = (forward.run or both.run) + (_MEDIAN_ALONE if request.is_to_append else "")
            _say(f"{self.operation}: replayed from {what}; fusebench run --again measures anew")

    def time_forward(self, *_: object) -> None:
        """Replay one forward, in seconds; for `asv profile`, call it."""
        self._call_if_profiled()

    def time_forward_backward(self, *_: object) -> None:
        """Replay one forward and its backward, in seconds; for `asv profile`, call it."""
        self._call_if_profiled()

    def track_kernel_launches(self, *_: object) -> float:
        """Return the kernels launched by one forward (CUDA)."""
        return self.track.kernel_launches

    def track_operator_count(self, *_: object) -> float:
        """Return the compute operators of one forward."""
        return self.track.operator_count

    def track_device_time(self, *_: object) -> float:
        """Return the seconds the device computes in one forward (CUDA)."""
        return self.track.device_time_s

    def track_peak_memory(self, *_: object) -> float:
        """Return the bytes held at once in one forward, above inputs and weights."""
        return self.track.peak_memory_bytes

    track_kernel_launches.unit = "launches"  # type: ignore[attr-defined] # asv reads the unit here
    track_operator_count.unit = "operators"  # type: ignore[attr-defined]
    track_device_time.unit = "seconds"  # type: ignore[attr-defined]
    track_peak_memory.unit = "bytes"  # type: ignore[attr-defined]

    def _call_if_profiled(self) -> None:
        # asv replays once, too, before it profiles.
        if self._profiled_calls is not None and not Replay.is_running:
            self._profiled_calls()

    def _key(self, pass_: Pass, *params: object) -> PointKey:
        provider, batch, hidden, dim, dtype, activation, cache = params
        n_hidden = int(str(hidden))
        shape = Shape(
            operation=Operation(self.operation),
            pass_=pass_,
            dtype=str(dtype),
            activation=None if activation == NO_ACTIVATION else str(activation),
            batch=int(str(batch)),
            hidden=n_hidden,
            dim=resolve_dim(dim if isinstance(dim, int) else str(dim), hidden=n_hidden),
            cache=CachePolicy(str(cache)),
        )
        return shape, contender_from_name(str(provider))


@cache
def _profiled_calls(shape: Shape, contender: Contender) -> Callable[[], None]:
    # What calls a provider imports torch; whoever replays does not.
    from benchmarks.ruler.replay.profiled_call import profiled_calls  # noqa: PLC0415

    _say(f"{contender}, {shape.label()}: real calls, profiled; for operators and kernels: fusebench profile")
    return profiled_calls(shape, contender, settings=suite_settings(), device=suite_device())


@cache
def _say(text: str) -> None:
    print(text, file=sys.stderr)  # noqa: T201 - asv shows it


@cache
def _refuse_uncommitted_changes_once() -> None:
    refuse_uncommitted_changes(suite_settings())


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
