"""The allocator's states, in processes of their own: what is set holds for the rest of a process."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.ruler.measure.allocator import faults_per_call
from benchmarks.ruler.plan.points import Allocator, DeviceKind
from benchmarks.ruler.plan.settings import Settings
from benchmarks.ruler.record.provenance import environment_name
from benchmarks.ruler.worker.process import WorkerProcess

ROOT = Path(__file__).parents[3]
ON_GLIBC = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc's malloc has these states")
# Eager's way: 2 MiB of a hidden layer, allocated and freed at each call, whatever was freed before.
SCRIPT = """
import sys, torch
from benchmarks.ruler.measure.allocator import faults_per_call, set_allocator
from benchmarks.ruler.plan.points import Allocator
torch.set_num_threads(1)
n_bytes_before, asked = int(sys.argv[1]), sys.argv[2]
set_allocator(Allocator(asked))
torch.ones(n_bytes_before, dtype=torch.uint8)
x = torch.ones(2048, 256)
for _ in range(30):
    torch.relu(x + 1)
print(faults_per_call(lambda: torch.relu(x + 1)))
"""


def faults(asked, *, freed_before=1):
    command = [sys.executable, "-c", SCRIPT, str(freed_before), asked]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    return float(done.stdout)


@ON_GLIBC
@pytest.mark.parametrize("freed_before", [1, 30 * 2**20])
def test_a_retaining_allocator_maps_no_page_twice_whatever_the_process_did_before(freed_before):
    assert faults("retaining", freed_before=freed_before) <= 4


@ON_GLIBC
@pytest.mark.parametrize("freed_before", [1, 30 * 2**20])
def test_a_returning_allocator_maps_each_page_anew_whatever_the_process_did_before(freed_before):
    n_pages = 2 * 2048 * 256 * 4 // 4096
    assert faults("returning", freed_before=freed_before) >= 0.9 * n_pages


def test_faults_are_the_median_over_a_few_calls_and_of_a_long_one_are_its_own():
    readings = [0, 7, 7, 9, 9, 9, 9, 1000, 1000, 1001]
    several, one = iter(readings), iter(readings)
    calls = []
    assert faults_per_call(lambda: calls.append(1), read=lambda: next(several), now=lambda: 0.0) == 2
    assert len(calls) == 5
    assert faults_per_call(lambda: calls.append(1), read=lambda: next(one), now=lambda: float(len(calls))) == 7
    assert len(calls) == 6


def test_another_allocator_is_another_environment():
    names = {environment_name(DeviceKind.CPU, Settings(allocator=each, threads=2)) for each in Allocator}
    version = f"py{sys.version_info.major}.{sys.version_info.minor}"
    assert names == {f"{version}-cpu-t2", f"{version}-cpu-t2-returning"}


@ON_GLIBC
@pytest.mark.parametrize("asked", list(Allocator))
def test_a_worker_says_its_allocator(asked):
    with WorkerProcess(device=DeviceKind.CPU, threads=1, point_limit_s=60.0, allocator=asked) as worker:
        assert worker.start() is None
        assert worker.hello["conditions"]["allocator"] == asked
