"""What `make bench-real-aa` counts as right and wrong, and what it plants."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from real_aa.__main__ import MODULE, ROOT, _arguments, planted
from real_aa.scoring import Planned, is_as_it_should_be, report, score

from results.judgement.verdicts import judge
from results.units import percent
from tests.made_values import A, B, row

NOISE = [1.0, 1.004, 0.996, 1.002, 0.998]


def judged(**factors):
    """Judge six shapes of three providers in five rounds; the head's are slower by `factors`."""

    def side(commit):
        return [
            row(
                [(factors.get(name, 1.0) if commit == B else 1.0) * (1 + 0.001 * batch) * one for one in NOISE],
                commit=commit,
                provider=provider,
                batch=batch,
            )
            for batch in range(6)
            for name, provider in (("eager", "eager"), ("fused", "fused"), ("pure", "fused-pure"))
        ]

    return judge(side(A), side(B), base_commit=A, head_commit=B, is_paired=True, least_change=0.03)


def scored(*, share=0.0, **factors):
    return score(judged(**factors), Planned(name="x", share=share), seconds=60.0, load=1.5)


def test_equal_commits_have_no_finding_and_eager_is_no_point():
    found = scored()
    assert (found.n_points, found.rounds, found.disturbed, found.wrong) == (12, 5, 0.0, ())
    assert (found.surfaces, found.points, found.seen) == ((0, 0), (0, 0), None)
    assert is_as_it_should_be([found])


def test_what_was_planted_is_right_and_everything_else_is_not():
    right = scored(share=0.1, fused=1.1)
    assert (right.surfaces, right.points, right.visible, right.wrong) == ((1, 1), (6, 6), (6, 6), ())
    assert right.seen == pytest.approx(1.1)
    [other] = scored(share=0.1, fused=1.1, pure=1.1).wrong
    assert other.startswith("slower: latency_s of mlp, fused-pure, at 6 of 6 points (")
    [faster] = scored(share=0.1, fused=0.8).wrong
    assert faster.startswith("faster: latency_s of mlp, fused, at 6 of 6 points (")
    [equal] = scored(fused=1.1).wrong
    assert equal.startswith("slower: ")


def test_one_false_finding_is_allowed_in_all_and_a_control_that_moved_is_one():
    fine, wrong = scored(), scored(pure=1.1)
    assert is_as_it_should_be([fine, wrong])
    assert not is_as_it_should_be([wrong, wrong])
    moved = scored(eager=1.2)
    assert moved.is_control_moved
    assert not is_as_it_should_be([wrong, moved])


def test_each_surface_is_found_at_ten_percent_and_most_visible_points_at_five():
    ten, five = replace(scored(share=0.1, fused=1.1), surfaces=(3, 3)), scored(share=0.05, fused=1.05)
    assert is_as_it_should_be([ten, replace(five, visible=(8, 10))])
    assert not is_as_it_should_be([replace(ten, surfaces=(2, 3))])
    assert not is_as_it_should_be([replace(five, visible=(7, 10))])


def test_a_surface_counts_by_its_points_or_by_all_of_them_together():
    rng = np.random.default_rng(3)

    def side(commit):
        return [
            row(
                (1.06 if provider == "fused" and commit == B else 1.0) * rng.normal(1, 0.08, 11),
                commit=commit,
                provider=provider,
                batch=batch,
            )
            for batch in range(24)
            for provider in ("eager", "fused", "fused-pure")
        ]

    both = judge(side(A), side(B), base_commit=A, head_commit=B, is_paired=True, least_change=0.03)
    found = score(both, Planned(name="x", share=0.06), seconds=60.0, load=1.5)
    assert (found.surfaces, found.points, found.wrong) == ((1, 1), (0, 24), ())
    assert (found.visible, found.visible_surfaces) == ((0, 0), (1, 1))
    assert 0 < found.floor_of_surfaces < 0.06 < found.floor
    [wrong] = score(both, Planned(name="x"), seconds=60.0, load=1.5).wrong
    assert wrong.startswith("slower: latency_s of mlp, fused, at all points together (")


def test_where_no_floor_is_low_enough_nothing_was_shown():
    five = replace(scored(share=0.05, fused=1.05), visible=(0, 0), visible_surfaces=(0, 0))
    assert not is_as_it_should_be([five])
    assert "- x: no floor is that low, so this machine shows nothing of it now" in list(report([five]))
    assert is_as_it_should_be([replace(five, visible_surfaces=(4, 5))])
    assert not is_as_it_should_be([replace(five, visible_surfaces=(3, 5))])


def test_the_report_has_a_line_for_each():
    told = list(report([scored(), scored(share=0.1, fused=1.1, pure=1.1)]))
    assert told[2].startswith(f"| x | 12 | 5 | {percent(0.0, digits=0)} | ")
    assert told[2].endswith(" | 1.5 | 0 |")
    tenth = f"{percent(0.1, digits=0)} | {percent(0.1, digits=1)}"
    assert f"| {tenth} | 1 of 1 | 1 of 1 | 6 of 6 | 6 of 6 | 0 |" in told
    assert told[-2].startswith("- x: slower: ")
    assert told[-1] == "2 comparisons in 2 minutes"


def test_the_module_still_has_the_place_where_calls_are_slowed():
    sound = (ROOT / MODULE).read_text(encoding="utf-8")
    assert planted(sound, 0.0) == sound
    slower = planted(sound, 0.05)
    assert "begun + 1.05 * (now() - begun)" in slower
    compile(slower, MODULE, "exec")
    with pytest.raises(SystemExit, match="has changed"):
        planted("", 0.05)


def test_a_relative_folder_is_the_one_seen_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["real_aa", "--folder", "kept"])
    assert _arguments().folder == tmp_path / "kept"
