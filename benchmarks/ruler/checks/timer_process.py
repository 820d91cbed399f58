"""torch's own Timer, in a process for each provider, in turns with others: another clock than the ruler's."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import ROOT, environment_from_settings
from benchmarks.ruler.record.codec import json_from_value
from benchmarks.ruler.worker.process import LONGEST_START_S, worker_environment
from benchmarks.ruler.worker.silence import is_stopped

if TYPE_CHECKING:
    from typing import Self

    from benchmarks.ruler.plan.points import Shape
    from benchmarks.ruler.plan.settings import Settings

# A process of its own per provider, with the allocator that ours have: a shape on each line of stdin; on stdout, of
# each turn, its moment, the seconds of a call, medians, on inputs that rotate as a worker's do and on a single one, and
# what else took the machine's time. An empty line meanwhile is a sign of life.
_TIMER = """
import json, sys
from contextlib import suppress
from functools import cache
from statistics import median
from time import monotonic, perf_counter
import torch
from torch.utils.benchmark import Timer
from benchmarks.ruler.checks.turns import Turn
from benchmarks.ruler.measure.allocator import AllocatorNotSet, set_allocator
from benchmarks.ruler.measure.disturbances import Demand, MachineWatch
from benchmarks.ruler.measure.policy import Policy
from benchmarks.ruler.measure.policy import calls_per_sample, warming_calls
from benchmarks.ruler.plan.points import Allocator, Shape, contender_from_name
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.built import Built
from benchmarks.ruler.providers.workload import one_call, workload
from benchmarks.ruler.record.codec import value_from_json
from benchmarks.ruler.referee.rotation import Rotation
from benchmarks.ruler.worker.parent_death import end_with_parent

end_with_parent()
contender, threads = contender_from_name(sys.argv[1]), int(sys.argv[2])
n_inputs = 1024  # more than there are: all take turns
give_sign = lambda: print(flush=True)
turn, for_s, turn_s = Turn(sys.argv[4], threads=threads, waits=give_sign), float(sys.argv[5]), float(sys.argv[6])
watch = MachineWatch(Demand(threads=threads), probe=None)
torch.set_num_threads(threads)
with suppress(AllocatorNotSet):
    set_allocator(Allocator(sys.argv[3]))

@cache
def timers_of(line):
    load = workload(value_from_json(Shape, json.loads(line)), device=torch.device("cpu"))
    torch._dynamo.reset()
    built = providers.build(contender, load)
    if not isinstance(built, Built):
        return None
    rotation = Rotation(load)
    rotation.prepare(n_inputs)
    rotation.start()
    calls = rotation.call(built.function), one_call(load, built.function)
    with torch.inference_mode():
        for call in calls:
            call()
        timers = [Timer("call()", globals={"call": call}, num_threads=threads) for call in calls]
        return [(timer, timer.timeit(20).mean) for timer in timers]

def times_of_turn(timer, call_s):
    # Seconds of a call, and of its block: as long as a sample of ours, as of skewed noise longer ones hold more.
    timer.timeit(warming_calls(call_s, policy=Policy()))
    number = calls_per_sample(call_s, policy=Policy())
    end = perf_counter() + turn_s / 2
    while perf_counter() < end:
        call_s = timer.timeit(number).mean
        yield call_s, call_s * number

for line in sys.stdin:
    with turn:
        timers = timers_of(line)  # built without inference_mode: what is packed must be no inference tensor
        turn.pass_on()  # until all have built what they time
        turns, end = [], monotonic() + for_s
        while timers and monotonic() < end:
            give_sign()
            turn.pass_on()
            watch.start()
            with torch.inference_mode():
                order = list(enumerate(timers))[:: 1 if len(turns) % 2 else -1]
                found = {which: list(zip(*times_of_turn(*timer))) for which, timer in order}
            taken = watch.disturbance({str(which): lasted_s for which, (_, lasted_s) in found.items()})
            turns.append([monotonic(), median(found[0][0]), median(found[1][0]), taken])
    print(json.dumps(turns or None), flush=True)
"""


class TimerTurn(NamedTuple):
    """A turn of torch's Timer: its end, by the clock that all processes share, and the seconds of a call in it.

    rotating_s: on inputs that rotate; single_s: on one input, over and over; taken: what else took the machine's time
    in it, or None.
    """

    at_s: float
    rotating_s: float
    single_s: float
    taken: str | None = None


class TimerProcess:
    """A process that times a provider by torch's Timer, each shape for `for_s`, in turns of `turn_s` in a ring."""

    def __init__(self, settings: Settings, provider: str, *, ring: str, for_s: float, turn_s: float) -> None:
        self._limit_s = settings.point_limit_s
        self._pending = b""
        self._has_begun = False
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", _TIMER, provider, str(settings.threads), settings.allocator),
                *(ring, str(for_s), str(turn_s)),
            ],
            env=worker_environment(DeviceKind.CPU, environment_from_settings(settings)),
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for who started it, which ends it
        )

    def __enter__(self) -> Self:
        """Return the process, which ends with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process, and the compilers it may have started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def turns(self, shape: Shape) -> tuple[TimerTurn, ...] | None:
        """Return its turns with a call at `shape`; None: there is no such call.

        Raises: RuntimeError if it has died, or gives no sign for as long as a worker may; it is killed then.
        """
        if self._process.stdin is None:
            raise RuntimeError("torch's Timer has no pipes")
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(json_from_value(shape)).encode() + b"\n")
            self._process.stdin.flush()
        while not (answer := self._line()):
            self._has_begun = True
        found: list[tuple[float, float, float, str | None]] | None = json.loads(answer)
        return None if found is None else tuple(TimerTurn(*turn) for turn in found)

    def _line(self) -> bytes:
        """Return the next line, which is empty for a sign of life."""
        if self._process.stdout is None:
            raise RuntimeError("torch's Timer has no pipes")
        limit_s = self._limit_s if self._has_begun else max(self._limit_s, LONGEST_START_S)
        while b"\n" not in self._pending:
            if not select.select([self._process.stdout], [], [], limit_s)[0]:
                stopped = "was stopped by a signal, " if is_stopped(self._process.pid) else ""
                self._process.kill()
                raise RuntimeError(f"torch's Timer {stopped}gave no sign for {limit_s:g} s and was killed")
            if not (chunk := os.read(self._process.stdout.fileno(), 1 << 16)):
                raise RuntimeError(f"torch's Timer ended with exit code {self._process.wait()}; what it said is above")
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line
