"""torch's own Timer, in a process for each provider, in turns with others: another clock than the ruler's."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.ruler.plan.settings import ROOT, environment_from_settings
from benchmarks.ruler.record.codec import json_from_value
from benchmarks.ruler.worker.process import python_path

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from benchmarks.ruler.plan.points import Shape
    from benchmarks.ruler.plan.settings import Settings

# A process of its own per provider, with the allocator that ours have: a shape on each line of stdin; on stdout, of
# each turn, its moment and the seconds of a call, medians, on inputs that rotate as a worker's do and on a single one.
_TIMER = """
import json, sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from statistics import median
from time import monotonic, perf_counter
import torch
from torch.utils.benchmark import Timer
from benchmarks.ruler.checks.turns import Turn
from benchmarks.ruler.measure.allocator import AllocatorNotSet, set_allocator
from benchmarks.ruler.measure.timing import Policy, calls_per_sample, warming_calls
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
turn, for_s, turn_s = Turn(Path(sys.argv[4])), float(sys.argv[5]), float(sys.argv[6])
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
    # In blocks as long as a sample of ours: of noise that is skewed, longer ones hold more.
    timer.timeit(warming_calls(call_s, policy=Policy()))
    number = calls_per_sample(call_s, policy=Policy())
    end = perf_counter() + turn_s / 2
    while perf_counter() < end:
        yield timer.timeit(number).mean

for line in sys.stdin:
    with turn:
        timers = timers_of(line)  # built without inference_mode: what is packed must be no inference tensor
        turn.pass_on()  # until all have built what they time
        turns, end = [], monotonic() + for_s
        while timers and monotonic() < end:
            turn.pass_on()
            with torch.inference_mode():
                order = list(enumerate(timers))[:: 1 if len(turns) % 2 else -1]
                found = {which: median(times_of_turn(*timer)) for which, timer in order}
            turns.append([monotonic(), found[0], found[1]])
    print(json.dumps(turns or None), flush=True)
"""


class TimerTurn(NamedTuple):
    """A turn of torch's Timer: its end, by the clock that all processes share, and the seconds of a call in it.

    rotating_s: on inputs that rotate; single_s: on one input, over and over.
    """

    at_s: float
    rotating_s: float
    single_s: float


class TimerProcess:
    """A process that times a provider by torch's Timer, each shape for `for_s`, in turns of `turn_s` in a ring."""

    def __init__(self, settings: Settings, provider: str, *, ring: Path, for_s: float, turn_s: float) -> None:
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", _TIMER, provider, str(settings.threads), settings.allocator),
                *(str(ring), str(for_s), str(turn_s)),
            ],
            env=environment_from_settings(settings) | {"PYTHONPATH": python_path()},
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        """Return the process, which ends with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def turns(self, shape: Shape) -> tuple[TimerTurn, ...] | None:
        """Return its turns with a call at `shape`; None: there is no such call.

        Raises: RuntimeError if it has died.
        """
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("torch's Timer has no pipes")
        with suppress(BrokenPipeError):
            print(json.dumps(json_from_value(shape)), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"torch's Timer ended with exit code {self._process.wait()}; what it said is above")
        found: list[list[float]] | None = json.loads(answer)
        return None if found is None else tuple(TimerTurn(*turn) for turn in found)
