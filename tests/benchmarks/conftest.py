"""Values that the ruler's tests share."""

import fcntl
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import torch

from benchmarks.ruler.measure.conditions import fixed_conditions
from benchmarks.ruler.plan.points import CachePolicy, Contender, Operation, Pass, Shape
from benchmarks.ruler.plan.roofline import Ceilings
from benchmarks.ruler.plan.settings import settings_from_environment
from benchmarks.ruler.record.lines import Head, ProfileLine, Run, TimingLine
from benchmarks.ruler.record.outcome import (
    GapRow,
    KernelRow,
    OperatorRow,
    ProfileOutcome,
    RuntimeCallRow,
    RuntimeKind,
    State,
    TimingOutcome,
    Visit,
)
from benchmarks.ruler.worker.parent_death import PROCESS_NAME

ROOT = Path(__file__).parents[2]


class AsvPlace:
    """A folder of its own for asv and the journal; every process started in it is found by its environment."""

    def __init__(self, folder, axes):
        self.folder = folder
        self.head, self.before = self.hash_of("HEAD"), self.hash_of("HEAD~1")
        config = json.loads(
            "\n".join(
                line for line in (ROOT / "asv.conf.json").read_text().splitlines() if not line.strip().startswith("//")
            )
        )
        config |= {"repo": str(ROOT), "benchmark_dir": str(ROOT / "benchmarks"), "results_dir": str(folder / "asv")}
        (folder / "asv.conf.json").write_text(json.dumps(config))
        (folder / "axes.toml").write_text(axes)
        self.environ = {
            **os.environ,
            "HOME": str(folder),
            # Compiling our C++ kernels takes minutes, and is not what is tested.
            "FUSED_MLP_CACHE": os.environ.get("FUSED_MLP_CACHE", str(Path.home() / ".cache" / "fused_mlp")),
            "PYTHONPATH": str(ROOT),
            "FUSEBENCH_DATA": str(folder / "data"),
            "FUSEBENCH_AXES": str(folder / "axes.toml"),
            "FUSEBENCH_MACHINE": "testbox",
            "FUSEBENCH_THREADS": "1",
            "FUSEBENCH_DEVICE": "cpu",
            "FUSEBENCH_UNCOMMITTED": "1",
        }
        self.asv("machine", "--yes", "--machine", "testbox").wait()

    def asv(self, *arguments):
        with (self.folder / "asv-output.txt").open("wb") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "asv", "--config", str(self.folder / "asv.conf.json"), *arguments],
                env=self.environ,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def output_of(self, *arguments):
        """What an asv command prints, once it is done, and its exit code."""
        code = self.asv(*arguments).wait()
        return (self.folder / "asv-output.txt").read_text(), code

    def hash_of(self, revision):
        return subprocess.run(
            ["git", "rev-parse", revision], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    def run(self, *arguments, commit=None):
        """`asv run` on this interpreter, filed under `commit`, which is HEAD as it was at the start."""
        commit = commit or self.head
        self.environ["FUSEBENCH_COMMIT"] = commit
        where = ("-E", f"existing:{sys.executable}", "--machine", "testbox")
        return self.asv("run", *where, "--set-commit-hash", commit, *arguments)

    def fusebench(self, *arguments, **variables):
        """`fusebench ARGUMENTS…` on this interpreter; what it prints goes to `fusebench-output.txt`."""
        with (self.folder / "fusebench-output.txt").open("wb") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "fusebench", *arguments],
                env={**self.environ, **variables},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def said(self):
        """What the last fusebench command has printed so far."""
        return (self.folder / "fusebench-output.txt").read_text()

    def is_locked(self):
        """Whether a sweep holds the machine's lock."""
        with settings_from_environment(self.environ).lock_file.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    def journal(self):
        return b"".join(path.read_bytes() for path in sorted((self.folder / "data" / "journal").rglob("*.jsonl")))

    def processes(self):
        """Command lines of all living processes that carry this folder in their environment, by pid.

        Without a fork server that asv had started and not yet told to import a suite: none of our code is in it, and
        it waits for ever if asv is killed just then.
        """
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    is_ours = str(self.folder).encode() in (entry / "environ").read_bytes()
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    name = (entry / "comm").read_text().strip()
                except OSError:
                    continue
                if is_ours and line and (" run_server " not in line or name == PROCESS_NAME):
                    found[int(entry.name)] = line
        return found


@pytest.fixture
def lock():
    """The machine's lock, of this test worker's own."""
    return settings_from_environment().lock_file


@pytest.fixture(scope="session")
def asv_place_at():
    """Makes an AsvPlace in the given folder, for the axes of a TOML text."""
    return AsvPlace


@pytest.fixture
def asv_place(tmp_path):
    """Makes an AsvPlace in a temporary folder, for the axes of a TOML text."""
    return lambda axes: AsvPlace(tmp_path, axes)


@pytest.fixture(scope="session")
def shape():
    return Shape(
        operation=Operation.MLP,
        pass_=Pass.FORWARD,
        dtype="float32",
        activation="gelu",
        batch=8,
        hidden=32,
        dim=16,
        cache=CachePolicy.WARM,
    )


@pytest.fixture(scope="session")
def run():
    return Run(
        run_id="0123456789ab",
        started_at="2026-01-02T03:04:05.678+00:00",
        project="fusebench",
        commit="c0ffee" + 34 * "0",
        commit_date="2026-01-01T00:00:00+00:00",
        commit_subject='Fuse "all" → of it',
        machine="m",
        environment="py3.11-cpu-t2",
        ruler_version="1",
    )


@pytest.fixture(scope="session")
def known_ceilings():
    """Ceilings that a sweep here takes for its machine's, as if they had just been measured."""
    return Ceilings(
        device="the test's",
        measured_at=datetime.now(UTC).isoformat(),
        matmul_flop_per_s={"float32": 1e11, "bfloat16": 1e11},
        copy_bytes_per_s=1e10,
        vector_instruction_per_s=5e10,
        dispatch_s=1e-6,
        bandwidth_bytes_per_s={"65536": 1e11, str(2**26): 1e10},
        conditions=fixed_conditions(torch.device("cpu")),
    )


@pytest.fixture(scope="session")
def timing_line(run, shape):
    return TimingLine(
        head=Head(
            run=run,
            conditions={"torch": "2.13.0", "load_by_others": 0.1, "driver": None},
            shape=shape,
            contender=Contender(provider="fused"),
            threads=2,
            measured_at="2026-01-02T03:04:06.000+00:00",
        ),
        group="abcdef01",
        outcome=TimingOutcome(
            state=State.OK,
            latency_s=1.25e-5,
            latency_ci_low_s=1.2e-5,
            latency_ci_high_s=1.3e-5,
            visits=(Visit(measured_at="2026-01-02T03:04:06.000+00:00", n_samples=3, median_s=1.25e-5),),
            samples_s=(1.2e-5, 1.25e-5, 1.3e-5),
            calls_per_sample=17,
            stop="precision",
            speedup_vs_eager=2.0,
            error_rel=1e-7,
        ),
        flop=2 * 2 * 8 * 16 * 32,
        min_bytes=4 * (2 * 16 * 32 + 48 + 2 * 8 * 16),
        floor_s=1e-6,
    )


@pytest.fixture(scope="session")
def profile_line(timing_line):
    return ProfileLine(
        head=timing_line.head,
        outcome=ProfileOutcome(
            state=State.OK,
            operator_count=1.0,
            operator_time_s=1e-5,
            peak_memory_bytes=512,
            operators=(
                OperatorRow(
                    name="fused_mlp::mlp",
                    count=1.0,
                    self_time_s=1e-5,
                    total_time_s=1e-5,
                    is_compute=True,
                    inputs=("float32[8,16] float32[32,16]",),
                    min_bytes_reason="no rule",
                ),
            ),
            kernels=(KernelRow(name="k", count=1.0, device_time_s=2e-6),),
            stacks=("device;forward;fused_mlp::mlp;k 2000", "host;forward;fused_mlp::mlp 10000"),
            gap_count=1.0,
            gaps=(GapRow(duration_s=1e-6, after="k", before="k"),),
            runtime_calls=(RuntimeCallRow(name="cudaLaunchKernel", kind=RuntimeKind.LAUNCH, count=2.0, time_s=1e-5),),
            missing={"allocated_bytes": "not recorded"},
        ),
        bound="overhead",
    )
