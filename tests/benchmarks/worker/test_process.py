"""What a worker is started with."""

import subprocess

import pytest

from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.worker import process
from benchmarks.ruler.worker.process import worker_environment

THREADS = "TORCHINDUCTOR_COMPILE_THREADS"


@pytest.mark.parametrize(("device", "n_cpus", "n"), [("cuda", 16, "12"), ("cuda", 4, "4"), ("cpu", 16, "1")])
def test_inductor_compiles_beside_itself_only_where_the_processors_are_idle(monkeypatch, device, n_cpus, n):
    monkeypatch.setattr(process, "usable_cpus", lambda: n_cpus)
    assert worker_environment(DeviceKind(device), {})[THREADS] == n


@pytest.mark.parametrize(
    ("raised", "state"),
    [
        ("torch.OutOfMemoryError('CUDA out of memory. Tried to allocate 1 GiB')", State.OUT_OF_MEMORY),
        ('RuntimeError("DefaultCPUAllocator: can\'t allocate memory: 5 bytes")', State.OUT_OF_MEMORY),
        ("MemoryError", State.OUT_OF_MEMORY),
        ("ValueError('a bug')", State.CRASHED),
    ],
)
def test_a_worker_that_ends_for_want_of_memory_says_so(monkeypatch, raised, state):
    started = subprocess.Popen
    program = f"import torch; raise {raised}"

    def popen(command, **options):
        return started([command[0], "-c", program] if "benchmarks.ruler.worker.main" in command else command, **options)

    monkeypatch.setattr(process.subprocess, "Popen", popen)
    with process.WorkerProcess(device=DeviceKind.CPU, threads=1, point_limit_s=60.0) as worker:
        death = worker.start()
    assert death.state is state
    assert raised.partition("(")[0].rpartition(".")[2] in death.reason


@pytest.mark.parametrize("device", list(DeviceKind), ids=str)
def test_what_the_environment_says_of_inductor_stands(device):
    assert worker_environment(device, {THREADS: "3"})[THREADS] == "3"
