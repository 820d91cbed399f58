"""Best rate of each of several quantities, over rounds that nothing disturbed. Device-independent."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003 - a field of a tuple
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.ruler.measure.timing import Watch

LEAST_ROUNDS = 5


class Trial(NamedTuple):
    """One way to do something as fast as can be. amount: what a sample does of it; sample_s: takes one, in seconds."""

    quantity: str
    amount: float
    sample_s: Callable[[], float]


class Rates(NamedTuple):
    """Best rates by quantity. typical_over_best: of its fastest way the median time over the least, 1 if steady."""

    per_s: dict[str, float]
    typical_over_best: dict[str, float]


class MachineDisturbed(Exception):
    """Raised if something disturbs the machine whenever it is measured; the message says what."""


def best_rates(
    trials: Sequence[Trial],
    *,
    now: Callable[[], float],
    watch: Watch,
    budget_s: float,
    patience_s: float,
) -> Rates:
    """Return the best rate of each quantity, in its amount per second, over rounds of one sample of every trial.

    A first round is dropped: it pays for first touches of memory and cold caches. At least LEAST_ROUNDS follow, until
    `budget_s` is used up; one that was disturbed does not count. Raises: MachineDisturbed, once such rounds have taken
    `patience_s` and fewer than LEAST_ROUNDS have not been disturbed.
    """
    for trial in trials:
        trial.sample_s()
    kept_s: list[list[float]] = []
    n_rounds, spent_s, disturbed_s = 0, 0.0, 0.0
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
        if disturbed_s < patience_s:
            continue
        if len(kept_s) < LEAST_ROUNDS:
            seen = f"{len(kept_s)} of {n_rounds} rounds were calm, {LEAST_ROUNDS} are needed"
            raise MachineDisturbed(f"{reason} ({seen})")
        break
    rates = Rates(per_s={}, typical_over_best={})
    for trial, seconds in zip(trials, zip(*kept_s, strict=True), strict=True):
        rate = trial.amount / min(seconds)
        if rate > rates.per_s.get(trial.quantity, 0.0):
            rates.per_s[trial.quantity] = rate
            rates.typical_over_best[trial.quantity] = median(seconds) / min(seconds)
    return rates
