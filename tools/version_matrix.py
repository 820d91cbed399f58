"""Run the kernels' fast tests under each torch and each Python: `make version-matrix [TORCHES="…"] [PYTHONS="…"]`.

Each pair gets an environment of its own below `--folder`, with the project installed as a wheel, and loses it when its
row is printed. PYTHONS are commands or paths of interpreters. The rows are a Markdown table; the exit code is 1 if a
pair could not be installed or a test of it failed. `--rows FILE` keeps the rows that passed, and a later call with the
same checkout goes on from them.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from known_models.kept_rows import KeptRows

ROOT = Path(__file__).resolve().parents[1]
TORCHES = ("2.11.0", "2.13.0")
PYTHONS = ("python3.11", "python3.12", "python3.13")
# tests/kernels needs these beside the extra `kernels`.
TEST_TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis")
FAST = "not slow and not exhaustive and not interpreter and not compile_kernels"
_VERSIONS = (
    "import sys, torch, fused_mlp, importlib.util as u; "
    "t = __import__('triton').__version__ if u.find_spec('triton') else '–'; "
    "print('.'.join(map(str, sys.version_info[:3])), torch.__version__, t, fused_mlp.__file__)"
)


class NotInstallable(Exception):
    """Raised when a pair's environment cannot be made; the message is what venv or pip ended with."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """Result of one pair. tests: pytest's last line, or why there was none; seconds: of the tests."""

    python: str
    torch: str
    triton: str
    tests: str
    seconds: float
    passed: bool

    def markdown(self) -> str:
        """Render the row of the table."""
        return f"| {self.python} | {self.torch} | {self.triton} | {self.tests} | {self.seconds:.0f} s |"


def made_environment(folder: Path, *, python: str, torch: str, pip_options: tuple[str, ...] = ()) -> Path:
    """Make an environment with the project and this torch; return its interpreter. Raises: NotInstallable."""
    shutil.rmtree(folder, ignore_errors=True)
    made = subprocess.run([python, "-m", "venv", str(folder)], capture_output=True, text=True, check=False)
    if made.returncode:
        raise NotInstallable(f"{python} -m venv: {' '.join((made.stderr or made.stdout).split())[:200]}")
    interpreter = folder / "bin" / "python"
    pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *pip_options]
    done = subprocess.run(
        [*pip, f"{ROOT}[kernels]", f"torch=={torch}", *TEST_TOOLS], capture_output=True, text=True, check=False
    )
    if done.returncode:
        # Behind its errors pip may print notes on where they came from.
        errors = [line for line in done.stderr.splitlines() if "ERROR:" in line]
        raise NotInstallable(last_line("\n".join(errors) or done.stderr))
    return interpreter


def tested(interpreter: Path, *, tests: list[str]) -> Row:
    """Run `tests` by the interpreter's environment and return its row."""
    asked = subprocess.run(
        [str(interpreter), "-W", "error", "-c", _VERSIONS], capture_output=True, text=True, check=False, cwd="/"
    )
    if asked.returncode or asked.stderr:
        reason = f"importing fused_mlp: {last_line(asked.stderr)}"
        return Row(python="?", torch="?", triton="?", tests=reason, seconds=0.0, passed=False)
    python, torch, triton, where = asked.stdout.split()
    if Path(where).is_relative_to(ROOT):
        raise SystemExit(f"{where} would be tested, which is no installed wheel")
    start = time.monotonic()
    # Nothing of another environment, and the checkout's own sources only through what was installed.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(interpreter), "-m", "pytest", "-q", "-m", FAST, "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - start
    if done.returncode:
        print(done.stdout[-4000:], done.stderr[-2000:], file=sys.stderr)
    summary = re.sub(r"^=+ | in [\d.]+s.*$", "", last_line(done.stdout))
    return Row(python=python, torch=torch, triton=triton, tests=summary, seconds=seconds, passed=not done.returncode)


def checkout() -> str:
    """Return the commit of the checkout, and what differs from it in tracked files, in words."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    changed = subprocess.run(["git", "diff", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    digest = hashlib.sha256(changed.stdout).hexdigest()[:12] if changed.stdout else "nothing"
    return f"{commit.stdout.strip()} and {digest} changed"


def last_line(text: str) -> str:
    """Return the last line of `text` that is not empty."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no output"


def main() -> int:
    """Print the table, a row as soon as its pair is done."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else None)
    parser.add_argument("--torch", nargs="+", default=TORCHES)
    parser.add_argument("--python", nargs="+", default=PYTHONS)
    parser.add_argument("--folder", type=Path, default=Path.home() / ".cache" / "fusebench" / "version-matrix")
    parser.add_argument("--keep", action="store_true", help="keep the environments")
    parser.add_argument("--rows", metavar="FILE", type=Path, help="go on from FILE's rows, and add those that pass")
    parser.add_argument("--no-index", action="store_true", help="install only what pip finds without an index")
    parser.add_argument("--tests", nargs="+", default=["tests/kernels"])
    options = parser.parse_args()
    if missing := [each for each in options.python if not shutil.which(each)]:
        parser.error(f"no interpreter is found as {', '.join(missing)}; --python names others")
    if options.folder.resolve().is_relative_to(ROOT):
        parser.error(f"{options.folder} lies in the repository; --folder names one outside")
    options.folder.mkdir(parents=True, exist_ok=True)
    print("| Python | torch | triton | tests | time |\n|---|---|---|---|---|", flush=True)
    all_passed, pip_options = True, ("--no-index",) if options.no_index else ()
    tests = " ".join(options.tests)
    kept = KeptRows(options.rows, made=f"{tests} of {checkout()}") if options.rows else None
    for python in options.python:
        for torch in options.torch:
            name = f"{python} {torch}"
            if kept and name in kept.rows:
                print(kept.rows[name], flush=True)
                continue
            folder = options.folder / f"{Path(python).name}-torch{torch}-{os.getpid()}"
            try:
                interpreter = made_environment(folder, python=python, torch=torch, pip_options=pip_options)
                row = tested(interpreter, tests=options.tests)
            except NotInstallable as error:
                row = Row(python=python, torch=torch, triton="–", tests=str(error), seconds=0.0, passed=False)
            finally:
                if not options.keep:
                    shutil.rmtree(folder, ignore_errors=True)
            print(row.markdown(), flush=True)
            if kept and row.passed:
                kept.add(name, row.markdown())
            all_passed = all_passed and row.passed
    return 0 if all_passed else 1


if __name__ == "__main__":
    sys.exit(main())
