"""The measuring tower as a process of its own, and what it recorded brought into the store.

Both need a checkout, which alone holds the benchmarks.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from results.commands.extras import require_modules
from results.data_folder import NAME_IN_DATA_FOLDER, data_folder_of_environment, database_of_environment
from results.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType

MEASURING = ("torch", "asv", "asv_runner")
passes_on = click.argument("options", nargs=-1, type=click.UNPROCESSED)
AS_THEY_ARE = {"ignore_unknown_options": True, "allow_interspersed_args": False}
RUN = (sys.executable, "-m", "benchmarks.ruler.sweep.run")
FLEET = (sys.executable, "-m", "benchmarks.ruler.fleet.command")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where measurements go. data: folder of record, None for the checkout's own; db: the store's, None for ours."""

    folder: Path
    data: Path | None
    db: str | None

    @property
    def db_option(self) -> list[str]:
        """Option that names the store to a command of ours."""
        return ["--db", self.db] if self.db else []


@dataclass(frozen=True, kw_only=True)
class Measured:
    """How measuring ended. selection: revision and options that choose what was measured; None if there is none."""

    exit_code: int
    selection: list[str] | None


def place_of(folder: Path, *, is_recorded: bool) -> Place:
    """Return where measurements go; below `folder`, which is temporary, unless they are recorded."""
    if is_recorded:
        return Place(folder=folder, data=data_folder_of_environment(), db=database_of_environment())
    # What no commit holds is kept only long enough to be shown.
    data = folder / "data"
    return Place(folder=folder, data=data, db=str(data / NAME_IN_DATA_FOLDER))


def measure(checkout: Path, options: Sequence[str], place: Place, *, stdout: int | None = None) -> Measured:
    """Run the sweep that `options` ask for, and store what it recorded."""
    from results.commands.ingest import ingest  # noqa: PLC0415 - needs the store's modules

    selection = place.folder / "selection.json"
    started = ["--cwd", str(Path.cwd()), "--parent", str(os.getpid()), "--selection", str(selection)]
    environ = dict(os.environ) if place.data is None else {**os.environ, "FUSEBENCH_DATA": str(place.data)}
    code = run_to_end([*RUN, *started, *options], checkout, environ, stdout=stdout)
    if code not in {ExitCode.FINE, ExitCode.FAILED} or not selection.exists():
        return Measured(exit_code=code, selection=None)
    chosen = json.loads(selection.read_text(encoding="utf-8"))
    where = [word for text in chosen["where"] for word in ("--where", text)]
    stored = call_command(ingest, [*([str(place.data)] if place.data else []), *place.db_option])
    if stored:
        return Measured(exit_code=stored, selection=None)
    return Measured(exit_code=code, selection=[chosen["revision"], *where])


def answered(
    name: str,
    options: Sequence[str],
    *,
    module: str,
    measuring: Callable[[Mapping[str, Any], Path], list[str]],
    answer: Callable[[], click.Command],
) -> int:
    """Let `python -m module` turn options into a question, measure what that asks, and answer it.

    measuring: the sweep's options for a question and the folder it lies in. answer: imports the command that prints
    the answer from what was measured; called first, so that what it lacks is told before minutes of measuring. The
    answer alone goes to standard output, where a program may read it.
    """
    checkout = checkout_of_command()
    require_modules(MEASURING, command=name, extra="bench")
    command = [sys.executable, "-m", module, "--cwd", str(Path.cwd())]
    if {"-h", "--help"} & set(options):
        return help_of([*command, *options], checkout)
    answering, words = answer(), sys.stderr.fileno()
    with tempfile.TemporaryDirectory() as folder:
        # A module of somebody's, which the question may be about, may print.
        code = run_to_end([*command, "--out", folder, *options], checkout, os.environ, stdout=words)
        if code:
            return code
        question = Path(folder) / "question.json"
        asked = json.loads(question.read_text(encoding="utf-8"))
        flags = [f"--{flag}" for flag in ("uncommitted", "again") if asked[flag]]
        place = place_of(Path(folder), is_recorded=not asked["uncommitted"] and not is_kept_out_by_environment())
        with redirect_stdout(sys.stderr):
            wanted = ["--directly", name, *measuring(asked, Path(folder)), *flags]
            measured = measure(checkout, wanted, place, stdout=words)
        if measured.selection is None:
            return measured.exit_code
        return call_command(answering, [*measured.selection, "--question", str(question), *place.db_option])


def is_kept_out_by_environment() -> bool:
    """Return whether the environment asks to measure what no commit holds, and names no folder to keep that in."""
    return os.environ.get("FUSEBENCH_UNCOMMITTED") == "1" and not os.environ.get("FUSEBENCH_DATA")


def help_of(command: Sequence[str], folder: Path) -> int:
    """Let `command` print its help; return its exit code."""
    return subprocess.run(command, cwd=folder, check=False).returncode


def run_to_end(command: list[str], folder: Path, environ: Mapping[str, str], *, stdout: int | None = None) -> int:
    """Run `command` and return its exit code, 128 and the number if a signal ended it.

    Signals that ask this process to end are passed on: it ends what it has started, says so, and then ends itself.
    """
    received: list[int] = []
    started: list[subprocess.Popen[bytes]] = []

    def pass_on(signum: int, _: FrameType | None) -> None:
        received.append(signum)
        for process in started:
            process.send_signal(signum)

    before = {signum: signal.getsignal(signum) for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    for signum, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(signum, pass_on)
    try:
        # The child is born with them blocked, and answers them once it has imported what that takes.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, before)
        try:
            process = subprocess.Popen(command, cwd=folder, env=dict(environ), stdout=stdout)
            started.append(process)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        with process:
            for each in received:
                process.send_signal(each)
            status = process.wait()
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
    return status if status >= 0 else 128 - status


def call_command(command: click.Command, arguments: list[str]) -> int:
    """Call a command of ours and return its exit code."""
    with command.make_context(f"fusebench {command.name}", arguments) as inner:
        return int(command.invoke(inner) or ExitCode.FINE)


def checkout_of_command() -> Path:
    """Return the checkout this command belongs to, or the one we are in; only a checkout holds the benchmarks."""
    for folder in (Path(__file__).resolve().parents[3], Path.cwd(), *Path.cwd().parents):
        if (folder / "asv.conf.json").is_file() and (folder / "benchmarks" / "ruler").is_dir():
            return folder
    raise click.UsageError(
        "this command is for a checkout of fusebench, and there is none here; git clone it, then run `make bench` in it"
    )
