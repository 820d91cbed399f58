"""`fusebench bisect`'s plan: the range of commits and the question, checked before anything is built."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import click

from benchmarks.ruler.ab.commit_range import commit_range
from benchmarks.ruler.ab.options import chosen_settings, filter_options
from benchmarks.ruler.errors import UncommittedChanges
from benchmarks.ruler.plan.axes_files import axes_from_settings
from benchmarks.ruler.record.codec import json_from_value
from benchmarks.ruler.record.durable import write_whole
from benchmarks.ruler.record.provenance import (
    RULER_VERSION,
    differing,
    environment_name,
    expected_device,
    machine_name,
    uncommitted_files,
)
from benchmarks.ruler.sweep.interruption import run_command


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("good")
@click.argument("bad")
@filter_options
@click.option("--metric", metavar="NAME", help="Follow this metric only, such as latency_s or operator_count.")
@click.option("--again", is_flag=True, help="Begin anew, and keep what was found aside.")
@click.option("--no-wait", is_flag=True, help="Fail if another sweep measures on this machine, instead of waiting.")
@click.option("--cwd", type=Path, hidden=True, help="Folder that relative paths start from.")
@click.option("--out", type=Path, hidden=True, help="File for the range and the question.")
def main(  # noqa: PLR0913 - its options
    *,
    good: str,
    bad: str,
    axes: str | None,
    metric: str | None,
    again: bool,
    no_wait: bool,
    cwd: Path | None,
    out: Path | None,
    **filters: str | None,
) -> None:
    """Find the commit between GOOD and BAD that made the kernels slower (or faster, if none got slower).

    Both ends are compared first. Then commits between them, each against GOOD in the same minutes, in fresh processes
    and through its own wheel: good, bad, or not certain, then more rounds, up to eleven, then skipped. What is found is
    compared with its parent once more. Only first parents are searched: a merge stands for all that it merged.
    Interrupted or killed, the same command goes on. --format text|json.

    \b
    fusebench bisect v1.2 main
    fusebench bisect HEAD~20 HEAD --operation mlp --batch 16
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    if cwd is not None:
        os.chdir(cwd)
    settings = chosen_settings(axes, no_wait=False, filters=filters, command="bisect")
    found = commit_range(good, bad)
    if changed := uncommitted_files():
        raise UncommittedChanges(
            f"{differing(changed)}, and a bisection measures "
            "commits by the ruler of this checkout; commit or stash them, then run it again"
        )
    question = {
        "good": found.good.hash,
        "bad": found.bad.hash,
        "axes": json_from_value(axes_from_settings(settings)),
        "filters": str(settings.filters),
        "metric": metric,
        "machine": machine_name(settings),
        "environment": environment_name(expected_device(settings), settings),
        "ruler_version": RULER_VERSION,
    }
    if out is not None:
        options = ["--axes", settings.axes, *(["--no-wait"] if no_wait else [])]
        for name in sorted(filters):
            text = filters[name]
            options += [f"--{name.rstrip('_')}", text] if text is not None else []
        told = {"question": question, "range": asdict(found), "options": options, "again": again}
        write_whole(out, json.dumps(told, default=str))


if __name__ == "__main__":
    run_command(main, name="fusebench bisect")
