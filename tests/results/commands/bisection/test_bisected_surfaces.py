"""A bisection of what only the points of a surface together are certain of."""

from __future__ import annotations

from dataclasses import replace

from results.exit_codes import ExitCode
from tests.made_bisections import N, bisected, commit, found_in


def test_it_follows_all_points_of_the_surface_to_the_commit(world):
    world.sweep = replace(world.sweep, batches=tuple(range(1, 25)), operations=("linear", "mlp"))
    world.noise, world.factor = 0.05, 1.06
    answer = bisected("--format", "json")
    assert answer.return_value == ExitCode.FINE, answer.output
    found = found_in(answer)
    assert (found["ending"], found["commit"]["hash"], found["is_worse"]) == ("found", commit(7), True)
    assert world.asked[0][:3] == ("ends", 0, N)
    assert found["ratio"] > 1
    # Of points that are certain alone it would follow these.
    assert len(found["points"]) == len(world.sweep.batches) * 2
