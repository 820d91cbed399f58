"""Best rate of each of several quantities, over rounds that nothing disturbed. Device-independent."""

from __future__ import annotations

import math
from collections.abc import Callable  # noqa: TC003 - a field of a tuple
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


class MachineDisturbed(Exception):
    """Raised if something disturbs the machine whenever it is measured; the message says what."""


def best_rates(
    trials: Sequence[Trial],
    *,
    now: Callable[[], float],
    watch: Watch,
    budget_s: float,
    patience_s: float,
) -> dict[str, float]:
    """Return the best rate of each quantity, in its amount per second, over rounds of one sample of every trial.

    A first round is dropped: it pays for first touches of memory and cold caches. At least LEAST_ROUNDS follow, until
    `budget_s` is used up; one that was disturbed does not count. Raises: MachineDisturbed, once such rounds have taken
    `patience_s` and fewer than LEAST_ROUNDS have not been disturbed.
    """
    for trial in trials:
        trial.sample_s()
    best_s = [math.inf] * len(trials)
    n_rounds, spent_s, disturbed_s = 0, 0.0, 0.0
    while n_rounds < LEAST_ROUNDS or spent_s < budget_s:
        watch.start()
        start = now()
        samples = [trial.sample_s() for trial in trials]
        reason = watch.disturbance({f"{trial.quantity} {n}": (samples[n],) for n, trial in enumerate(trials)})
        lasted_s = now() - start
        if reason is None:
            best_s = [min(pair) for pair in zip(best_s, samples, strict=True)]
            n_rounds += 1
            spent_s += lasted_s
            continue
        disturbed_s += lasted_s
        if disturbed_s < patience_s:
            continue
        if n_rounds < LEAST_ROUNDS:
            raise MachineDisturbed(reason)
        break
    rates: dict[str, float] = {}
    for trial, seconds in zip(trials, best_s, strict=True):
        rates[trial.quantity] = max(rates.get(trial.quantity, 0.0), trial.amount / seconds)
    return rates
