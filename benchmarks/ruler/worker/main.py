"""Worker: the warm process that measures groups, with requests on stdin and outcomes on stdout, one JSON a line.

It may die of what it measures; the sweep then reads from shared memory which contender ran, and starts another.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

import torch

from benchmarks.ruler.command_line import Parser
from benchmarks.ruler.measure.allocator import AllocatorNotSet, set_allocator
from benchmarks.ruler.measure.conditions import available_memory_bytes, fixed_conditions
from benchmarks.ruler.plan.points import Allocator, DeviceKind
from benchmarks.ruler.record.codec import value_from_json
from benchmarks.ruler.worker.current_contender import CurrentContender
from benchmarks.ruler.worker.parent_death import die_with_parent
from benchmarks.ruler.worker.protocol import CEILINGS, SPEED, CeilingsRequest, Request
from benchmarks.ruler.worker.tasks import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def _limit_memory() -> None:
    # A provider that takes too much then gets an error, instead of the kernel killing whatever is largest.
    available = available_memory_bytes()
    if available is not None:
        limit = int(available * 0.9)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def _allocator(asked: Allocator) -> str:
    """Put the allocator into the state asked for; return its name, or why it is as it was found."""
    try:
        set_allocator(asked)
    except AllocatorNotSet as reason:
        if asked is not Allocator.RETAINING:
            sys.exit(f"FUSEBENCH_ALLOCATOR={asked}: {reason}")
        return f"as found: {reason}"
    return asked


def _own_stdout() -> IO[str]:
    """Return the pipe to the sweep; what anything prints from now on goes to stderr instead."""
    ours = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return ours


def main(arguments: Sequence[str] | None = None, *, make: Callable[..., Worker] = Worker) -> None:
    """Serve requests until stdin ends; `make` makes the worker, by default of sys.argv's arguments."""
    parser = Parser(description=__doc__)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--contender-fd", type=int, required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--allocator", type=Allocator, default=Allocator.RETAINING)
    parser.add_argument("--provider-module", type=Path)
    options = parser.parse_args(arguments)
    die_with_parent()
    if os.getppid() != options.parent:
        sys.exit("the sweep that started this worker is gone")
    out = _own_stdout()
    torch.set_num_threads(options.threads)
    if options.device == DeviceKind.CUDA and not torch.cuda.is_available():
        options.device = str(DeviceKind.CPU)
    device = torch.device(options.device)
    allocator = _allocator(options.allocator)
    if device.type == "cpu":
        _limit_memory()

    def send(message: dict[str, object]) -> None:
        out.write(json.dumps(message) + "\n")
        out.flush()

    # What importing torch left behind stays; the collector need not look at it between samplings.
    gc.collect()
    gc.freeze()
    send({"event": "hello", "device": device.type, "conditions": {**fixed_conditions(device), "allocator": allocator}})
    worker = make(
        device=device,
        current=CurrentContender(options.contender_fd),
        provider_module=options.provider_module,
        send=send,
    )
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["task"] == SPEED:
            worker.look_at_speed()
        elif asked["task"] == CEILINGS:
            worker.measure_ceilings(value_from_json(CeilingsRequest, asked))
        else:
            worker.answer(value_from_json(Request, asked))


if __name__ == "__main__":
    main()
