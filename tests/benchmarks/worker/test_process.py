"""What a worker is started with."""

import pytest

from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.worker import process
from benchmarks.ruler.worker.process import worker_environment

THREADS = "TORCHINDUCTOR_COMPILE_THREADS"


@pytest.mark.parametrize(("device", "n_cpus", "n"), [("cuda", 16, "12"), ("cuda", 4, "4"), ("cpu", 16, "1")])
def test_inductor_compiles_beside_itself_only_where_the_processors_are_idle(monkeypatch, device, n_cpus, n):
    monkeypatch.setattr(process, "usable_cpus", lambda: n_cpus)
    assert worker_environment(DeviceKind(device), {})[THREADS] == n


@pytest.mark.parametrize("device", list(DeviceKind), ids=str)
def test_what_the_environment_says_of_inductor_stands(device):
    assert worker_environment(device, {THREADS: "3"})[THREADS] == "3"
