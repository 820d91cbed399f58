"""Command `python -m benchmarks.ruler.history.measurements`: write docs/measurements.md from the published journals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmarks.ruler.errors import InvalidMilestones
from benchmarks.ruler.history.milestone_sections import milestones_section
from benchmarks.ruler.history.milestones import milestones_from_toml
from benchmarks.ruler.history.published import published_testbeds
from benchmarks.ruler.history.sections import (
    article_section,
    claim_section,
    compiling_section,
    newest_by_shape,
    quantities_of,
    rivals_section,
)
from benchmarks.ruler.plan.settings import ROOT
from benchmarks.ruler.record.durable import write_whole
from benchmarks.ruler.sweep.interruption import run_command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.ruler.history.milestones import Milestone
    from benchmarks.ruler.history.published import Testbed

PUBLISHED = ROOT / "results" / "data" / "published"
PAGE = ROOT / "docs" / "measurements.md"
_HEAD = """# Measurements

Made by `make measurements` from the journals under `results/data/published`, and by nothing else. `make history` and
`make rivals` measure what is in them. Shapes are *batch, dim, hidden*. A ratio is a rival's time over ours: above 1,
ours is faster; in parentheses its 95 % interval, which is *ahead* or *behind* only if all of it lies on that side of 1.
*Ours* are `fused` and `fused:packed`; `fused-onednn` is oneDNN's own product in a module of ours, and a rival.
[How we measure](measuring.md) says what a time is, and what *disturbed* means. Times in µs are shown of GPUs alone: a
CPU that others share has ratios.
"""
_NO_GPU = (
    "No GPU has been measured: no journal under `results/data/published` is of one, so this page has no figure of any."
)

_KNOWN_OF_RULERS = {
    "3": (
        "Ruler 3 read the processor time right before each sample, which charged who has long Python paths: with one "
        "thread `compiled` some 8 % and `eager` 4 %, ours 1 to 2 %; so ratios to those two are too high by that much. "
        "Ruler 4 does not ([ADR 0020](adr/0020-clocks-are-read-two-calls-before-a-sample.md))."
    ),
    "4": (
        "Ruler 4 re-warmed for a millisecond, which is short on some CPUs: above all `compiled`, and calls of 0.1 to 1 "
        "ms, are overstated by 0 to 5 %, and by more where others use the same caches; ours the least. Ruler 5 "
        "re-warms for four ([ADR 0024](adr/0024-ruler-5.md)); what that changes on a GPU was not measured."
    ),
}
"""What later turned out of what a ruler recorded, by its version."""
_KNOWN_OF_COMMITS = {
    "0e0b48439d5bcb7be0cea2322a991e324419bd3e": (
        "On a GPU every call of `fused` went the long way at this commit, at 50 µs of the host's time (a defect, "
        "mended since: [host path](kernels.md#host-path-on-cuda)); wall times of few rows show it, device times not. "
        "`packed-eager:packed` crashed where its weights were timed cold (mended since)."
    )
}
"""What later turned out of what a commit's measurements show, by its hash."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--published", default=PUBLISHED, type=click.Path(path_type=Path), help="Folder of published journals.")
@click.option("--page", default=PAGE, type=click.Path(path_type=Path), help="File to write.")
def main(*, published: Path, page: Path) -> None:
    """Write the page of measurements from the files of record."""
    write_whole(page, page_of(published_testbeds(published), milestones_or_none()))
    click.echo(f"written: {page}")


def milestones_or_none() -> tuple[Milestone, ...]:
    """Return the milestones of this repository; none in a clone that has no history, where no step has a name."""
    try:
        return milestones_from_toml()
    except InvalidMilestones:
        return ()


def page_of(testbeds: Sequence[Testbed], milestones: Sequence[Milestone]) -> str:
    """Render the whole page: the same journals and milestones always give the same text."""
    lines = [_HEAD]
    for testbed in testbeds:
        lines += testbed_lines(testbed, milestones)
    if not any(testbed.is_gpu for testbed in testbeds):
        lines += ["## GPU", "", _NO_GPU, ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def testbed_lines(testbed: Testbed, milestones: Sequence[Milestone]) -> Iterator[str]:
    """Render what was measured on one testbed."""
    newest = testbed.commits[-1]
    conditions = next(iter(newest.timings.values())).head.conditions
    moments = [line.head.measured_at for commit in testbed.commits for line in commit.timings.values()]
    n_commits = len(testbed.commits)
    yield f"## {testbed.machine}, {testbed.environment}"
    yield ""
    yield (
        f"{conditions.get('device')}; torch {conditions.get('torch')}; ruler {testbed.ruler_version}; "
        f"{n_commits} commit{'' if n_commits == 1 else 's'}, measured from {_minute(min(moments))} to "
        f"{_minute(max(moments))} UTC."
    )
    yield ""
    if testbed.ruler_version in _KNOWN_OF_RULERS:
        yield _KNOWN_OF_RULERS[testbed.ruler_version]
        yield ""
    by_hash = {commit.run.commit: commit for commit in testbed.commits}
    for commit_hash, shapes in newest_by_shape(testbed).items():
        commit = by_hash[commit_hash]
        yield f"### Ours and the rivals at {commit_hash[:8]} ({testbed.machine}, {testbed.environment})"
        yield ""
        if commit_hash in _KNOWN_OF_COMMITS:
            yield _KNOWN_OF_COMMITS[commit_hash]
            yield ""
        for quantity in quantities_of(testbed):
            yield from claim_section(commit, shapes, quantity=quantity)
        for quantity in quantities_of(testbed):
            yield from rivals_section(commit, shapes, quantity=quantity, shows_times=testbed.is_gpu)
        yield from compiling_section(commit, shapes)
        yield from article_section(commit, shapes, shows_times=testbed.is_gpu)
    yield from milestones_section(testbed, milestones)


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")


if __name__ == "__main__":
    run_command(main, name="python -m benchmarks.ruler.history.measurements")
