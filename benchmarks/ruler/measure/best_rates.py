"""Best rate of each of several quantities, over rounds that nothing disturbed. Device-independent."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003 - a field of a tuple
from statistics import median
from typing import TYPE_CHECKING, NamedTuple, Protocol

from benchmarks.ruler.measure.kept_chunks import Watch

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_ROUNDS = 5
LEAST_SLOW_ROUNDS = 12
"""Of a machine that is slow throughout: so many meet its fast moments."""
_SLOW_PATIENCE = 5.0
# With large caches and one thread a round takes seconds, and so many of them longer than that.
_LONGEST_SLOW_S = 60.0


class Trial(NamedTuple):
    """One way to do something as fast as can be. amount: what a sample does of it; sample_s: takes one, in seconds."""

    quantity: str
    amount: float
    sample_s: Callable[[], float]


class Rates(NamedTuple):
    """Best rates by quantity. typical_over_best: of its fastest way the median time over the least, 1 if steady.

    n_slow: rounds among them in which the machine was slow, 0 if enough were not.
    """

    per_s: dict[str, float]
    typical_over_best: dict[str, float]
    n_slow: int = 0


class RoundWatch(Watch, Protocol):
    """Watch over rounds, which tells a machine that is slow from one that others use."""

    @property
    def is_merely_slow(self) -> bool:
        """Whether all that disturbed the last window was a slow machine, on which nobody else was seen."""


class MachineDisturbed(Exception):
    """Raised if something disturbs the machine whenever it is measured; the message says what."""


def best_rates(
    trials: Sequence[Trial],
    *,
    now: Callable[[], float],
    watch: RoundWatch,
    budget_s: float,
    patience_s: float,
) -> Rates:
    """Return the best rate of each quantity, in its amount per second, over rounds of one sample of every trial.

    A first round is dropped: it pays for first touches of memory and cold caches. At least LEAST_ROUNDS follow, until
    `budget_s` is used up; one that was disturbed does not count. A machine that is slow throughout, with nobody to be
    seen who uses it, has fast moments: there the best of LEAST_SLOW_ROUNDS counts (docs/adr/0018). Raises:
    MachineDisturbed, once disturbed rounds have taken `patience_s` and there are neither so many nor LEAST_ROUNDS calm
    ones; for what is merely slow it waits five times as long, or for so many rounds, but no longer than a minute.
    """
    for trial in trials:
        trial.sample_s()
    kept_s: list[list[float]] = []
    slow_s: list[list[float]] = []
    n_rounds, n_disturbed, spent_s, disturbed_s, taken_s = 0, 0, 0.0, 0.0, 0.0
    while len(kept_s) < LEAST_ROUNDS or spent_s < budget_s:
        watch.start()
        start = now()
        samples = [trial.sample_s() for trial in trials]
        reason = watch.disturbance({f"{trial.quantity} {n}": (samples[n],) for n, trial in enumerate(trials)})
        lasted_s = now() - start
        n_rounds += 1
        if reason is None:
            kept_s.append(samples)
            spent_s += lasted_s
            continue
        disturbed_s += lasted_s
        n_disturbed += 1
        if watch.is_merely_slow:
            slow_s.append(samples)
        else:
            taken_s += lasted_s
        if disturbed_s < patience_s:
            continue
        if len(kept_s) >= LEAST_ROUNDS:
            break
        if len(kept_s) + len(slow_s) >= LEAST_SLOW_ROUNDS:
            return _best_of(trials, [*kept_s, *slow_s], n_slow=len(slow_s))
        of_slow_rounds_s = min(LEAST_SLOW_ROUNDS * disturbed_s / n_disturbed, _LONGEST_SLOW_S)
        if taken_s >= patience_s or disturbed_s >= max(_SLOW_PATIENCE * patience_s, of_slow_rounds_s):
            seen = f"{len(kept_s)} of {n_rounds} rounds were calm, {LEAST_ROUNDS} are needed"
            raise MachineDisturbed(f"{reason} ({seen})")
    return _best_of(trials, kept_s, n_slow=0)


def _best_of(trials: Sequence[Trial], rounds_s: Sequence[Sequence[float]], *, n_slow: int) -> Rates:
    rates = Rates(per_s={}, typical_over_best={}, n_slow=n_slow)
    for trial, seconds in zip(trials, zip(*rounds_s, strict=True), strict=True):
        rate = trial.amount / min(seconds)
        if rate > rates.per_s.get(trial.quantity, 0.0):
            rates.per_s[trial.quantity] = rate
            rates.typical_over_best[trial.quantity] = median(seconds) / min(seconds)
    return rates
