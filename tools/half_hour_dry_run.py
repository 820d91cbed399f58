"""The three calls of device/ on this CPU: no git and no make, each killed once and gone on with on a bare copy.

Command: `make gpu-half-hour-dry-run`, after `make gpu-half-hour`. DRY_PYTHON names the interpreter that plays the
machine's, with its own torch and triton. Prints what it does and finds; ends with 1 if
something is not as it should be.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).resolve().parents[1]
HIDDEN = ("git", "make", "gmake")
# What the archive of each call holds when it is killed the first time: it is in the middle of what it is for.
KILLED_ONCE_THERE_IS = {1: "campaign/smoke.jsonl", 2: "journal/", 3: "campaign/worst-cpu.jsonl"}
# Compiled once for all: a GPU's kernels are Triton's.
COMPILES = "import sys; sys.path.insert(0, 'kernels'); from fused_mlp.native.build import ensure_built; ensure_built()"
MOST_FILES, MOST_BYTES = 8, 16 * 2**20


def main() -> None:
    """Rehearse and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", type=Path, required=True, help="interpreter with the machine's torch and triton")
    parser.add_argument("--minutes", type=float, default=9.5, help="of a call that is not killed [9.5]")
    parser.add_argument(
        "--providers", default="eager,fused", help="'' for all, which compile for many minutes on a CPU"
    )
    options = parser.parse_args()
    if not (ROOT / "device" / "bundle" / "COMMIT").exists():
        sys.exit("device/bundle is missing: make gpu-half-hour")
    wanted = (ROOT / "device" / "bundle" / "PYTHON").read_text(encoding="utf-8").strip()
    version = subprocess.run([options.python, "-c", VERSION], capture_output=True, text=True, check=True).stdout.strip()
    if version != wanted:
        sys.exit(
            f"device/bundle is for Python {wanted} and {options.python} is {version}: make gpu-half-hour-dry-run "
            f"DRY_PYTHON=<a Python {wanted} with torch and triton>, or make gpu-half-hour BUNDLE_PYTHON={version}"
        )
    with tempfile.TemporaryDirectory(prefix="half-hour-") as name:
        environ = bare_environment(Path(name), python=options.python.absolute())
        environ |= {"FUSEBENCH_MINUTES": str(options.minutes), "FUSEBENCH_PROVIDER": options.providers}
        sys.exit(rehearsed(Path(name), environ))


def rehearsed(folder: Path, environ: dict[str, str]) -> int:
    """Run the calls in `folder`; return the exit code."""
    python = environ["FUSEBENCH_PYTHON"]
    print(subprocess.run([python, "-c", VERSIONS], env=environ, capture_output=True, text=True, check=True).stdout)
    print("-- compiling the kernels of this CPU", flush=True)
    subprocess.run([python, "-c", COMPILES], env=environ, cwd=ROOT, check=True)
    problems: list[str] = []
    archive: Path | None = None
    for number, awaited in KILLED_ONCE_THERE_IS.items():
        first = bare_copy(folder / f"call-{number}-killed", archive=archive)
        call(first, number, environ, out=(out := folder / f"out-{number}-killed"), killed_once_there_is=awaited)
        archive = only_archive(out, problems) or archive
        kept = journal_lines(archive)
        print(f"-- killed, with {awaited} in its archive, which holds {len(kept)} lines of the journal")
        second = bare_copy(folder / f"call-{number}", archive=archive)
        printed = call(second, number, environ, out=(out := folder / f"out-{number}"))
        problems += [f"call {number}: {line}" for line in failed_pieces(printed)]
        archive = only_archive(out, problems) or archive
        after = journal_lines(archive)
        if after[: len(kept)] != kept:
            problems.append(f"call {number}: lines that were in the archive before it are not the first ones after it")
        print(f"-- gone on with on a bare copy; the archive holds {len(after)} lines, the first {len(kept)} as before")
    problems += twice_measured(journal_lines(archive))
    problems += changed_by_out(second, environ)
    for problem in problems:
        print(f"NOT AS IT SHOULD BE: {problem}")
    print(f"dry run: {len(problems)} problems; the last archive has {archive.stat().st_size if archive else 0} bytes")
    return 1 if problems else 0


VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"
VERSIONS = (
    "import sys, torch; from importlib.metadata import version; "
    "print('python', sys.version.split()[0], 'torch', torch.__version__, 'triton', version('triton'))"
)


def bare_environment(folder: Path, *, python: Path) -> dict[str, str]:
    """Return the variables of a machine without git and make on its path."""
    programs = folder / "bin"
    programs.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        for path in Path(place).glob("*") if Path(place).is_dir() else ():
            target = programs / path.name
            if path.name not in HIDDEN and not path.name.startswith("git-") and not target.is_symlink():
                target.symlink_to(path.resolve())
    (folder / "home").mkdir()
    found = {
        "PATH": str(programs),
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder),
        "FUSEBENCH_PYTHON": str(python),
        "FUSEBENCH_DEVICE": "cpu",
        "FUSEBENCH_MACHINE": "rehearsal",
        "FUSEBENCH_THREADS": "1",
        "FUSEBENCH_LOCK_FILE": str(folder / "lock"),
        "FUSED_MLP_CACHE": os.environ.get("FUSED_MLP_CACHE", str(folder / "kernels")),
    }
    for name in ("git", "make"):
        print(f"on the path: {name}: {shutil.which(name, path=found['PATH'])}")
    return found


def bare_copy(folder: Path, *, archive: Path | None) -> Path:
    """Return a copy of the bundle's commit without its history, with the bundle and the archive of earlier calls."""
    folder.mkdir()
    commit = (ROOT / "device" / "bundle" / "COMMIT").read_text(encoding="utf-8").strip()
    packed = subprocess.run(["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed, check=True)
    shutil.copytree(ROOT / "device" / "bundle", folder / "device" / "bundle")
    if archive:
        (folder / "device" / "archive").mkdir()
        shutil.copy(archive, folder / "device" / "archive")
    return folder


def call(
    folder: Path, number: int, environ: dict[str, str], *, out: Path | None, killed_once_there_is: str | None = None
) -> list[str]:
    """Run a call in `folder`; kill it and all it started once that is in its archive, if asked for.

    Its lines are printed as they come, and returned.
    """
    print(f"\n===== call {number}{' (to be killed)' if killed_once_there_is else ''}", flush=True)
    if out is not None:
        out.mkdir()
        environ = {**environ, "OUT": str(out)}
    start = time.monotonic()
    with subprocess.Popen(
        ["bash", f"device/call-{number}.sh"],
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        reader = threading.Thread(target=passed_on, args=(process.stdout, printed := []))
        reader.start()
        while out is not None and killed_once_there_is and process.poll() is None:
            time.sleep(0.2)
            if any(name.startswith(killed_once_there_is) for path in out.glob("*.gz") for name in names_in(path)):
                os.killpg(process.pid, signal.SIGKILL)
                break
        process.wait()
        reader.join()
    print(f"===== ended with {process.returncode} after {time.monotonic() - start:.0f} s", flush=True)
    return printed


def passed_on(lines: IO[str], printed: list[str]) -> None:
    """Print each of `lines` when it comes and append it to `printed`."""
    for line in lines:
        print(line, end="", flush=True)
        printed.append(line)


def failed_pieces(printed: Iterable[str]) -> list[str]:
    """Return the lines of a call's closing table that tell of a piece that failed."""
    return [line.strip() for line in printed if re.match(r"[a-z-]+ +failed:", line)]


def only_archive(out: Path, problems: list[str]) -> Path | None:
    """Return the archive in `out`, whose files are counted and weighed."""
    files = [path for path in out.rglob("*") if path.is_file()]
    listed = ", ".join(f"{path.relative_to(out)} ({path.stat().st_size} bytes)" for path in files)
    print(f"-- in OUT: {listed or 'nothing'}")
    if len(files) > MOST_FILES:
        problems.append(f"{out.name}: {len(files)} files")
    problems += [f"{path.name}: {path.stat().st_size} bytes" for path in files if path.stat().st_size > MOST_BYTES]
    archives = list(out.glob("*.tar.gz"))
    if len(archives) != 1:
        problems.append(f"{out.name}: {len(archives)} archives")
    return archives[0] if archives else None


def names_in(archive: Path) -> list[str]:
    """Return the names of the files in an archive."""
    with tarfile.open(archive) as tar:
        return tar.getnames()


def journal_lines(archive: Path | None) -> list[str]:
    """Return the lines of the journal in an archive; none if it has no journal."""
    if archive is None:
        return []
    with tarfile.open(archive) as tar:
        for member in tar:
            file = tar.extractfile(member) if member.name.startswith("journal/") else None
            if file is not None:
                return file.read().decode().splitlines()
    return []


def twice_measured(lines: list[str]) -> list[str]:
    """Return the problems of a journal: several runs, or a point that was timed again within its group."""
    read = [json.loads(line) for line in lines]
    runs = {line["run"]["run_id"] for line in read}
    timed = [
        (line["group"], json.dumps(line["point"], sort_keys=True), len(line.get("visits", ())))
        for line in read
        if line["kind"] == "timing"
    ]
    found = [] if len(runs) == 1 else [f"{len(runs)} runs in one journal"]
    return found + ([] if len(timed) == len(set(timed)) else ["points were timed twice"])


def changed_by_out(folder: Path, environ: dict[str, str]) -> list[str]:
    """Run the last call again without OUT; return what it finds undone, and what else it leaves in its folder."""
    before = state(folder)
    call(folder, max(KILLED_ONCE_THERE_IS), environ, out=None)
    after = state(folder)
    lost = [f"without OUT {name} is not there" for name in before - after]
    return lost + [f"with OUT {name} was not there" for name in after - before]


def state(folder: Path) -> set[str]:
    """Return the names of what a campaign keeps below `folder`, logs of asv's left out."""
    data = folder / "results" / "data" / "local"
    return {str(path.relative_to(data)) for path in data.rglob("*") if path.is_file() and path.suffix != ".log"}


if __name__ == "__main__":
    main()
