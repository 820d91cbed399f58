"""Fold a profile's event tree into stacks, `kind;phase;outermost;…;innermost NANOSECONDS` per call. Pure.

docs/file-formats.md says what the frames are; flame graph tools read the form.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.traces.event_names import is_autograd_node, is_step, stable_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

HOST, DEVICE = "host", "device"
FORWARD, BACKWARD, WAITING = "forward", "backward", "waiting"
OTHER, NO_OPERATOR = "(other)", "(no operator)"
# Of each kind; a profile has two at most.
MOST_STACKS, MOST_BYTES = 1000, 32 * 1024

_SEPARATORS = re.compile(r"[\s;\0]+")
_RUNTIME = re.compile(r"cu(da)?[A-Z]")
Times = dict[tuple[str, ...], int]


def folded_stacks(on_host: Sequence[Any], kernels: Iterable[Any], *, n_calls: int) -> tuple[str, ...]:
    """Return the self time of every stack, host then device, in nanoseconds per call of `n_calls`; sorted.

    on_host: all of the host's events (torch.autograd.profiler_util.FunctionEvent), each with its parent and the kernels
    it launched. kernels: the device's events that count. Rounded so that the host's stacks sum to the self times of
    `on_host` but the steps', and the device's to the times of `kernels`. Of each kind the largest are kept, up to
    MOST_STACKS and, as JSON, MOST_BYTES; the sum of the others is one stack, `(other)`.
    """
    lineages = _Lineages()
    host = _host_times(on_host, lineages)
    device = _device_times(on_host, kernels, lineages)
    return (*_folded(HOST, host, n_calls=n_calls), *_folded(DEVICE, device, n_calls=n_calls))


def _host_times(on_host: Iterable[Any], lineages: _Lineages) -> Times:
    times: Times = defaultdict(int)
    for event in on_host:
        if not is_step(event.name):
            times[lineages.frames(event)] += _nanoseconds(event.self_cpu_time_total)
    return times


def _device_times(on_host: Iterable[Any], kernels: Iterable[Any], lineages: _Lineages) -> Times:
    times: Times = defaultdict(int)
    left: dict[str, int] = defaultdict(int)
    for kernel in kernels:
        left[kernel.name] += _nanoseconds(kernel.self_device_time_total)
    for event in on_host if left else ():
        if _RUNTIME.match(event.name):
            continue  # torch numbers these and operators apart, so that one may be given another's kernels
        for launched in event.kernels:
            # Ranges of annotations are listed here as if they were kernels.
            if launched.name in left:
                time_ns = _nanoseconds(launched.duration)
                times[*lineages.frames(event), _frame(launched.name)] += time_ns
                left[launched.name] -= time_ns
    for name, time_ns in left.items():
        times[NO_OPERATOR, _frame(name)] += time_ns
    return times


class _Lineages:
    """Frames of events, cached per parent."""

    def __init__(self) -> None:
        self._found: dict[int, tuple[str, ...]] = {}

    def frames(self, event: Any) -> tuple[str, ...]:  # noqa: ANN401 - torch.autograd.profiler_util.FunctionEvent is untyped
        """Return the phase of `event`, its callers from the outermost in, and itself."""
        found = self._found.get(id(event))
        if found is None:
            phase, *callers = (FORWARD,) if event.cpu_parent is None else self.frames(event.cpu_parent)
            name: str = event.name
            if is_autograd_node(name):
                phase = BACKWARD
            elif not callers and name == "cudaDeviceSynchronize":
                phase = WAITING  # the ruler's own, after the call
            own = () if is_step(name) else (_frame(name),)
            found = self._found[id(event)] = (phase, *callers, *own)
        return found


@lru_cache(maxsize=4096)
def _frame(name: str) -> str:
    return _SEPARATORS.sub(" ", stable_name(name)).strip() or "(unnamed)"


def _nanoseconds(microseconds: float) -> int:
    return round(microseconds * 1000)


def _folded(kind: str, times: Mapping[tuple[str, ...], int], *, n_calls: int) -> list[str]:
    by_size = sorted(_per_call(times, n_calls=n_calls).items(), key=lambda item: (-item[1], item[0]))
    texts: list[str] = []
    n_bytes, other = _size(_text(kind, (OTHER,), sum(times.values()))), 0
    for frames, time_ns in by_size:
        text = _text(kind, frames, time_ns)
        if len(texts) < MOST_STACKS - 1 and n_bytes + _size(text) <= MOST_BYTES:
            texts.append(text)
            n_bytes += _size(text)
        else:
            other += time_ns
    return sorted([*texts, _text(kind, (OTHER,), other)] if other else texts)


def _per_call(times: Mapping[tuple[str, ...], int], *, n_calls: int) -> Times:
    """Round to whole nanoseconds that sum to the rounded sum; drop zeros.

    Each is the growth of the rounded sum so far. The smallest come first: a self time below zero, of two events whose
    clocks differ, is so taken from the smallest.
    """
    per_call: Times = {}
    total_ns = given_ns = 0
    for frames, time_ns in sorted(times.items(), key=lambda item: (item[1], item[0])):
        total_ns += time_ns
        share_ns = max(0, round(total_ns / n_calls) - given_ns)
        given_ns += share_ns
        if share_ns:
            per_call[frames] = share_ns
    return per_call


def _text(kind: str, frames: Sequence[str], time_ns: int) -> str:
    return f"{';'.join((kind, *frames))} {time_ns}"


def _size(text: str) -> int:
    """Return the bytes `text` takes in a journal, comma included."""
    return len(json.dumps(text)) + 1
