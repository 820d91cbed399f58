"""The warm process that measures groups: requests come in on stdin, outcomes leave on stdout, one JSON a line.

It may die of what it measures; `sweep` then knows from `turn` whose turn it was and starts another.
How a request is done is in worker_tasks.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import sys
from typing import IO

import torch

from benchmarks.ruler.measure.conditions import available_memory_bytes, fixed_conditions
from benchmarks.ruler.plan.axes import DeviceKind
from benchmarks.ruler.worker.lifeline import die_with_parent
from benchmarks.ruler.worker.protocol import CEILINGS, request_from_json
from benchmarks.ruler.worker.tasks import Worker
from benchmarks.ruler.worker.turn import Turn


def _limit_memory() -> None:
    # So that a provider which takes too much is told so, instead of the kernel killing whatever is largest.
    available = available_memory_bytes()
    if available is not None:
        limit = int(available * 0.9)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def _own_stdout() -> IO[str]:
    """The pipe to the sweep; what anybody prints from now on goes to stderr instead."""
    ours = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return ours


def main() -> None:
    """Serve requests until stdin ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--turn-fd", type=int, required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--threads", type=int, required=True)
    options = parser.parse_args()
    die_with_parent()
    if os.getppid() != options.parent:
        sys.exit("the sweep that started this worker is gone")
    out = _own_stdout()
    torch.set_num_threads(options.threads)
    if options.device == DeviceKind.CUDA and not torch.cuda.is_available():
        options.device = str(DeviceKind.CPU)
    device = torch.device(options.device)
    if device.type == "cpu":
        _limit_memory()

    def say(message: dict[str, object]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    # What importing torch left behind is for ever; the collector need not look at it between samplings.
    gc.collect()
    gc.freeze()
    say({"event": "hello", "device": device.type, "conditions": fixed_conditions(device)})
    worker = Worker(device=device, turn=Turn(options.turn_fd), say=say)
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["task"] == CEILINGS:
            worker.measure_ceilings()
        else:
            worker.answer(request_from_json(asked))


if __name__ == "__main__":
    main()
