"""A fleet on real engines: one sweep in shards, a worker killed, a host that is slow, every group once in the store.

Hosts are parts of this machine with names of their own; the slow one is slow, as MKL and torch are told to compute with
the instructions that every processor has had for twenty years. `make fleet-test` installs the engines.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from benchmarks.ruler.fleet.command import main
from benchmarks.ruler.fleet.reading import state_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]

ROOT = Path(__file__).resolve().parents[3]
AXES = """
name = "fleet test"
providers = ["eager", "fused"]
batches = [1, 2, 4, 8]
hiddens = [32, 64]
budget_s = 0.03
visits = 1
"""
# Slower by half at least, where others leave the machine alone; a busy one moves hosts apart by less.
SLOW = {"MKL_CBWR": "COMPATIBLE", "ATEN_CPU_CAPABILITY": "default", "DNNL_MAX_CPU_ISA": "SSE41"}
TOLERANCE = "0.4"


@pytest.fixture
def environ(tmp_path, monkeypatch):
    """The environment of the test's commands, and of this process, which engines inherit it from."""
    values = {
        "PYTHONPATH": str(ROOT),
        "FUSEBENCH_DATA": str(tmp_path / "data"),
        "FUSEBENCH_LOCK_FILE": str(tmp_path / "lock"),
        "FUSEBENCH_THREADS": "1",
        "FUSEBENCH_DEVICE": "cpu",
        "FUSEBENCH_UNCOMMITTED": "1",
        "FUSEBENCH_CEILINGS": "0",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return {**os.environ, **values}


@pytest.fixture
def sweep(tmp_path, environ):
    """The folder of a fleet with 24 groups in 5 shards."""
    (tmp_path / "axes.toml").write_text(AXES)
    command = ["plan", "--axes", str(tmp_path / "axes.toml"), "--shards", "5", "--machine", "testbox"]
    main([*command, "--tolerance", TOLERANCE, "--out", str(tmp_path / "sweep")], standalone_mode=False)
    return tmp_path / "sweep"


def work_processes(folder):
    """The processes that work on a shard of `folder`, by host, with its journal's length."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (entry / "cmdline").read_bytes().decode().split("\0")
            if "work" in words and "benchmarks.ruler.fleet.command" in words and any(str(folder) in w for w in words):
                found[int(entry.name)] = words
    return found


@contextmanager
def killing_one_worker(folder):
    """Kill one process that works on a shard once it has recorded a group, with signal 9."""
    killed, is_over = [], threading.Event()

    def kill():
        while not killed and not is_over.wait(0.2):
            if any(path.stat().st_size for path in folder.glob("hosts/*/journal/*/*.jsonl")):
                notes = {path: json.loads(path.read_text()) for path in folder.glob("hosts/*/work/*.json")}
                running = {note["shard"] for note in notes.values() if note["state"] == "running"}
                for pid, words in work_processes(folder).items():
                    shard = next(word for word in words if word.endswith(".json"))
                    if int(Path(shard).stem) in running and not killed:
                        with suppress(ProcessLookupError):
                            os.kill(pid, signal.SIGKILL)
                            killed.append(int(Path(shard).stem))

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    try:
        yield killed
    finally:
        is_over.set()
        thread.join()


def run(folder, *options):
    """Call `fusebench fleet run`; return its exit code."""
    with pytest.raises(SystemExit) as ended:
        main(["run", str(folder), *options], standalone_mode=False)
    return ended.value.code


def measured_in(db):
    """Each measurement of the store: (run, point) → host."""
    with sqlite3.connect(db) as connection:
        rows = connection.execute(
            "select run.uid, measurement.point_id, json_extract(measurement.conditions, '$.host') "
            "from measurement join run on run.id = measurement.run_id"
        ).fetchall()
    return {(uid, point): host for uid, point, host in rows}, rows


def series_in(db):
    """Identity of each series of the store that every measurement has."""
    with sqlite3.connect(db) as connection:
        return set(
            connection.execute(
                "select b.name, b.metric, b.version, p.key, m.name, e.name from series s "
                "join benchmark b on b.id = s.benchmark_id join point p on p.id = s.point_id "
                "join machine m on m.id = s.machine_id join environment e on e.id = s.environment_id "
                "where b.metric in ('latency_s', 'speedup_vs_eager', 'error_rel', 'operator_count')"
            )
        )


def assert_every_group_is_measured_once(folder, tmp_path, environ, *, unfit):
    state = state_of(folder)
    status = state.status()
    assert status.missing == ()
    assert len(status.done) == 24
    assert set(state.unfit) == unfit, state.unfit
    assert all("slower than the class's median over 20 points" in reason for reason in state.unfit.values())
    db = tmp_path / "store.db"
    command = [sys.executable, "-m", "fusebench", "fleet", "collect", str(folder), "--db", str(db)]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    stored, rows = measured_in(db)
    [run_id] = {uid for uid, _ in stored if not uid.endswith("-repeat")}
    assert len([row for row in rows if row[0] == run_id]) == 24 * 2
    assert not set(stored.values()) & unfit
    return stored


SLURM = """
ClusterName=fleet
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmdPidFile={folder}/%n.pid
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
TaskProlog={folder}/prolog
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdParameters=config_overrides
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
NodeName=fast,second,slow NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=1 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@contextmanager
def slurm_cluster(folder):
    """A controller and three nodes of this machine, the last of them slow by its tasks' environment."""
    (folder / "state").mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = SLURM.format(host=platform.node(), folder=folder, port=port, first=port + 1, last=port + 3)
    (folder / "slurm.conf").write_text(text)
    exports = "".join(f"  echo export {name}={value}\n" for name, value in SLOW.items())
    (folder / "prolog").write_text(f'#!/bin/sh\nif [ "$SLURMD_NODENAME" = slow ]; then\n{exports}fi\n')
    (folder / "prolog").chmod(0o755)
    for command in (["slurmctld"], *(["slurmd", "-N", name] for name in ("fast", "second", "slow"))):
        subprocess.run(command, check=True)
    try:
        yield
    finally:
        for path in folder.glob("*.pid"):
            with suppress(ProcessLookupError):
                os.kill(int(path.read_text()), signal.SIGTERM)


@pytest.mark.exhaustive
def test_a_shard_by_hand_goes_on_after_a_kill_and_a_second_host_repeats_a_tenth(sweep, tmp_path, environ):
    with killing_one_worker(sweep) as killed:
        assert run(sweep, "--attempts", "2") == 0
    assert killed
    environ["FUSEBENCH_HOST"] = "second"
    for shard in state_of(sweep).shards:
        if shard.repeats:
            path = str(sweep / "shards" / f"{shard.name}.json")
            command = [sys.executable, "-m", "benchmarks.ruler.fleet.command", "work", path]
            assert subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode == 0
    status = state_of(sweep).status()
    assert status.n_repeats_done == status.n_repeats >= 24 / 10
    stored = assert_every_group_is_measured_once(sweep, tmp_path, environ, unfit=set())
    assert {host for (uid, _), host in stored.items() if uid.endswith("-repeat")} == {"second"}
    assert series_in(tmp_path / "store.db") == series_of_a_run(tmp_path, environ)


def series_of_a_run(tmp_path, environ):
    """The series of the same sweep, measured by `run` on this machine alone."""
    alone = {**environ, "FUSEBENCH_MACHINE": "testbox", "FUSEBENCH_DATA": str(tmp_path / "alone")}
    command = [sys.executable, "-m", "benchmarks.ruler.sweep.run", "--directly", "run"]
    subprocess.run([*command, "--axes", str(tmp_path / "axes.toml")], cwd=ROOT, env=alone, check=True)
    db = tmp_path / "alone.db"
    ingest = [sys.executable, "-m", "fusebench", "ingest", str(tmp_path / "alone"), "--db", str(db)]
    subprocess.run(ingest, cwd=ROOT, env=alone, check=True)
    return series_in(db)


def test_ray_with_gpus_that_are_not_there(sweep, tmp_path, environ):
    """Three nodes with a GPU each; Ray itself starts the killed shard again, and another node takes the slow one's."""
    pytest.importorskip("ray", reason="ray is not installed; make fleet-test installs it")
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        cluster.add_node(num_cpus=1, num_gpus=0, node_name="head", include_dashboard=False)
        for name, more in (("fast", {}), ("second", {}), ("slow", SLOW)):
            variables = {**environ, "FUSEBENCH_HOST": name, **more}
            cluster.add_node(num_cpus=1, num_gpus=1, node_name=name, env_vars=variables)
        with killing_one_worker(sweep) as killed:
            assert run(sweep, "--engine", "ray", "--gpus", "1", "--address", cluster.address) == 0
        assert killed
        stored = assert_every_group_is_measured_once(sweep, tmp_path, environ, unfit={"slow"})
        assert set(stored.values()) == {"fast", "second"}
    finally:
        ray.shutdown()
        cluster.shutdown()


def test_submitit_without_slurm(sweep, tmp_path, environ):
    pytest.importorskip("submitit", reason="submitit is not installed; make fleet-test installs it")
    with killing_one_worker(sweep) as killed:
        assert run(sweep, "--engine", "slurm", "--slurm", "cluster=local") == 0
    assert killed
    assert_every_group_is_measured_once(sweep, tmp_path, environ, unfit=set())


def test_slurm_on_the_loopback(sweep, tmp_path, environ, monkeypatch):
    """Three nodes of one machine, without munge; what was killed is submitted again, and the slow node left out."""
    pytest.importorskip("submitit", reason="submitit is not installed; make fleet-test installs it")
    if not all(map(shutil.which, ("slurmctld", "slurmd", "sbatch"))) or os.geteuid():
        pytest.skip("slurmctld and slurmd are not installed, or we are not root; make fleet-test installs them")
    # Slurm's sockets lie there, whose paths have 108 characters at most.
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="fleet", ignore_cleanup_errors=True) as name:
        monkeypatch.setenv("SLURM_CONF", f"{name}/slurm.conf")
        with slurm_cluster(Path(name)), killing_one_worker(sweep) as killed:
            assert run(sweep, "--engine", "slurm", "--minutes", "30", "--attempts", "4") == 0
    assert killed
    stored = assert_every_group_is_measured_once(sweep, tmp_path, environ, unfit={"slow"})
    assert set(stored.values()) == {"fast", "second"}
