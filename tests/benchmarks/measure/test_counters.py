"""Readings of processor time: what a thread spins elsewhere is counted when it happens."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
import time
from pathlib import Path
from statistics import median

import pytest

from benchmarks.ruler.measure.counters import Counters, cpu_quota, process_cpu_s, read_counters, window_between

needs_linux = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="brings threads' clocks up to date")


@needs_linux
def test_what_another_thread_computed_is_counted_at_once():
    """Without bringing it up to date the reading is up to 10 ms behind, and charges it to the next window."""
    started = threading.Event()

    def spins():
        started.set()
        hashlib.pbkdf2_hmac("sha256", b"", b"", 600_000)  # without the interpreter's lock, for some 0.3 s

    thread = threading.Thread(target=spins)
    before = process_cpu_s()
    thread.start()
    started.wait()
    its_clock = time.pthread_getcpuclockid(thread.ident)
    missing = []
    for _ in range(20):
        time.sleep(0.003)
        counted_s = process_cpu_s() - before
        # Read last: reading it brings the thread up to date.
        missing.append(time.clock_gettime(its_clock) - counted_s)
    thread.join()
    assert median(missing) < 5e-4


def test_what_an_ended_thread_computed_stays_counted():
    before = process_cpu_s()
    thread = threading.Thread(target=hashlib.pbkdf2_hmac, args=("sha256", b"", b"", 100_000))
    start = time.thread_time()
    thread.start()
    thread.join()
    assert process_cpu_s() - before > 5e-3
    assert time.thread_time() - start < process_cpu_s() - before


def test_readings_without_a_list_of_threads_are_the_processs_clock(monkeypatch, tmp_path):
    monkeypatch.setattr("benchmarks.ruler.measure.counters._OWN_THREADS", tmp_path / "none")
    before = time.process_time()
    assert before <= process_cpu_s() <= time.process_time()


SPINS = "import time; end = time.process_time() + 0.4\nwhile time.process_time() < end: pass"
STARTS_ONE = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPINS!r}])"


@needs_linux
def test_what_our_children_and_theirs_compute_is_not_counted_as_others():
    before = read_counters()
    child = subprocess.Popen([sys.executable, "-c", STARTS_ONE])
    while read_counters().own_s - before.own_s < 0.2 and child.poll() is None:
        time.sleep(0.02)
    assert child.poll() is None, "it is counted while it runs"
    child.wait()
    window = window_between(before, read_counters())
    assert window.own_cores * window.elapsed_s > 0.4


@pytest.fixture
def group(tmp_path):
    """Write files of a control group below a folder that stands for /sys/fs/cgroup; return what reads its quota."""

    def written(own, files):
        (tmp_path / "own").write_text(own)
        for name, text in files.items():
            path = tmp_path / "cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return cpu_quota(cgroups=tmp_path / "cgroup", own=tmp_path / "own")

    return written


COUNTS = "nr_periods 10\nnr_throttled 4\n"


@pytest.mark.parametrize(
    ("own", "files"),
    [
        ("0::/\n", {"cpu.max": "150000 100000\n", "cpu.stat": f"usage_usec 7\n{COUNTS}throttled_usec 250000\n"}),
        # A service's own group has no limit, and the slice around it has.
        (
            "0::/s.slice/a.service\n",
            {
                "s.slice/cpu.max": "150000 100000\n",
                "s.slice/cpu.stat": "throttled_usec 250000\n",
                "s.slice/a.service/cpu.max": "max 100000\n",
            },
        ),
        # Version 1, in a container whose mount is its own group under a name of the host's.
        (
            "4:memory:/x\n3:cpu,cpuacct:/docker/0123\n0::/x\n",
            {
                "cpu,cpuacct/cpu.cfs_quota_us": "150000\n",
                "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
                "cpu,cpuacct/cpu.stat": f"{COUNTS}throttled_time 250000000\n",
            },
        ),
    ],
    ids=["container", "slice", "version 1"],
)
def test_a_quota_is_found_wherever_it_is_set_with_the_time_it_took(group, own, files):
    quota = group(own, files)
    assert quota.cpus == 1.5
    assert quota.throttled_s() == 0.25


def test_without_a_limit_there_is_no_quota(group, tmp_path):
    assert group("0::/\n", {"cpu.max": "max 100000\n"}) is None
    assert group("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}) is None
    assert cpu_quota(cgroups=tmp_path, own=tmp_path / "none") is None


def test_the_tightest_of_several_quotas_counts(group):
    assert group("0::/a/b\n", {"a/b/cpu.max": "400000 100000", "a/cpu.max": "50000 100000"}).cpus == 0.5


def test_a_window_has_the_share_that_a_quota_took_and_none_where_there_is_none():
    def reading(now_s, throttled_s):
        return Counters(now_s=now_s, own_s=0.0, busy_s=None, stolen_s=None, throttled_s=throttled_s)

    assert window_between(reading(0.0, 1.0), reading(2.0, 1.5)).throttled == 0.25
    assert window_between(reading(0.0, None), reading(2.0, None)).throttled is None
