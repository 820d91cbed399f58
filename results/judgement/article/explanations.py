"""Explanations: one rule each, which speaks where the profiles hold its evidence and is silent elsewhere; pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from results.judgement.article.bounds import LEAST_SHARE, bound, slower
from results.judgement.article.cases import Pace
from results.judgement.article.device_rules import occupancy, same_products, tiles
from results.judgement.article.steps import GUARDS, VIEWS, number_of
from results.units import figures, percent, with_prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from results.judgement.article.cases import Observed
    from results.judgement.article.steps import Call, Step

_COPY, _ADDMM = "aten::copy_", "aten::addmm"
_TRANSPOSE = ("aten::t", "aten::transpose")
_MORE_TRAFFIC = 1.05
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class Rule(StrEnum):
    """What an explanation is about."""

    GUESS = "guess"
    BIAS = "bias"
    NOTHING_TO_FUSE = "nothing to fuse"
    FUSED = "fused"
    SAME_PRODUCTS = "same products"
    TILES = "tiles"
    OCCUPANCY = "occupancy"
    TRAFFIC = "traffic"
    MEMORY = "memory"
    LIMIT = "limit"
    GUARDS = "guards"
    COMPILATION = "compilation"
    SLOWER = "slower"
    BOUND = "bound"


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """One reason, with its evidence in the text."""

    rule: Rule
    text: str


def explanations(observed: Observed) -> tuple[Explanation, ...]:
    """Return what the profiles of a case explain, in the order in which it is best read."""
    return tuple(Explanation(rule=rule, text=text) for rule, explain in _RULES for text in explain(observed))


def _guess(observed: Observed) -> Iterator[str]:
    """Tell where a contender ran another number of steps than was guessed."""
    for entry in observed.entries:
        wanted = observed.case.steps.get(entry.name)
        if entry.call is not None and wanted is not None and entry.call.step_count != wanted:
            ran = _listed(entry.call.steps)
            yield f"The guess was wrong for {entry.name}: {_counted(wanted, entry.call)} expected, but {ran} ran."


def _bias(observed: Observed) -> Iterator[str]:
    eager = observed.eager
    if not observed.case.is_linear or eager is None or eager.call is None:
        return
    call = eager.call
    if call.has_kernels:
        # Of a product that is split, the kernel that sums its parts may be the one that adds the bias.
        if len(call.steps) == call.step_count == 1 and call.products:
            words = call.products[0].decoded.words
            yield f"The bias costs no kernel, as in the article: the only one, {words}, adds it as it writes."
        return
    step = next((step for step in call.steps if step.name == _ADDMM), None)
    if step is None or _COPY not in step.within:
        return
    share = step.within[_COPY]
    cost = "" if share is None else f" ({percent(share)} of {_ADDMM}'s time)"
    yield (
        f"On this CPU the bias is a copy: inside {_ADDMM}, {_COPY} first writes the bias into every row of the output"
        f"{cost}, and the product is added to it. In the article's trace the product's "
        "epilogue adds it, for nothing."
    )
    for rival in observed.rivals:
        if rival.call and not any(_COPY in step.within or step.name == _COPY for step in rival.call.steps):
            (first, *others) = rival.call.steps
            if not others:
                yield f"{rival.name} has no such copy: its one operator, {first.name}, adds the bias itself."


def _nothing_to_fuse(observed: Observed) -> Iterator[str]:
    eager, compiled = observed.eager, observed.named("compiled")
    if eager is None or compiled is None or eager.call is None or compiled.call is None:
        return
    before, after = eager.call, compiled.call
    if before.names != after.names:
        return
    kind = "kernel" if before.has_kernels else "operator"
    what = f"the same {kind}, {before.steps[0].name}" if len(before.steps) == 1 else f"the same {kind}s by name"
    gone = [name for name in _TRANSPOSE if name in before.bookkeeping and name not in after.bookkeeping]
    left_out = ""
    if gone:
        views = [name for name in VIEWS if name in before.bookkeeping and name not in after.bookkeeping]
        share = before.host_share(views)
        cost = "" if share is None else f": {percent(share)} of eager's profiled call"
        left_out = (
            f" What is gone is the host's bookkeeping, {' and '.join(gone)} among it, which rewrites strides and "
            f"computes nothing{cost}."
        )
    yield f"torch.compile has nothing to fuse here: it runs {what}.{left_out}"


def _fused(observed: Observed) -> Iterator[str]:
    """Tell which of eager's steps a contender runs as one."""
    eager = observed.eager
    if eager is None or eager.call is None or observed.case.is_linear:
        return
    before = eager.call
    kind = "kernels" if before.has_kernels else "operators"
    for rival in observed.rivals:
        after = rival.call
        if after is None or not 0 < after.step_count < before.step_count:
            continue
        became = f"{_word(before.step_count)} {kind} became {_word(after.step_count)}"
        if after.step_count == 1:
            yield f"{rival.name}: {became}. {after.steps[0].name} is products, activation and gate in one call."
            continue
        kept = number_of(after.products) == number_of(before.products)
        if not kept or number_of(after.others) != 1:
            continue
        (one,) = after.others
        merged = " and ".join(step.name for step in before.others)
        origin = f", by {one.decoded.author}" if one.decoded.author else ""
        yield f"{rival.name}: {became}, as in the article. {merged} run as one, {one.name}{origin}; the products stay."


def _memory(observed: Observed) -> Iterator[str]:
    """Tell who keeps fewer intermediates than eager."""
    eager, one = observed.eager, observed.case.intermediate_bytes
    if eager is None or eager.row.peak_memory_bytes is None or observed.case.is_linear:
        return
    peak = eager.row.peak_memory_bytes
    less = [
        f"{rival.name} {with_prefix(rival.row.peak_memory_bytes, 'B')}"
        for rival in observed.rivals
        if rival.row.peak_memory_bytes is not None and peak - rival.row.peak_memory_bytes >= one / 2
    ]
    if less:
        yield (
            f"Fewer steps keep fewer intermediates: one [rows, hidden] tensor is {with_prefix(one, 'B')}; at its peak "
            f"eager holds {with_prefix(peak, 'B')} beside inputs and weights, {', '.join(less)}."
        )


def _traffic(observed: Observed) -> Iterator[str]:
    """Tell how much more eager's steps move than cannot be avoided."""
    eager, least = observed.eager, observed.case.min_bytes
    moved = eager.profile.operators_min_bytes if eager is not None and eager.profile is not None else None
    if observed.case.is_linear or moved is None or moved < _MORE_TRAFFIC * least:
        return
    yield (
        f"Eager's steps read and write at least {with_prefix(moved, 'B')}, {figures(moved / least)} × what "
        "cannot be avoided: each tensor between two steps is written by one and read by the next."
    )


def _limit(observed: Observed) -> Iterator[str]:
    """Tell how much there is to win by fusing what is no product."""
    eager = observed.eager
    if eager is None or eager.call is None or observed.case.is_linear:
        return
    share = eager.call.share_of(eager.call.others)
    if share is None or not eager.call.others or not eager.call.products or share >= 1:
        return
    names = " and ".join(step.name for step in eager.call.others)
    limit = 1 / (1 - share)
    fused = observed.named("fused")
    least = fused.row.speedup_ci_low if fused is not None else None
    is_beyond = least is not None and least > limit
    beyond = "; fused, which is faster than that, gains in its products or on the host, too" if is_beyond else ""
    yield (
        f"What is no product ({names}) takes {percent(share)} of eager's computing. Were it free, and the products as "
        f"they are, computing would be {limit:.2f} × as fast{beyond}."
    )


def _guards(observed: Observed) -> Iterator[str]:
    """Tell what a compiled call adds on the host, and what becomes of it in sum."""
    compiled = observed.named("compiled")
    if compiled is None or compiled.call is None:
        return
    share = compiled.call.host_share(GUARDS)
    if share is None or share < LEAST_SHARE:
        return
    slower = compiled.pace is Pace.SLOWER and compiled.slowdown is not None
    total = f"; in sum it takes {figures(compiled.slowdown)} × eager's time" if slower else ""
    yield (
        "compiled pays at every call for finding the compiled code (its guards) and entering it: "
        f"{percent(share)} of its profiled call{total}."
    )


def _compilation(observed: Observed) -> Iterator[str]:
    """Tell how many calls of eager the first compilation takes, and the one for another shape."""
    compiled, eager = observed.named("compiled"), observed.eager
    if compiled is None or eager is None or not eager.row.latency_s:
        return
    once, again = compiled.row.compile_time_cold_s, compiled.row.recompile_time_s
    if once is None:
        return
    calls = _rounded(once / eager.row.latency_s)
    more = f", and a new shape as long as {_rounded(again / eager.row.latency_s)}" if again else ""
    yield f"Before its first call, compiling took as long as {calls} calls of eager{more}."


_RULES: tuple[tuple[Rule, Callable[[Observed], Iterable[str]]], ...] = (
    (Rule.GUESS, _guess),
    (Rule.BIAS, _bias),
    (Rule.NOTHING_TO_FUSE, _nothing_to_fuse),
    (Rule.FUSED, _fused),
    (Rule.SAME_PRODUCTS, same_products),
    (Rule.TILES, tiles),
    (Rule.OCCUPANCY, occupancy),
    (Rule.TRAFFIC, _traffic),
    (Rule.MEMORY, _memory),
    (Rule.LIMIT, _limit),
    (Rule.GUARDS, _guards),
    (Rule.COMPILATION, _compilation),
    (Rule.SLOWER, slower),
    (Rule.BOUND, bound),
)


def _word(count: float) -> str:
    return _COUNTS[int(count)] if count in range(len(_COUNTS)) else figures(count)


def _counted(count: float, call: Call) -> str:
    kind = "kernel" if call.has_kernels else "operator"
    return f"{figures(count)} {kind if count == 1 else f'{kind}s'}"


def _listed(steps: Iterable[Step]) -> str:
    return ", ".join(step.name if step.count == 1 else f"{figures(step.count)} × {step.name}" for step in steps)


def _rounded(number: float) -> str:
    """Write a large number to two digits: 66,000."""
    digits = max(0, len(str(int(number))) - 2)
    return f"{round(number, -digits):,.0f}"
