"""Sharing a host: cores of each GPU, locks that keep whole-host sweeps out, load on one's own cores alone."""

from __future__ import annotations

import fcntl
import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.ruler.errors import InvalidSettings, MachineBusy
from benchmarks.ruler.fleet.host import Host, HostClass
from benchmarks.ruler.fleet.sharing import cores_of_gpu, host_lock, sharing_host
from benchmarks.ruler.measure import counters

HOST = Host(name="node1", node="node1", kind=HostClass(cpu="EPYC", cores=8), gpu_uuid="GPU-aaaa-bbbbbbbbbbbb")
OTHER = replace(HOST, gpu_uuid="GPU-aaaa-cccccccccccc")


@given(st.integers(1, 8), st.sets(st.integers(0, 200), min_size=8, max_size=64))
def test_gpus_have_even_parts_of_the_cores_and_none_in_common(n_gpus, cores):
    parts = [cores_of_gpu(index, n_gpus, sorted(cores)) for index in range(n_gpus)]
    assert len(frozenset().union(*parts)) == sum(map(len, parts))
    assert {len(part) for part in parts} == {len(cores) // n_gpus}
    assert all(part <= cores for part in parts)


def test_fewer_cores_than_gpus_are_refused():
    with pytest.raises(InvalidSettings, match="2 cores for 4 GPUs"):
        cores_of_gpu(0, 4, [0, 1])


def test_each_gpu_that_shares_is_a_host_of_its_own_and_names_its_node():
    one, two = sharing_host(HOST), sharing_host(OTHER)
    assert one.name != two.name
    assert dict(one.conditions(is_shared=True)) == {"host": "node1", "shared_host": "yes"}
    assert dict(HOST.conditions(is_shared=False)) == {"host": "node1"}
    with pytest.raises(InvalidSettings, match="for several GPUs of one host"):
        sharing_host(replace(HOST, gpu_uuid=None))


def hold(path, host, *, is_shared):
    return host_lock(path, host, is_shared=is_shared, say=lambda _: None, waits=False)


def test_two_gpus_measure_at_a_time_and_one_gpu_once(tmp_path):
    path = tmp_path / "lock"
    with hold(path, HOST, is_shared=True):
        with hold(path, OTHER, is_shared=True):
            pass
        with pytest.raises(MachineBusy), hold(path, HOST, is_shared=True):
            pass


def test_a_sweep_of_the_whole_host_and_shards_that_share_it_keep_each_other_out(tmp_path):
    path = tmp_path / "lock"
    with hold(path, HOST, is_shared=True), pytest.raises(MachineBusy), hold(path, HOST, is_shared=False):
        pass
    with hold(path, HOST, is_shared=False), pytest.raises(MachineBusy), hold(path, HOST, is_shared=True):
        pass
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@pytest.mark.parametrize(("pinned", "busy_ticks"), [({0}, 10), ({0, 1}, 30), ({0, 1, 2}, 60)])
def test_a_pinned_process_watches_the_load_of_its_own_cores(monkeypatch, tmp_path, pinned, busy_ticks):
    stat = tmp_path / "stat"
    rows = [("cpu", 60), ("cpu0", 10), ("cpu1", 20), ("cpu2", 30)]
    stat.write_text("".join(f"{name} {ticks} 0 0 5 0 0 0 {ticks // 10} 0 0\n" for name, ticks in rows) + "intr 1\n")
    monkeypatch.setattr(counters, "_PROC_STAT", stat)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: pinned)
    per_s = os.sysconf("SC_CLK_TCK")
    busy_s, stolen_s = counters._seconds_of_all()
    assert busy_s == pytest.approx(busy_ticks / per_s)
    assert stolen_s == pytest.approx(busy_ticks // 10 / per_s)
