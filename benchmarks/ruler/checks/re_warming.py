"""Do the untimed calls before a sample undo what the rivals' turns did? Each sample against calls that go on after it.

In company, alone and by another clock (`company`) times lie in different processes, and a machine whose speed changes
by half within a second tells no 3 % of them. Here the two lie milliseconds apart in one process, and whatever the
machine does meets both alike.
"""

from __future__ import annotations

import gc
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.checks.company_report import limit_of
from benchmarks.ruler.checks.conclusion import concluded
from benchmarks.ruler.measure.allocator import set_allocator
from benchmarks.ruler.measure.attempt import state_from_error
from benchmarks.ruler.measure.clock import CpuClock, Timed
from benchmarks.ruler.measure.policy import Policy
from benchmarks.ruler.measure.statistics import median_interval
from benchmarks.ruler.measure.timing import sample_group
from benchmarks.ruler.plan.axes import groups
from benchmarks.ruler.plan.points import BASELINE, DeviceKind, contender_from_name
from benchmarks.ruler.plan.units import percent, signed_percent
from benchmarks.ruler.providers.workload import workload
from benchmarks.ruler.referee.failures import RefereeFailed, referee_failures
from benchmarks.ruler.referee.group_referee import GroupReferee
from benchmarks.ruler.referee.tampering import Instrument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from benchmarks.ruler.checks.conclusion import Conclusion
    from benchmarks.ruler.measure.clock import Clock
    from benchmarks.ruler.measure.referee import Referee
    from benchmarks.ruler.measure.statistics import MedianInterval
    from benchmarks.ruler.plan.axes import Axes
    from benchmarks.ruler.plan.points import Shape
    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.record.outcome import State

TURNS = 300
"""Samples of each contender at a shape that are compared with what follows them."""

LEAST_TURNS = 6
"""The least and greatest of fewer hold their median less often than in 95 of 100 cases: each lies above it or below."""

UNSURE = "the turns differ too much to tell"
# After so long, by one processor, calls are as fast as they become (docs/adr/0024).
_GOES_ON_S, _LEAST_BLOCKS = 20e-3, 3


@dataclass(frozen=True, kw_only=True)
class Row:
    """Seconds of a provider's call at a shape, and its samples over calls that went on after them; or a failure."""

    provider: str
    shape: str
    call_s: float = math.nan
    ratio: MedianInterval | None = None
    failure: str | None = None

    @property
    def limit(self) -> float:
        """How far above calls that go on a sample may lie, as a part of them."""
        return limit_of(self.call_s)

    @property
    def is_within(self) -> bool | None:
        """Whether the whole interval is within the limit; False: it is beyond; None: it reaches over the limit."""
        if self.ratio is None:
            return None
        if self.ratio.low - 1 > self.limit or self.ratio.high - 1 < -self.limit:
            return False
        return True if -self.limit <= self.ratio.low - 1 and self.ratio.high - 1 <= self.limit else None


class GoingOn:
    """Clock, and referee before another one, by which each contender goes on after its sample, in blocks of its length.

    ratios: of each contender, a sample's time over that of the last of those blocks. Of one alone: where nothing but
    noise differs they are alike, and half of the ratios are above one however skewed that is; a median of several
    blocks would lie below most samples.
    """

    def __init__(self, clock: Clock, referee: Referee, calls: Mapping[str, Callable[[], object]]) -> None:
        self._clock, self._referee, self._calls = clock, referee, calls
        self._sample_s, self._n_calls = math.nan, 1
        self._n_blocks: dict[str, int] = {}
        self.ratios: dict[str, list[float]] = {name: [] for name in calls}
        self.now, self.wall = clock.now, clock.wall
        self.after_warm_up, self.begin_turn = referee.after_warm_up, referee.begin_turn
        self.before_sample, self.after_last_samples = referee.before_sample, referee.after_last_samples
        self.before_last_warming, self.before_timing = referee.before_last_warming, referee.before_timing

    def timed(self, call: Callable[[], object], *, calls: int) -> Timed:
        """Return a sample's time, and remember it."""
        found = self._clock.timed(call, calls=calls)
        self._sample_s, self._n_calls = found.seconds, calls
        return found

    def after_sample(self, name: str, last_output: object) -> None:
        """Go on with the same calls, on the inputs that the sample had; then let the other referee judge it.

        Raises: Implausible.
        """
        # As many in each turn: of blocks until some time is over, the last would more often be a long one.
        call, block_s = self._calls[name], math.nan
        if name not in self._n_blocks:
            # A first sample that was held up would make them few, in all turns.
            least_s = min(self._sample_s, self._clock.wall(call, calls=self._n_calls))
            self._n_blocks[name] = max(_LEAST_BLOCKS, math.ceil(_GOES_ON_S / least_s))
        for _ in range(self._n_blocks[name]):
            block_s = self._clock.wall(call, calls=self._n_calls)
        self.ratios[name].append(self._sample_s / block_s)
        self._referee.after_sample(name, last_output)


class _Indifferent:
    """Watch that no disturbance matters to."""

    def start(self) -> None: ...
    def forget(self) -> None: ...
    def forget_all(self) -> None: ...
    def forget_disturbed(self) -> None: ...
    def disturbance(self, durations_s: Mapping[str, Sequence[float]]) -> None: ...


def rows(settings: Settings, axes: Axes, *, operation: str, turns: int = TURNS) -> Iterator[Row]:
    """Sample each shape's providers in this process, as a worker would, and go on after each sample."""
    set_allocator(settings.allocator)
    torch.set_num_threads(settings.threads)
    policy = Policy(half_width=0.0, budget_s=math.inf, max_samples=turns, least_s=math.inf)
    instrument = Instrument()
    for group in groups(axes, operation=operation, device=DeviceKind.CPU):
        yield from _rows_of(group.shape, axes.providers, policy=policy, instrument=instrument)


def _rows_of(shape: Shape, providers: Sequence[str], *, policy: Policy, instrument: Instrument) -> Iterator[Row]:
    """Yield the rows of a shape; whoever raises has failed, and its rivals begin anew without it, as in a sweep."""
    found: dict[str, Row] = {}
    while left := [name for name in providers if name not in found]:
        try:
            found |= _sampled(shape, left, policy=policy, instrument=instrument)
        except RefereeFailed as failed:
            found |= {name: _failed(name, shape, failed.state, str(failed)) for name in left}
        except _Raised as raised:
            found[raised.provider] = _failed(raised.provider, shape, *state_from_error(raised.error))
    yield from (found[name] for name in providers)


class _Raised(Exception):
    """Raised if a call of `provider` raised `error` where it was warmed up, sampled, went on or was verified."""

    def __init__(self, provider: str, error: Exception) -> None:
        super().__init__()
        self.provider, self.error = provider, error


def _failed(provider: str, shape: Shape, state: State, reason: str | None) -> Row:
    return Row(provider=provider, shape=shape.label(), failure=f"{state}: {reason}")


def _sampled(shape: Shape, providers: Sequence[str], *, policy: Policy, instrument: Instrument) -> dict[str, Row]:
    """Return the row of each provider. Raises: RefereeFailed, _Raised."""
    # Outside inference_mode, as in a worker.
    with referee_failures("before any contender ran"):
        load = workload(shape, device=torch.device("cpu"))
        referee = GroupReferee(load, instrument=instrument, threads=torch.get_num_threads())
        with torch.inference_mode():
            reference = load.reference()
    calls: dict[str, Callable[[], object]] = {}
    found: dict[str, Row] = {}
    turns_of: list[str] = []
    with torch.inference_mode():
        instrument.note_settings()
        torch._dynamo.reset()  # noqa: SLF001 - the documented way to forget earlier shapes
        for name in providers:
            outcome, call = referee.attempt(contender_from_name(name), reference)
            if call is None:
                found[name] = _failed(name, shape, outcome.state, outcome.reason)
            else:
                calls[name] = call
        going_on = GoingOn(CpuClock(), referee, calls)
        gc.disable()
        instrument.note_settings()
        try:
            samplings = sample_group(
                calls,
                baseline=BASELINE,
                clock=going_on,
                policy=policy,
                watch=_Indifferent(),
                announce=turns_of.append,
                referee=going_on,
            )
        except Exception as error:
            instrument.repaired()
            if not turns_of:
                raise
            raise _Raised(turns_of[-1], error) from error
        finally:
            gc.enable()
    for name, finding in referee.findings.items():
        found[name] = _failed(name, shape, finding.state, finding.reason)
    for name, sampling in samplings.items():
        ratio = median_interval(going_on.ratios[name])
        found[name] = Row(provider=name, shape=shape.label(), call_s=sampling.latency.median, ratio=ratio)
    return found


def line_of(row: Row) -> str:
    """Return a line of the table, `HEAD` above it."""
    named = f"{row.provider:14} {row.shape:52}"
    if row.ratio is None:
        return f"{named} {row.failure}"
    ends = (signed_percent(end - 1) for end in (row.ratio.median, row.ratio.low, row.ratio.high))
    middle, low, high = ends
    word = {True: "within", False: f"beyond {percent(row.limit)}", None: "cannot be told"}[row.is_within]
    above = f"{middle} ({low.removesuffix(' %')} to {high.removesuffix(' %')})"
    return f"{named} {row.call_s * 1e6:8.1f} µs  {above:26} {word}"


HEAD = f"{'provider':14} {'shape':52} {'a call':>11}  {'sample over going on':26}"


def summary(found: Sequence[Row]) -> Conclusion:
    """Conclude whether samples are as long as calls that go on, of those that can be told."""
    failed = [row for row in found if row.ratio is None]
    judged = [row.is_within for row in found if row.ratio is not None and row.is_within is not None]
    words = f"{sum(judged)} of {len(judged)} samples within 3 % of calls that go on (5 % below 20 µs)"
    if failed:
        words += f"; {len(failed)} have no time"
    return concluded(
        words,
        holds=all(judged) and not failed,
        n_counted=len(judged) + len(failed),
        not_counted={UNSURE: len(found) - len(judged) - len(failed)},
    )
