"""torch's own Timer, in a process for each provider: another clock than the ruler's."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from benchmarks.ruler.plan.settings import ROOT, environment_from_settings
from benchmarks.ruler.record.codec import json_from_value
from benchmarks.ruler.worker.process import python_path

if TYPE_CHECKING:
    from typing import Self

    from benchmarks.ruler.plan.points import Shape
    from benchmarks.ruler.plan.settings import Settings

# A process of its own per provider, with the allocator that ours have: a shape on each line of stdin, the seconds of a
# call of it on stdout.
_TIMER = """
import json, sys
from contextlib import suppress
from functools import cache
import torch
from torch.utils.benchmark import Timer
from benchmarks.ruler.measure.allocator import AllocatorNotSet, set_allocator
from benchmarks.ruler.plan.points import Allocator, Shape, contender_from_name
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.built import Built
from benchmarks.ruler.providers.workload import one_call, workload
from benchmarks.ruler.record.codec import value_from_json
from benchmarks.ruler.worker.parent_death import end_with_parent

end_with_parent()
contender, threads = contender_from_name(sys.argv[1]), int(sys.argv[2])
torch.set_num_threads(threads)
with suppress(AllocatorNotSet):
    set_allocator(Allocator(sys.argv[3]))

@cache
def timer_of(line):
    load = workload(value_from_json(Shape, json.loads(line)), device=torch.device("cpu"))
    torch._dynamo.reset()
    built = providers.build(contender, load)
    if not isinstance(built, Built):
        return None
    call = one_call(load, built.function)
    with torch.inference_mode():
        call()
    return Timer("call()", globals={"call": call}, num_threads=threads)

for line in sys.stdin:
    timer = timer_of(line)  # built without it: what is packed must be no inference tensor
    with torch.inference_mode():
        print(json.dumps(timer and timer.blocked_autorange(min_run_time=0.3).median), flush=True)
"""


class TimerProcess:
    """A process that times one provider by torch's Timer, shape by shape."""

    def __init__(self, settings: Settings, provider: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _TIMER, provider, str(settings.threads), settings.allocator],
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

    def seconds(self, shape: Shape) -> float | None:
        """Return the median seconds of a call at `shape`; None: no such call. Raises: RuntimeError if it has died."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("torch's Timer has no pipes")
        with suppress(BrokenPipeError):
            print(json.dumps(json_from_value(shape)), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"torch's Timer ended with exit code {self._process.wait()}; what it said is above")
        found: float | None = json.loads(answer)
        return found
