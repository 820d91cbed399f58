"""What `fusebench bisect` confirms a commit against: its parent, unless that is no neighbour or cannot be built."""

from __future__ import annotations

from results.exit_codes import ExitCode
from tests.made_bisections import bisected, commit


def test_a_merge_that_brought_the_good_end_to_a_slower_line_is_confirmed_against_the_good_end(world):
    """Its first parent was as slow, and the good end is no commit of that line."""
    world.culprit, world.merged_into = 1, 9
    answer = bisected()
    assert answer.return_value == ExitCode.FINE, answer.output
    assert f"First slower commit: {commit(1)}" in answer.stdout
    assert "GOOD is of a branch" in answer.stdout
    assert f"against {commit(0)[:8]}, the last good one, of " in answer.stdout
    assert f"fusebench bisect $(git merge-base {commit(1)[:12]}^1 {commit(0)[:12]}) {commit(1)[:12]}^1" in answer.stdout
    assert world.asked[-1][1:3] == (0, 1)


def test_what_it_merged_is_searched_at_the_points_and_threads_that_were_followed(world):
    world.culprit, world.merged_into = 1, 9
    lines = [line.strip() for line in bisected().stdout.splitlines()]
    (threads,) = {line["point"]["threads"] for line in world.journals.lines_of(world.sweep)}
    [again] = [line.partition(": ")[2] for line in lines if line.startswith("Measure it again: ")]
    begin, asked = f"FUSEBENCH_THREADS={threads} fusebench", again.split(commit(1)[:12])[1]
    assert again.startswith(f"{begin} ab {commit(0)[:12]} ")
    assert asked.startswith(" --axes quick --operation mlp --provider fused --batch ")
    followed = [line for line in lines if "fusebench bisect" in line]
    assert len(followed) == 2
    for line, parent in zip(followed, "12", strict=True):
        assert line.startswith(f"{begin} bisect $(git merge-base ")
        assert line.endswith(f") {commit(1)[:12]}^{parent}{asked}")


def test_what_came_after_such_a_merge_is_confirmed_against_its_own_parent(world):
    world.merged_into = 0
    answer = bisected()
    assert f"First slower commit: {commit(7)}" in answer.stdout
    assert f"against its parent {commit(6)[:8]}, of " in answer.stdout
    assert "a line that GOOD had not seen" not in answer.stdout


def test_a_parent_that_cannot_be_built_is_no_end_and_the_last_good_commit_stands_for_it(world):
    """The parent has the last good one's kernels, and so never was a candidate; what builds its wheel is broken."""
    world.parents, world.unbuildable = {7: 10}, frozenset({10})
    measure = world.measure
    is_end = iter([True])  # the bad end is built once, for the comparison of the ends

    def built_first(command):
        unbuildable, world.unbuildable = world.unbuildable, frozenset() if next(is_end, False) else world.unbuildable
        try:
            return measure(command)
        finally:
            world.unbuildable = unbuildable

    world.measure = built_first
    answer = bisected()
    assert answer.return_value == ExitCode.FINE, answer.output
    assert f"against {commit(6)[:8]}, the last good one, of " in answer.stdout
    assert "give another commit" not in answer.stderr
