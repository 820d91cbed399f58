"""asv as a child process: started on this interpreter and checkout, ended with us."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import InvalidSettings
from benchmarks.ruler.plan.settings import ROOT, Settings, environment_from_settings
from benchmarks.ruler.record.durable import write_whole
from benchmarks.ruler.record.provenance import machine_name, without_foreign_repository
from benchmarks.ruler.worker.parent_death import adopt_orphans, end_children, signal_at_parent_death
from benchmarks.ruler.worker.process import python_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# asv ends its own children one second after it was asked to end.
_LONGEST_END_S = 20.0


@dataclass(frozen=True, kw_only=True)
class AsvEnd:
    """End of asv: its exit status, and the log of what it printed."""

    status: int
    log: Path


@contextmanager
def asv_run(settings: Settings, *, machine: str, commit: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run asv's suites on this interpreter and checkout, as a child that ends when the block is left or we die.

    When the block is left, every other child of this process ends, too.

    Without recording the result if the settings say that no commit holds the code. Raises: InvalidSettings if asv
    cannot keep the machine's description in the home folder.
    """
    with log.open("wb") as output:
        name_machine(machine, output=output.fileno())
        recording = ["--dry-run"] if settings.is_uncommitted else ["--set-commit-hash", commit]
        adopt_orphans()
        process = subprocess.Popen(
            [
                *(
                    sys.executable,
                    "-m",
                    "asv",
                    "--config",
                    str(asv_configuration(settings.data_dir)),
                    "run",
                    "--show-stderr",
                ),
                *("--environment", f"existing:{sys.executable}", "--machine", machine),
                *recording,
            ],
            cwd=ROOT,
            env=_environment(environment_from_settings(settings)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # A Ctrl-C reaches this process alone, which then ends asv: two would disturb asv's own end.
            start_new_session=True,
            preexec_fn=_end_with_parent,  # noqa: PLW1509 - no thread is running yet
        )
        try:
            yield process
        finally:
            _end(process)
            # asv's helpers are in groups of their own, and some do not notice that it is gone.
            end_children()


def _end_with_parent() -> None:
    # A shell's background job ignores SIGINT, and asv would inherit that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal_at_parent_death(signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=_LONGEST_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` where asv, and its processes in folders of their own, find the ruler and the kernels."""
    own = python_path()
    # asv hands on this one as its processes' PYTHONPATH, and its own PYTHONPATH not.
    given = environ.get("ASV_PYTHONPATH")
    return {
        **without_foreign_repository(environ),
        "PYTHONPATH": own,
        "ASV_PYTHONPATH": os.pathsep.join(filter(None, [own, given])),
    }


def asv_configuration(data_dir: Path) -> Path:
    """Return asv's configuration, whose results lie in `data_dir`: the checkout's own, or one made from it there."""
    path = ROOT / "asv.conf.json"
    lines = path.read_text(encoding="utf-8").splitlines()
    values = json.loads("\n".join(line for line in lines if not line.lstrip().startswith("//")))
    if (ROOT / values["results_dir"]).resolve() == (data_dir / "asv").resolve():
        return path
    own = data_dir / "asv.conf.json"
    folders = {name: str(ROOT / values[name]) for name in ("repo", "benchmark_dir", "env_dir")}
    # asv would take the folder of this file for the checkout that its commands name.
    commands = {
        name: [each.replace("{conf_dir}", shlex.quote(str(ROOT))) for each in values[name]]
        for name in ("build_command", "install_command")
    }
    values |= {**folders, **commands, "results_dir": str(data_dir / "asv"), "html_dir": str(data_dir / "html")}
    write_whole(own, json.dumps(values, indent=1) + "\n")
    return own


def name_machine(machine: str, *, output: int) -> None:
    """Have asv describe this machine in the home folder, unless it knows one of that name; it prints to `output`.

    Raises: InvalidSettings if it cannot.
    """
    # asv asks who this machine is the first time; the answer is what the system says, under our name.
    known = Path.home() / ".asv-machine.json"
    try:
        names = json.loads(known.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        names = ()
    if machine in names:
        return
    if not names and machine != (usual := machine_name(Settings())):
        # asv takes the only machine it knows to be this one: a name for one run would become every later run's.
        _describe_machine(usual, known=known, output=output)
    _describe_machine(machine, known=known, output=output)


def _describe_machine(machine: str, *, known: Path, output: int) -> None:
    described = subprocess.run(
        [sys.executable, "-m", "asv", "machine", "--yes", "--machine", machine],
        cwd=ROOT,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
    )
    if described.returncode != 0:
        raise InvalidSettings(
            f"{known}: asv cannot describe the machine {machine!r} there; "
            "set HOME to a folder that can be written, or move the file away if it is damaged"
        )
