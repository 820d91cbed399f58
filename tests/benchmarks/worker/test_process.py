"""What a worker is started with."""

import subprocess

import pytest

from benchmarks.ruler.plan.points import Contender, DeviceKind
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.worker import process
from benchmarks.ruler.worker.outcomes import outcomes_of_group
from benchmarks.ruler.worker.process import worker_environment
from benchmarks.ruler.worker.protocol import Request, Task

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


@pytest.mark.parametrize("is_stopped", [True, False])
def test_a_worker_that_says_nothing_for_long_is_told_of_and_what_limits_it_is_no_setting(monkeypatch, is_stopped):
    started, said = subprocess.Popen, []
    # No Python, which may not have begun when it is looked at.
    program = f"{'kill -STOP $$; ' if is_stopped else ''}exec sleep 60"

    def popen(command, **options):
        return started(["/bin/sh", "-c", program] if "benchmarks.ruler.worker.main" in command else command, **options)

    monkeypatch.setattr(process.subprocess, "Popen", popen)
    monkeypatch.setattr(process, "LONG_SILENCE_S", 1.0)
    monkeypatch.setattr(process, "LONGEST_START_S", 2.0)
    with process.WorkerProcess(device=DeviceKind.CPU, threads=1, point_limit_s=60.0, say=said.append) as worker:
        death = worker.start()
    assert death.from_outside is is_stopped, "no contender is blamed for it, the first time"
    assert death.reason == f"{'was stopped by a signal, ' if is_stopped else ''}gave no sign for 2 s and was killed"
    [told] = said
    assert ("kill -CONT" in told) is is_stopped
    assert ("it imports torch" in told) is not is_stopped


def test_what_a_provider_raises_is_a_reason_that_a_journal_a_database_and_a_terminal_hold(tmp_path, shape):
    module = tmp_path / "theirs.py"
    module.write_text(
        "import os, time\n"
        "def garbles(load):\n"
        "    raise ValueError('\\x1b[31mred\\x00 \\udcff')\n"
        "def prints(load):\n"
        "    print('of prints')\n"
        "    time.sleep(1)\n"
        "    return load.module\n"
        "def exits(load):\n"
        "    time.sleep(1)\n"
        "    os._exit(3)\n"
        "PROVIDERS = {'garbles': garbles, 'prints': prints, 'exits': exits}\n",
        encoding="utf-8",
    )
    names = ("garbles", "prints", "exits")
    request = Request(
        task=Task.CHECK, shape=shape, contenders=tuple(Contender(provider=name) for name in names), budget_s=0.1
    )
    with process.WorkerProcess(device=DeviceKind.CPU, threads=1, point_limit_s=300.0, provider_module=module) as worker:
        outcomes, _ = outcomes_of_group(worker, request)
    reasons = {str(contender): outcome.reason for contender, outcome in outcomes.items()}
    assert reasons["garbles"] == r"ValueError: \x1b[31mred\x00 \xff"
    assert reasons["exits"] == "the worker exited with status 3"  # and not what another had printed
    assert reasons["prints"] is None


@pytest.mark.parametrize("device", list(DeviceKind), ids=str)
def test_what_the_environment_says_of_inductor_stands(device):
    assert worker_environment(device, {THREADS: "3"})[THREADS] == "3"
