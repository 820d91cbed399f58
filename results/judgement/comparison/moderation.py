"""Moderated t statistics: the variance of each series is shrunk towards what is usual among many. Pure.

Source: Smyth, *Linear models and empirical Bayes methods for assessing differential expression*, 2004, §6. That no
statistic has more degrees of freedom than all series together is limma's (Ritchie et al. 2015).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

LEAST_SD = 5e-4
"""No two processes agree better than this, relative; a smaller spread is that of rounded or copied numbers."""
LEAST_SERIES = 10
_MOST_DOF = 30.0  # series always differ a little in how they vary
_ENDLESS = 1e6


@dataclass(frozen=True, kw_only=True)
class Prior:
    """Spread that is usual among series: standard deviation, and the degrees of freedom that it counts for.

    stray: what one move in a thousand of the testbed's series exceeds as one value alone lay apart, in standard
    deviations of a move; 0 if unknown. pooled: degrees of freedom of all that told the spread; no statistic has more.
    """

    sd: float
    dof: float
    stray: float = 0.0
    pooled: float = math.inf


USUAL = Prior(sd=0.015, dof=4.0)
"""Relative spread between processes where too few series tell it; on the machines measured it is 1.0 to 1.4 %."""


@dataclass(frozen=True, kw_only=True)
class Moderated:
    """Moderated statistics of n effects. se: standard error; dof: of the moderated variance; p: two-sided."""

    se: Numbers
    dof: Numbers
    p: Numbers


def priors_of(variances: Numbers, dof: Numbers, families: Sequence[Hashable]) -> dict[Hashable, Prior]:
    """Fit the prior of each family of n sample `variances` with `dof` degrees of freedom each, all above 0.

    By the moments of their logarithm. A family of LEAST_SERIES has a spread of its own, others that of all; how much
    series differ is estimated within families, over all, since few series tell nothing of it. USUAL where there are
    fewer than LEAST_SERIES in all.
    """
    from scipy.special import digamma, polygamma  # noqa: PLC0415 - takes a moment to import

    names = list(dict.fromkeys(families))
    if len(variances) < LEAST_SERIES:
        return dict.fromkeys(names, USUAL)
    half = dof / 2
    logs = np.log(np.maximum(variances, LEAST_SD**2)) - digamma(half) + np.log(half)
    members = places_by(families)
    own = {name: each for name, each in members.items() if len(each) >= LEAST_SERIES}
    others = [i for name, each in members.items() if name not in own for i in each]
    parts = [*own.values(), *([np.array(others)] if others else [])]
    deviations = np.concatenate([logs[part] - logs[part].mean() for part in parts])
    excess = float(deviations @ deviations) / (len(deviations) - len(parts)) - float(np.mean(polygamma(1, half)))
    prior_dof = min(2 * _inverse_trigamma(excess), _MOST_DOF) if excess > 0 else _MOST_DOF
    shift = float(digamma(prior_dof / 2)) - math.log(prior_dof / 2)

    def prior(mean: float, pooled: float) -> Prior:
        return Prior(sd=math.exp((mean + shift) / 2), dof=prior_dof, pooled=pooled)

    of_all = prior(float(np.mean(logs)), float(dof.sum()))  # once: there may be as many families as series
    by = {name: prior(float(np.mean(logs[part])), float(dof[part].sum())) for name, part in own.items()}
    return {name: by.get(name, of_all) for name in names}


def places_by(names: Iterable[Hashable]) -> dict[Hashable, NDArray[np.intp]]:
    """Return the places of each name, in order."""
    places: dict[Hashable, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    return {name: np.array(each) for name, each in places.items()}


def moderated(effects: Numbers, variances: Numbers, dof: Numbers, *, factors: Numbers, prior: Prior) -> Moderated:
    """Return the moderated statistics of n effects.

    variances: of one observation, `dof` degrees of freedom each, ignored where that is 0. factors: variance of an
    effect over that of an observation, 1/n for a mean of n.
    """
    from scipy.special import stdtr  # noqa: PLC0415 - as above

    total = dof + prior.dof
    own = np.maximum(variances, LEAST_SD**2)
    shrunk = (dof * own + prior.dof * max(prior.sd, LEAST_SD) ** 2) / total
    se, known = np.sqrt(shrunk * factors), np.minimum(total, prior.pooled)
    return Moderated(se=se, dof=known, p=2 * stdtr(known, -np.abs(effects) / se))


def quantile_of_t(dof: Numbers, level: Numbers | float) -> Numbers:
    """Return the quantile of Student's t at `level`, between 0 and 1."""
    from scipy.special import stdtrit  # noqa: PLC0415 - as above

    found: Numbers = stdtrit(np.minimum(dof, _ENDLESS), level)
    return found


def _inverse_trigamma(value: float) -> float:
    """Return the x > 0 with trigamma(x) = `value`, by Newton's method on its reciprocal, which is nearly a line."""
    from scipy.special import polygamma  # noqa: PLC0415 - as above

    if value > 1e7:
        return 1 / math.sqrt(value)
    if value < 1e-6:
        return 1 / value
    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, x))
        x += step
        if -step / x < 1e-10:
            break
    return x
