"""Steps of one call: what computes, in which share of the time, and what else the host does; profiles to values; pure.

On a CPU a step is an operator that computes, on a GPU a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from results.judgement.latency_parts import MOST_OVER_LATENCY
from results.kernel_names import PRODUCT, SPLIT_K_SUM, decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from results.files.stacks import FoldedStack
    from results.kernel_names import KernelName
    from results.rows import ProfileRow

# Stacks hold all profiled calls. Beyond this multiple of the least time that operators took in one of them another
# process took the processor in the midst of a call, as beyond MOST_OVER_LATENCY of the latency.
_MOST_OVER_BEST = 1.5
# Operators of ATen that compute a matrix product.
PRODUCTS = frozenset({"aten::addmm", "aten::mm", "aten::bmm", "aten::_addmm_activation"})
# Frames of a compiled call: finding the compiled code that fits, and entering it.
GUARDS = frozenset(
    {
        "TorchDynamo Cache Lookup",
        "Torch-Compiled Region",
        "Pregraph bytecode",
        "AOTDispatcher Runtime Wrapper Prologue",
        "## Call CompiledFxGraph ##",
    }
)
# Operators that only rewrite sizes and strides, or hand on to another.
VIEWS = frozenset(
    {
        *("aten::t", "aten::transpose", "aten::as_strided", "aten::view", "aten::reshape", "aten::_unsafe_view"),
        *("aten::expand", "aten::linear", "aten::matmul", "aten::resolve_conj"),
    }
)


@dataclass(frozen=True, kw_only=True)
class Step:
    """Operator or kernel that computes: how often it runs, and its share of all computing.

    name: without what differs from process to process. within: operators that it calls and that compute, too, each with
    its share of the step, None where that is not known.
    """

    name: str
    count: float
    share: float | None
    within: Mapping[str, float | None]

    @property
    def decoded(self) -> KernelName:
        """What the name says of who made it and what it fuses."""
        return decoded(self.name)

    @property
    def is_product(self) -> bool:
        """Whether it is a matrix product, or adds up one's parts, as far as the name says."""
        return self.name in PRODUCTS or self.decoded.kind in {PRODUCT, SPLIT_K_SUM}

    @property
    def counted(self) -> float:
        """How often it counts: a kernel that adds up a product's parts is part of the product, and counts nothing."""
        return 0.0 if self.decoded.kind == SPLIT_K_SUM else self.count


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of a contender: its steps by descending time, and what the host does between them.

    bookkeeping: seconds of the host outside steps, by the frame that takes them. host_s: of all that the host does.
    is_disturbed: whether its operators took so much longer than at their best that no share can be told.
    """

    steps: tuple[Step, ...]
    bookkeeping: Mapping[str, float]
    host_s: float
    has_kernels: bool
    is_disturbed: bool = False

    @property
    def step_count(self) -> float:
        """How many steps run."""
        return number_of(self.steps)

    @property
    def products(self) -> tuple[Step, ...]:
        """Steps that are matrix products."""
        return tuple(step for step in self.steps if step.is_product)

    @property
    def others(self) -> tuple[Step, ...]:
        """Steps that are none."""
        return tuple(step for step in self.steps if not step.is_product)

    @property
    def names(self) -> dict[str, float]:
        """How often each step runs, by name."""
        return {step.name: step.count for step in self.steps}

    def share_of(self, steps: Iterable[Step]) -> float | None:
        """Return what share of all computing the steps take; None where one's is not known."""
        shares = [step.share for step in steps]
        known = [share for share in shares if share is not None]
        return sum(known) if len(known) == len(shares) else None

    def host_share(self, names: Iterable[str]) -> float | None:
        """Return what share of the host's time goes to the bookkeeping called `names`; None if disturbed."""
        if self.is_disturbed:
            return None
        wanted = set(names)
        spent = sum(time_s for name, time_s in self.bookkeeping.items() if name in wanted)
        return spent / self.host_s if self.host_s else 0.0


def number_of(steps: Iterable[Step]) -> float:
    """Return how many steps run."""
    return sum(step.counted for step in steps)


def call_from(profile: ProfileRow, stacks: Sequence[FoldedStack], *, latency_s: float | None = None) -> Call:
    """Return what one call does, from its profile and its folded stacks of the host. latency_s: unprofiled."""
    computing = {row.name for row in profile.operators if row.is_compute}
    outer: dict[str, dict[str, float]] = {}
    bookkeeping: dict[str, float] = {}
    for stack in stacks:
        found = [frame for frame in stack.frames if frame in computing]
        if found:
            # What a computing operator calls belongs to it; what in that computes, too, is named within.
            inner = outer.setdefault(found[0], {})
            inner[found[-1]] = inner.get(found[-1], 0.0) + stack.time_s
        else:
            bookkeeping[stack.frames[-1]] = bookkeeping.get(stack.frames[-1], 0.0) + stack.time_s
    computing_s = sum(time_s for inner in outer.values() for time_s in inner.values())
    is_disturbed = _is_over(computing_s, None if profile.kernels else profile.operator_time_s, times=_MOST_OVER_BEST)
    is_disturbed |= _is_over(sum(stack.time_s for stack in stacks), latency_s, times=MOST_OVER_LATENCY)
    steps = _merged(_from_kernels(profile) if profile.kernels else _from_operators(profile, outer))
    if is_disturbed:
        steps = tuple(replace(step, share=None, within=dict.fromkeys(step.within)) for step in steps)
    return Call(
        steps=steps,
        bookkeeping=bookkeeping,
        host_s=sum(stack.time_s for stack in stacks),
        has_kernels=bool(profile.kernels),
        is_disturbed=is_disturbed,
    )


def _is_over(time_s: float, least_s: float | None, *, times: float) -> bool:
    return bool(least_s) and least_s is not None and time_s > times * least_s


def _merged(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Add up steps of one name, such as two kernels that differ in their number within a graph."""
    found: dict[str, Step] = {}
    for step in steps:
        if (before := found.get(step.name)) is None:
            found[step.name] = step
        else:
            shares = (before.share, step.share)
            share = None if None in shares else sum(each for each in shares if each is not None)
            found[step.name] = replace(before, count=before.count + step.count, share=share)
    return tuple(found.values())


def _from_kernels(profile: ProfileRow) -> Iterable[Step]:
    total = sum(row.device_time_s or 0.0 for row in profile.kernels)
    for row in profile.kernels:
        share = row.device_time_s / total if total and row.device_time_s is not None else None
        yield Step(name=decoded(row.name).stable, count=row.count, share=share, within={})


def _from_operators(profile: ProfileRow, outer: Mapping[str, Mapping[str, float]]) -> Iterable[Step]:
    rows = [row for row in profile.operators if row.is_compute and (row.name in outer or not outer)]
    totals = {name: sum(inner.values()) for name, inner in outer.items()}
    whole = sum(totals.values())
    for row in sorted(rows, key=lambda row: -totals.get(row.name, 0.0)):
        total = totals.get(row.name)
        inner = outer.get(row.name, {})
        yield Step(
            name=decoded(row.name).stable,
            count=row.count,
            share=total / whole if total is not None and whole else None,
            within={name: time_s / total for name, time_s in inner.items() if name != row.name} if total else {},
        )
