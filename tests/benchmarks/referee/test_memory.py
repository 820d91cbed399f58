"""What the referee holds of a large input, and takes at most, by the system's own count in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.ruler.plan.points import Pass
from benchmarks.ruler.worker.process import python_path

# Rows of 64 float32 values in and out: 32 MB each. Every figure is a multiple of that.
_SCRIPT = """
import contextlib, json, sys
from pathlib import Path
import torch
from benchmarks.ruler.plan.points import CachePolicy, Contender, Operation, Pass, Shape
from benchmarks.ruler.providers import workload as workloads
from benchmarks.ruler.providers.workload import workload
from benchmarks.ruler.referee.group_referee import GroupReferee
from benchmarks.ruler.referee.tampering import Instrument

def status(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

def taken(work):
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    made = work()
    return made, (status("VmRSS") - before) / x_bytes, (status("VmHWM") - before) / x_bytes

torch.set_num_threads(1)
# What is the same for every shape is no matter here.
workloads.MOST_EXACT_BYTES = 2**22
shape = Shape(operation=Operation.LINEAR, pass_=Pass(sys.argv[1]), dtype="float32", activation=None,
              batch=2**17, hidden=64, dim=64, cache=CachePolicy.WARM)
load, instrument = workload(shape, device=torch.device("cpu")), Instrument()
x_bytes = load.x.numel() * load.x.element_size()
found = {}
referee, found["held"], found["making"] = taken(lambda: GroupReferee(load, instrument=instrument, threads=1))
with torch.inference_mode() if shape.pass_ is Pass.FORWARD else contextlib.nullcontext():
    instrument.note_settings()
    reference, found["reference"], found["computing"] = taken(load.reference)
    referee.attempt(Contender(provider="eager"), reference)  # what is imported and built once
    (outcome, call), _, found["attempting"] = taken(lambda: referee.attempt(Contender(provider="eager"), reference))
    del reference
    referee.before_sample("eager", calls=1)
    referee.before_last_warming("eager")
    referee.before_timing("eager")
    output = call()
    _, _, found["checking"] = taken(lambda: referee.after_sample("eager", output))
print(json.dumps({"state": outcome.state, "findings": list(referee.findings), **found}))
"""


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="no count of the most memory that was taken")
@pytest.mark.parametrize(
    ("pass_", "most"),
    [
        (Pass.FORWARD, {"held": 2, "making": 2, "reference": 2, "computing": 2, "attempting": 4, "checking": 4}),
        (
            Pass.FORWARD_BACKWARD,
            {"held": 4, "making": 4, "reference": 5, "computing": 5, "attempting": 5, "checking": 7},
        ),
    ],
)
def test_a_large_input_is_held_twice_beside_the_workload_and_its_output_too_in_a_backward(pass_, most):
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, pass_],
        # What is freed goes back at once: by default the allocator keeps as much as an output, or not, by luck.
        env={"PYTHONPATH": python_path(), "PATH": "/usr/bin:/bin"}
        | dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), "65536"),
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(done.stdout)
    assert (found.pop("state"), found.pop("findings")) == ("ok", [])
    # The pool of values and what libraries keep come on top, whatever the shape.
    assert {name: times for name, times in found.items() if times > most[name] + 0.5} == {}
