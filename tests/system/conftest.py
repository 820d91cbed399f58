"""What a new user has: a clone of this repository's HEAD, a bare environment, and a shell to type commands into.

What is not committed is not tested here.
"""

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

ROOT = Path(__file__).resolve().parents[2]
AUTHOR = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
# What may matter to a program, and says nothing about us.
KEPT = ("LANG", "TERM", "TMPDIR", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CC", "CXX")
KEPT_PREFIXES = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "CUDA_", "NVIDIA_", "LD_LIBRARY_PATH")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """How a command ended: its exit code, what it printed, and the seconds it took."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def said(self) -> str:
        """Both streams, for people who look at a failed test."""
        return f"exit code {self.code}\n{self.out}\n{self.err}"


@dataclass(frozen=True, kw_only=True)
class Shell:
    """A folder and an environment to run commands in; `bin` is where the environment's programs are."""

    folder: Path
    environ: dict[str, str]
    bin: Path

    def run(self, *command: object, **variables: str) -> Answer:
        """Run `command` to its end, with `variables` set too."""
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
        return Answer(code=done.returncode, out=done.stdout, err=done.stderr, seconds=seconds)

    def fusebench(self, *arguments: object, **variables: str) -> Answer:
        """`fusebench ARGUMENTS…` as it is installed here."""
        return self.run(self.bin / "python", "-m", "fusebench", *arguments, **variables)

    def asv(self, *arguments: object, **variables: str) -> Answer:
        """`asv ARGUMENTS…` as it is installed here."""
        return self.run(self.bin / "python", "-m", "asv", *arguments, **variables)

    def git(self, *arguments: object, **variables: str) -> str:
        """What `git ARGUMENTS…` prints; it must succeed."""
        answer = self.run("git", *AUTHOR, *arguments, **variables)
        assert answer.code == 0, answer.said
        return answer.out.strip()

    def ask(self, question: str) -> object:
        """What the Python program `question` prints, as JSON; it sees this folder's `results` and `dashboard`."""
        answer = self.run(self.bin / "python", "-c", question)
        assert answer.code == 0, answer.said
        return json.loads(answer.out)

    def points(self, *arguments: object) -> list[dict[str, object]]:
        """What `fusebench show --format json` prints."""
        answer = self.fusebench("show", "--format", "json", *arguments)
        assert answer.code == 0, answer.said
        return json.loads(answer.out)


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
    """The environment of somebody who has just logged in for the first time, with pip configured as it is here."""
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
    }


@pytest.fixture(scope="session")
def kernels_built_here() -> dict[str, str]:
    """The variable that hands on the C++ kernels built here, for clones that need not build their own."""
    folder = Path(os.environ.get("FUSED_MLP_CACHE", Path.home() / ".cache" / "fused_mlp"))
    return {"FUSED_MLP_CACHE": str(folder)} if folder.is_dir() else {}


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A clone after `make bench`, and how that went."""

    shell: Shell
    bench: Answer

    @property
    def database(self) -> Path:
        return self.shell.folder / "results" / "data" / "fusebench.db"

    @property
    def journal(self) -> Path:
        """The one journal there is."""
        (path,) = (self.shell.folder / "results" / "data" / "local" / "journal").glob("*/*.jsonl")
        return path


@pytest.fixture(scope="session")
def measured_clone(new_user):
    """A fresh clone in which `make bench` was typed; minutes, the first time it is asked for."""
    shell = new_user("measured")
    bench = shell.run("make", "bench")
    own = Shell(folder=shell.folder, environ=shell.environ, bin=shell.folder / ".venv" / "bin")
    return Measured(shell=own, bench=bench)
