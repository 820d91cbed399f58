"""Stacks: environments with other versions of a few packages, made once and kept by their specification."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from benchmarks.ruler.errors import InvalidSettings, StackFailed
from benchmarks.ruler.plan.settings import ROOT
from benchmarks.ruler.record.durable import write_whole

BUILDS = ROOT / "build" / "stacks"
_LINES_SHOWN = 8
_MADE = "made.txt"


@dataclass(frozen=True, kw_only=True)
class Stack:
    """Packages beside the kernels. name: as it was asked for; python: the interpreter that finds them."""

    name: str
    python: Path

    @property
    def suffix(self) -> str:
        """End of names of files that are about this stack; empty for the present one."""
        return "" if self == PRESENT else f"-{digest_of(self.name)}"


PRESENT = Stack(name="present", python=Path(sys.executable))
"""What this process itself runs with."""


def parsed_stack(text: str) -> str:
    """Return a specification such as `torch==2.12,triton==3.6` in its one way to be written.

    Raises: InvalidSettings, naming the part that is no requirement with versions.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    found: dict[str, str] = {}
    for part in parts:
        try:
            requirement = Requirement(part)
        except InvalidRequirement as error:
            raise InvalidSettings(f"--stack {text}: {part!r} is no requirement ({error}); write torch==2.12") from None
        name = canonicalize_name(requirement.name)
        exact = [
            one for one in requirement.specifier if one.operator in {"==", "==="} and not one.version.endswith("*")
        ]
        if len(exact) != 1 or len(requirement.specifier) != 1 or requirement.url or requirement.marker:
            # Another day another version would be the newest, under the same name.
            raise InvalidSettings(f"--stack {text}: {part!r} names no one version; write {name}==VERSION")
        if name == "fusebench":
            raise InvalidSettings(f"--stack {text}: the kernels are what commits are compared by; leave fusebench out")
        if found.setdefault(name, str(requirement.specifier)) != str(requirement.specifier):
            raise InvalidSettings(f"--stack {text}: {name} is named twice, with two versions")
    if not found:
        raise InvalidSettings("--stack names no package; write torch==2.12,triton==3.6")
    return ",".join(f"{name}{version}" for name, version in sorted(found.items()))


def is_made(name: str, *, builds: Path = BUILDS) -> bool:
    """Return whether the environment of a specification, as `parsed_stack` writes it, is there."""
    return (builds / digest_of(name) / _MADE).exists()


def made_stack(name: str, *, builds: Path = BUILDS) -> Stack:
    """Return the environment of a specification as `parsed_stack` writes it; made once, which may take minutes.

    Whatever it does not name is this environment's own. Raises: StackFailed, with what pip printed last.
    """
    folder = builds / digest_of(name)
    stack = Stack(name=name, python=folder / "bin" / "python")
    if is_made(name, builds=builds):
        return stack
    builds.mkdir(parents=True, exist_ok=True)
    # What an interrupted call left there.
    shutil.rmtree(folder, ignore_errors=True)
    _run([sys.executable, "-m", "venv", "--without-pip", str(folder)], name)
    [site] = folder.glob("lib/python*/site-packages")
    # Found after the environment's own, so that its versions win; .pth files there are obeyed as they are here.
    paths = dict.fromkeys(sysconfig.get_path(each) for each in ("purelib", "platlib"))
    added = "; ".join(f"site.addsitedir({path!r})" for path in paths)
    write_whole(site / "present.pth", f"import site; {added}\n")
    options = ["-q", "--disable-pip-version-check", "--no-input"]
    _run([str(stack.python), "-m", "pip", "install", *options, *name.split(",")], name)
    write_whole(folder / _MADE, f"{name}\n")
    return stack


def digest_of(name: str) -> str:
    """Return the name of a stack's folder: the same for the same packages over the same interpreter."""
    return hashlib.sha256(f"{name}\n{sys.prefix}\n{sys.version}".encode()).hexdigest()[:12]


def _run(command: list[str], name: str) -> None:
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, start_new_session=True
    )
    if done.returncode:
        said = "\n".join((done.stderr or done.stdout).strip().splitlines()[-_LINES_SHOWN:])
        raise StackFailed(f"no environment could be made with {name}:\n{said}")
