"""asv's record of a run, made from its journal: what `asv run` would keep on the machine that measured it.

asv starts a process for each benchmark and combination of parameters, which takes minutes of a machine that is rented.
Here asv's own code goes through them in one process, anywhere.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.command_line import Parser
from benchmarks.ruler.errors import JournalError
from benchmarks.ruler.plan.axes import all_groups
from benchmarks.ruler.plan.axes_files import axes_from_settings
from benchmarks.ruler.plan.points import DeviceKind, Operation
from benchmarks.ruler.plan.settings import ROOT, Settings, environment_from_settings
from benchmarks.ruler.record.durable import write_whole
from benchmarks.ruler.record.journal import JournalReader
from benchmarks.ruler.record.provenance import RULER_VERSION
from benchmarks.ruler.replay.suite import recording_from_lines
from benchmarks.ruler.sweep.asv_process import asv_configuration
from benchmarks.ruler.sweep.sweep_plan import Plan, empty_sweep, read_plan, write_plan
from benchmarks.ruler.worker.process import python_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.ruler.record.lines import Line
    from benchmarks.ruler.replay.suite import Recording
    from benchmarks.ruler.sweep.sweep_plan import Sweep

_MODULE = "benchmarks.ruler.campaign.asv_record"
_ENVIRONMENT = re.compile(r"py[\d.]+-(?P<device>cpu|cuda)-t(?P<threads>\d+)(-.*)?")


def record_for_asv(journal: Path, settings: Settings) -> Path:
    """Write asv's record of the newest run in `journal`; return the folder of the machine's results.

    The points are those of the settings' axes; the record lies beside others of the settings' data_dir. Raises:
    JournalError.
    """
    sweep = _recorded_sweep(journal.resolve(), settings)
    machine = sweep.plan.run.machine
    with tempfile.TemporaryDirectory() as name:
        plan, machines = Path(name) / "plan.json", Path(name) / "machines.json"
        write_plan(plan, sweep.plan)
        known = settings.data_dir / "asv" / machine / "machine.json"
        write_whole(machines, json.dumps({machine: _machine(known, sweep), "version": 1}))
        # The suites refuse a checkout that differs from its commit, which is not what is recorded here.
        handed_on = Settings(data_dir=settings.data_dir, plan=plan, is_uncommitted=True)
        done = subprocess.run(
            [sys.executable, "-m", _MODULE, str(plan), str(asv_configuration(settings.data_dir)), str(machines)],
            cwd=ROOT,
            env={**environment_from_settings(handed_on), "PYTHONPATH": python_path()},
            stdin=subprocess.DEVNULL,
            check=False,
        )
    if done.returncode:
        raise JournalError(f"{journal}: asv made no record of it and ended with {done.returncode}; see above")
    return settings.data_dir / "asv" / machine


def _recorded_sweep(journal: Path, settings: Settings) -> Sweep:
    lines = [line for line in JournalReader(journal).read() if line.head.run.ruler_version == RULER_VERSION]
    if not lines:
        raise JournalError(f"{journal}: holds nothing of ruler {RULER_VERSION}; name the journal of a run")
    run = lines[-1].head.run
    words = _ENVIRONMENT.fullmatch(run.environment)
    if words is None:
        raise JournalError(f"{journal}: no ruler names an environment {run.environment!r}")
    axes, device = axes_from_settings(settings), DeviceKind(words["device"])
    plan = Plan(
        run=run,
        path=journal,
        device=device,
        threads=int(words["threads"]),
        axes=axes,
        groups=all_groups(axes, operations=tuple(Operation), device=device),
    )
    sweep = empty_sweep(plan).with_lines(lines)
    if not set(sweep.points()) & sweep.recorded.timings.keys():
        raise JournalError(f"{journal}: holds no point of the {axes.name} axes; name others by FUSEBENCH_AXES")
    return sweep


def _machine(known: Path, sweep: Sweep) -> dict[str, Any]:
    """Return asv's description of the machine: its own, if it has run there, else what the journal's lines say."""
    if known.is_file():
        described: dict[str, Any] = json.loads(known.read_text(encoding="utf-8"))
        return {name: value for name, value in described.items() if name != "version"}
    line: Line = next(iter(sweep.recorded.timings.values()))
    conditions, run = line.head.conditions, sweep.plan.run
    return {
        "arch": "",
        "cpu": str(conditions.get("device") or ""),
        "machine": run.machine,
        "num_cpu": str(sweep.plan.threads),
        "os": str(conditions.get("os") or ""),
        "ram": "",
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Let asv run on what the journal of a plan holds, in a process whose environment hands that plan on.

    Returns asv's exit code, or exits with 64 at wrong arguments.
    """
    parser = Parser(prog=f"python -m {_MODULE}", description=__doc__.splitlines()[0])
    parser.add_argument("plan", type=Path, help="plan whose journal asv runs on")
    parser.add_argument("configuration", help="asv's configuration")
    parser.add_argument("machines", help="asv's file of machines")
    asked = parser.parse_args(arguments)

    from asv import runner  # noqa: PLC0415 - asv is imported where it is asked for
    from asv.commands.run import Run  # noqa: PLC0415 - the same
    from asv.config import Config  # noqa: PLC0415 - the same

    known = read_plan(asked.plan)
    sweep = empty_sweep(known).with_lines(JournalReader(known.path).read())
    # The one place where asv asks who starts its processes; it has no other way to be told.
    runner.get_spawner = partial(_spawner, sweep)
    code: int | None = Run.run(
        Config.load(asked.configuration),
        env_spec=[f"existing:{sys.executable}"],
        set_commit_hash=known.run.commit,
        machine=known.run.machine,
        _machine_file=asked.machines,
        show_stderr=True,
        pull=False,
    )
    return code or 0


def _spawner(sweep: Sweep, env: object, benchmark_dir: str, launch_method: str) -> Any:  # noqa: ANN401, ARG001 - asv's
    return _Replayed(sweep, benchmark_dir)


class _Replayed:
    """Stand-in for asv's spawner of processes: runs each benchmark here, on what the run has recorded."""

    def __init__(self, sweep: Sweep, benchmark_dir: str) -> None:
        self._sweep = sweep
        self._root = str(Path(benchmark_dir).resolve())

    @cached_property
    def _recordings(self) -> dict[str, Recording]:
        return {name: recording_from_lines(self._sweep.recorded, operation=name) for name in Operation}

    def preimport(self) -> tuple[bool, str]:
        """Return that there is nothing to import beforehand, and no output of it."""
        return True, ""

    def create_setup_cache(self, benchmark_id: str, timeout: float, params_str: str) -> tuple[str, None]:  # noqa: ARG002 - asv's
        """Return a folder for what asv would keep there between its processes."""
        return tempfile.mkdtemp(), None

    def run(  # noqa: PLR0913, PLR0917 - asv's
        self,
        name: str,
        params_str: str,
        profile_path: str,  # noqa: ARG002 - asv's
        result_file_name: str,
        timeout: float,  # noqa: ARG002 - asv's
        cwd: str,  # noqa: ARG002 - asv's
    ) -> tuple[str, int]:
        """Run the benchmark called `name` and write its result where asv reads it; return its output and exit code."""
        from asv_runner.benchmarks.mark import SkipNotImplemented  # noqa: PLC0415 - the same
        from asv_runner.discovery import get_benchmark_from_name  # noqa: PLC0415 - the same

        benchmark = get_benchmark_from_name(self._root, name, extra_params=json.loads(params_str))
        benchmark.set_cache(self._recordings[name.partition(".")[0]])
        try:
            result = float("nan") if benchmark.do_setup() else benchmark.do_run()
        except SkipNotImplemented:
            result = float("nan")
        finally:
            benchmark.do_teardown()
        write_whole(Path(result_file_name), json.dumps(result))
        return "", 0

    def interrupt(self) -> None:
        """Do nothing: no process is under way."""

    def close(self) -> None:
        """Do nothing, for the same reason."""


if __name__ == "__main__":
    sys.exit(main())
