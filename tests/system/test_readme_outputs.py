"""Outputs that the README shows are made by one command, and hold ratios."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import readme_outputs

from benchmarks.ruler.advice.command import asked, main
from benchmarks.ruler.plan.points import DeviceKind

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
PAGE = "before\n<!-- output of fusebench x -y -->\n```\nold\n```\nafter\n```\nfusebench show\n```\n"


def test_a_marked_block_is_made_anew_and_nothing_else():
    made = readme_outputs.with_outputs(PAGE, lambda command: f"printed by {command}\n\n")
    block = "<!-- output of fusebench x -y -->\n```\n$ fusebench x -y\nprinted by fusebench x -y\n```"
    assert made == f"before\n{block}\nafter\n```\nfusebench show\n```\n"
    assert readme_outputs.with_outputs(made, lambda command: f"printed by {command}") == made


def test_what_the_readme_shows_is_marked_ratios_alone_and_of_commands_that_can_be_typed():
    found = list(readme_outputs.MARKED.finditer(README))
    assert len(found) == README.count("<!-- output of ") >= 2
    for match in found:
        _, name, *options = shlex.split(match["command"])
        assert name == "advise"
        chosen = main.make_context("advise", options).params
        assert chosen["ratios"]
        asked(chosen, device=DeviceKind.CPU)
        shown = match[0].splitlines()
        assert shown[2] == f"$ {match['command']}"
        assert not re.search(r"\d ?[nµm]?s\b", match[0])
        assert max(map(len, shown)) <= 120
