"""`fusebench bisect` with a measuring half that was made up: what is asked, kept, gone on with, refused and told."""

from __future__ import annotations

import pytest

from results.commands.measuring.bisection_state import CURRENT, FOLDER
from results.exit_codes import ExitCode
from tests.made_bisections import N, bisected, commit, found_in


def test_the_commit_is_found_confirmed_against_its_parent_and_told_with_its_effect(world):
    answer = bisected()
    assert answer.return_value == ExitCode.FINE, answer.output
    out = answer.stdout
    assert "13 commits by first parents, 1 merge among them standing for what they merged" in out
    assert f"First slower commit: {commit(7)}\n  Change 7\n  author date 2026-01-08" in out
    assert "0 commits skipped within the range" in out
    assert f"fusebench ab {commit(6)[:12]} {commit(7)[:12]}" in out
    assert out.count("\ntrial ") == 3
    assert world.asked[0][:3] == ("ends", 0, N)
    assert all(base == 0 for name, base, *_ in world.asked[:-1])
    assert world.asked[-1][1:3] == (6, 7)


def test_json_has_the_effect_its_interval_and_every_trial(world):
    answer = bisected("--format", "json")
    found = found_in(answer)
    assert (found["ending"], found["commit"]["hash"]) == ("found", commit(7))
    low, high = found["interval"]
    assert low < found["ratio"] < high
    assert found["ratio"] == pytest.approx(1.1, rel=0.03)
    assert (found["benchmark"], found["metric"], found["is_worse"]) == ("mlp", "latency_s", True)
    assert len(found["trials"]) == 4
    assert [one["is_confirmation"] for one in found["trials"]] == [False, False, False, True]
    finding = found["findings"][0]
    assert (finding["benchmark"], finding["metric"]) == ("mlp", "latency_s")
    assert (finding["last_good"], finding["first_bad"]) == (commit(6), commit(7))
    assert "sentence" in finding["explanation"]
    assert "trial 1 of about 4" in answer.stderr


def test_only_points_of_the_target_are_measured_after_the_ends(world, monkeypatch):
    seen = []
    measure = world.measure
    monkeypatch.setattr(world, "measure", lambda command: seen.append(list(command)) or measure(command))
    bisected()
    first, *others = seen
    assert "--only" not in first
    assert all("--only" in command and command[command.index("--provider") + 1] == "fused" for command in others)


def test_commits_that_cannot_be_built_are_skipped_named_and_widen_the_range(world):
    world.unbuildable = frozenset({5, 6})
    answer = bisected("--format", "json")
    assert answer.return_value == ExitCode.FAILED
    found = found_in(answer)
    assert found["ending"] == "range"
    assert found["suspects"] == [commit(5), commit(6), commit(7)]
    assert {one["commit"] for one in found["skipped"]} == {commit(5), commit(6)}
    for one in found["skipped"]:
        assert one["why"] == f"skipped: no wheel could be made of {one['commit'][:12]}: SyntaxError"
    again = bisected()
    assert again.return_value == ExitCode.FAILED
    assert "One of 3 commits, which could not be told apart, made it slower" in again.stdout
    assert "2 commits skipped within the range" in again.stdout


@pytest.mark.parametrize("stops_after", range(5))
def test_interrupted_anywhere_the_same_command_goes_on_and_finds_the_same(world, stops_after):
    world.stops_after = stops_after
    interrupted = bisected("--format", "json")
    assert interrupted.return_value == 130
    assert interrupted.stdout == ""
    n_asked, world.stops_after = len(world.asked), None
    answer = bisected("--format", "json")
    assert found_in(answer)["commit"]["hash"] == commit(7)
    names = [(name, rounds) for name, *_, rounds in world.asked]
    # What was interrupted is measured again, and nothing else is.
    assert names[n_asked] == names[n_asked - 1]
    assert len(set(names)) == len(names) - 1


def test_a_torn_line_of_a_power_cut_costs_that_line_alone(world):
    found = found_in(bisected("--format", "json"))
    path = world.data / FOLDER / CURRENT
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-2]) + lines[-2][:20])
    world.asked.clear()
    again = found_in(bisected("--format", "json"))
    assert again["commit"] == found["commit"]
    assert len(world.asked) == 1


def test_a_finished_one_is_told_again_without_measuring_and_anew_on_demand(world):
    first = found_in(bisected("--format", "json"))
    n_asked = len(world.asked)
    second = bisected("--format", "json")
    assert found_in(second) == first
    assert "Bisected before" in second.stderr
    assert len(world.asked) == n_asked
    anew = bisected("--format", "json", "--again")
    assert found_in(anew)["commit"] == first["commit"]
    assert len(world.asked) == 2 * n_asked
    assert len(list((world.data / FOLDER).glob("*.jsonl"))) == 2


def test_another_question_is_refused_while_one_is_unfinished(world):
    world.stops_after = 2
    bisected()
    world.stops_after, world.filters = None, "batch 16"
    refused = bisected()
    assert refused.exit_code == 1 or refused.exception is not None
    assert "another bisection is unfinished there" in str(refused.exception)
    assert "--again" in str(refused.exception)
    assert bisected("--again").return_value == ExitCode.FINE


def test_ends_that_do_not_differ_are_not_bisected(world):
    world.factor = 1.0
    answer = bisected()
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "Nothing to bisect: GOOD and BAD do not differ beyond" in answer.stdout
    assert "disturbed" not in answer.stdout
    assert {name for name, *_ in world.asked} == {"ends"}


def test_ends_whose_rounds_were_all_disturbed_are_not_bisected_and_that_is_told(world):
    world.disturbed = {"disturbed": "12% of the time was stolen by the hypervisor"}
    answer = bisected()
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "disturbed in every round." in answer.stdout


def test_a_machine_that_is_slow_throughout_finds_the_commit_all_the_same(world):
    world.disturbed = {"disturbed": "the machine ran at 84% of its best (one core's arithmetic)", "machine_speed": 0.84}
    answer = bisected()
    assert answer.return_value == ExitCode.FINE, answer.output
    assert f"First slower commit: {commit(7)}" in answer.stdout


def test_what_got_faster_is_found_where_nothing_got_slower(world):
    world.factor = 0.8
    answer = bisected()
    assert answer.return_value == ExitCode.FINE
    assert f"First faster commit: {commit(7)}" in answer.stdout


def test_an_end_that_cannot_be_built_ends_it_with_words(world):
    world.unbuildable = frozenset({0})
    answer = bisected()
    assert answer.return_value == ExitCode.WRONG_USAGE
    assert f"{commit(0)[:8]} cannot be measured" in answer.stderr


def test_a_file_that_is_no_state_is_named_and_can_be_kept_aside(world):
    path = world.data / FOLDER / CURRENT
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    answer = bisected()
    assert str(path) in str(answer.exception)
    assert bisected("--again").return_value == ExitCode.FINE
    assert [one.name for one in path.parent.glob("unreadable-*")] != []


def test_what_is_kept_is_no_measurement_to_the_store(world):
    from results.files.discovery import discover

    bisected()
    assert (world.data / FOLDER / CURRENT).exists()
    assert FOLDER not in {source.path.parent.name for source in discover([world.data]).sources}
