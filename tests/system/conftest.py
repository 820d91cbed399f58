"""Clones of HEAD, bare environments, and shells to run commands in; uncommitted files are not tested."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.made_repositories import AUTHOR

ROOT = Path(__file__).resolve().parents[2]
# Variables that programs may need and that do not depend on this checkout.
KEPT = ("LANG", "TERM", "TMPDIR", "FUSEBENCH_LOCK_FILE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CC", "CXX")
KEPT_PREFIXES = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "CUDA_", "NVIDIA_", "LD_LIBRARY_PATH")


@dataclass(frozen=True, kw_only=True)
class Completed:
    """Finished command: exit code, output, wall time in seconds."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def output(self) -> str:
        """Exit code and both streams, for the report of a failed test."""
        return f"exit code {self.code}\n{self.out}\n{self.err}"


@dataclass(frozen=True, kw_only=True)
class Shell:
    """Folder and environment variables to run commands in; `bin` holds the installed programs."""

    folder: Path
    environ: dict[str, str]
    bin: Path

    def run(self, *command: object, **variables: str) -> Completed:
        """Run `command` to its end, with `variables` added to the environment."""
        before = time.monotonic()
        done = subprocess.run(
            [str(word) for word in command],
            cwd=self.folder,
            env={**self.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - before
        return Completed(code=done.returncode, out=done.stdout, err=done.stderr, seconds=seconds)

    def fusebench(self, *arguments: object, **variables: str) -> Completed:
        """Run `fusebench ARGUMENTS…` as installed in `bin`."""
        return self.run(self.bin / "python", "-m", "fusebench", *arguments, **variables)

    def asv(self, *arguments: object, **variables: str) -> Completed:
        """Run `asv ARGUMENTS…` as installed in `bin`."""
        return self.run(self.bin / "python", "-m", "asv", *arguments, **variables)

    def git(self, *arguments: object, **variables: str) -> str:
        """Return what `git ARGUMENTS…` prints; assert that it succeeds."""
        answer = self.run("git", *AUTHOR, *arguments, **variables)
        assert answer.code == 0, answer.output
        return answer.out.strip()

    def ask(self, question: str) -> object:
        """Return what the Python program `question` prints, as JSON; it sees this folder's packages."""
        answer = self.run(self.bin / "python", "-c", question)
        assert answer.code == 0, answer.output
        return json.loads(answer.out)

    def points(self, *arguments: object) -> list[dict[str, object]]:
        """Return the points that `fusebench show --format json` prints of machines whose measurements are not ours."""
        answer = self.fusebench("show", "--format", "json", *arguments)
        assert answer.code == 0, answer.output
        published = {path.name for path in self.folder.glob("results/data/published/*/journal/*")}
        return [point for point in json.loads(answer.out) if point["machine"] not in published]


@pytest.fixture(scope="session")
def new_user(tmp_path_factory):
    """Clone HEAD to a folder of the given name, with an empty home: the Shell there."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("these tests clone this repository, and here is none, or no git")

    def clone(name):
        place = tmp_path_factory.mktemp(name)
        folder, home = place / "fusebench", place / "home"
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True, stdin=subprocess.DEVNULL)
        return Shell(folder=folder, environ=bare_environment(home), bin=Path(sysconfig.get_path("scripts")))

    return clone


def bare_environment(home: Path) -> dict[str, str]:
    """Return the environment variables of a new account, with pip configured as here."""
    kept = {name: value for name, value in os.environ.items() if name in KEPT or name.upper().startswith(KEPT_PREFIXES)}
    own = sysconfig.get_path("scripts")
    places = os.environ.get("PATH", os.defpath).split(os.pathsep)
    path = os.pathsep.join(place for place in places if sys.prefix == sys.base_prefix or place != own)
    pip = Path.home() / ".config" / "pip" / "pip.conf"
    if "PIP_CONFIG_FILE" not in kept and pip.is_file():
        kept["PIP_CONFIG_FILE"] = str(pip)
    return {
        **kept,
        "PATH": path,
        "HOME": str(home),
        # A new machine has compiled nothing yet.
        "TORCHINDUCTOR_CACHE_DIR": str(home / ".cache" / "inductor"),
        # The kernels' build takes minutes on a slow machine that runs other tests beside it; that is no hang.
        "FUSEBENCH_POINT_LIMIT_S": "1200",
    }


@pytest.fixture(scope="session")
def kernels_built_here() -> dict[str, str]:
    """Return the environment variable that shares the C++ kernels built here with a clone."""
    folder = Path(os.environ.get("FUSED_MLP_CACHE", Path.home() / ".cache" / "fused_mlp"))
    return {"FUSED_MLP_CACHE": str(folder)} if folder.is_dir() else {}


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Clone after `make bench`, and that command's result."""

    shell: Shell
    bench: Completed

    @property
    def database(self) -> Path:
        return self.shell.folder / "results" / "data" / "fusebench.db"

    @property
    def journal(self) -> Path:
        """Path of its only journal."""
        (path,) = (self.shell.folder / "results" / "data" / "local" / "journal").glob("*/*.jsonl")
        return path


@pytest.fixture(scope="session")
def measured_clone(new_user):
    """Make a fresh clone and run `make bench` in it, once per session; takes minutes."""
    shell = new_user("measured")
    bench = shell.run("make", "bench")
    own = Shell(folder=shell.folder, environ=shell.environ, bin=shell.folder / ".venv" / "bin")
    return Measured(shell=own, bench=bench)
