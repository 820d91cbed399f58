"""Run the commands whose output README.md shows, and put their output of now into it.

A block to be made stands below a line `<!-- output of fusebench … -->`. Measures for minutes; the figures are ratios,
so that a machine shared with others may make them.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 96
MARKED = re.compile(r"<!-- output of (?P<command>fusebench [^\n]*?) -->\n```\n.*?^```$", re.MULTILINE | re.DOTALL)


def with_outputs(page: str, output_of: Callable[[str], str]) -> str:
    """Return `page` with each marked block holding its command and what `output_of` gives for it."""

    def renewed(match: re.Match[str]) -> str:
        command = match["command"]
        return f"<!-- output of {command} -->\n```\n$ {command}\n{output_of(command).rstrip()}\n```"

    return MARKED.sub(renewed, page)


def output_of(command: str) -> str:
    """Return what `command` prints; what it says meanwhile goes to the terminal. Ends this process if it fails."""
    program, *options = shlex.split(command)
    done = subprocess.run(
        [Path(sys.executable).with_name(program), *options],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": str(WIDTH), "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{command} ended with {done.returncode}; README.md is as it was")
    return done.stdout


def main() -> None:
    """Make README.md's outputs anew."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    path = ROOT / "README.md"
    page = path.read_text(encoding="utf-8")
    path.write_text(with_outputs(page, output_of), encoding="utf-8")


if __name__ == "__main__":
    main()
