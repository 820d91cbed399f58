"""Advice says what to run at each batch, where that changes, why, what a model gains, and what is not known."""

from __future__ import annotations

import pytest

from results.judgement.advice import Block, Question, advice_from
from results.output.advice import _cells, advice_as_json, advice_as_markdown, advice_as_text
from results.output.advice_words import recipes_of, why_in_words
from results.output.terminal import Terminal
from tests.made_points import points

BLOCK = Block("mlp", 768, 3072, "gelu", "float32", "forward")


def test_it_says_what_to_run_and_where_it_changes():
    rows = [
        *points(1, fused=2.0, compiled=1.2),
        *points(64, fused=1.5, compiled=1.1),
        *points(512, fused=1.1, compiled=1.3),
    ]
    (what,) = advice_from(rows, Question()).what
    assert what == (
        "Run fused at 1 and 64 rows (1.5 to 2 × eager), compiled at 512 rows (1.3 × eager); "
        "the switch-over lies between 64 and 512 rows."
    )


def test_a_tie_beside_a_batch_that_is_decided_makes_no_switch_over():
    rows = [*points(1, fused=2.0, compiled=1.2), *points(8, fused=2.0, compiled=2.01), *points(64, compiled=3.0)]
    (what,) = advice_from(rows, Question()).what
    assert what == (
        "Run fused at 1 and 8 rows (2 × eager), compiled at 64 rows (3 × eager); "
        "the switch-over lies between 8 and 64 rows."
    )


def test_where_eager_is_as_fast_as_any_it_is_kept():
    advice = advice_from([*points(1, fused=2.0), *points(64, fused=1.005, compiled=0.7)], Question())
    (what,) = advice.what
    assert what == (
        "Run fused at 1 row (2 × eager), keep eager at 64 rows, where nothing is certainly faster; "
        "the switch-over lies between 1 and 64 rows."
    )
    assert advice.choices[1].certainty == "as fast: fused"


def test_it_says_why_by_the_profile_of_the_first_and_the_last_batch():
    rows = [*points(1, fused=2.0), *points(64, fused=1.5), *points(512, fused=1.25, bound="compute")]
    first, last = why_in_words(advice_from(rows, Question()), Question())
    assert first == (
        "At 1 row: fused takes 500 µs in 3 operators, 1.25 × the least its memory traffic takes here; "
        "eager takes 1 ms in 3 operators, 2.50 × the least its memory traffic takes here."
    )
    assert last.startswith("At 512 rows: fused takes 800 µs")
    assert "the least its arithmetic takes here" in last


def test_with_several_blocks_each_reason_names_its_own():
    wide, narrow = points(32, fused=2.0), [row._replace(hidden=128) for row in points(32, fused=1.5)]
    sentences = why_in_words(advice_from([*wide, *narrow], Question()), Question())
    assert [sentence.split(": ")[0] for sentence in sentences] == [
        "mlp · dim 768 → hidden 128 · gelu · float32, at 32 rows",
        "mlp · dim 768 → hidden 3072 · gelu · float32, at 32 rows",
    ]


def test_without_ceilings_the_operators_are_the_reason_and_without_a_profile_there_is_none():
    rows = [
        row._replace(percent_of_floor=None, operator_count=1.0 if row.provider == "fused" else 3.0)
        for row in points(1, fused=2.0, bound=None)
    ]
    (why,) = why_in_words(advice_from(rows, Question()), Question())
    assert why == "At 1 row: fused takes 500 µs in 1 operator; eager takes 1 ms in 3 operators."
    (why,) = why_in_words(advice_from(rows, Question()), Question(has_times=False))
    assert why == "At 1 row: fused is 1 operator; eager is 3 operators."
    assert why_in_words(advice_from([row._replace(operator_count=None) for row in rows], Question()), Question()) == []


def test_a_ceiling_that_is_not_valid_bounds_nothing():
    rows = [row._replace(percent_of_floor=None, floor_s=row.latency_s * 2) for row in points(1, fused=2.0)]
    (why,) = why_in_words(advice_from(rows, Question()), Question())
    assert "fused takes 500 µs in 3 operators, less than the least that was measured to be possible here" in why


@pytest.mark.parametrize(("percent", "least"), [(107.8, "no more than the least"), (99.0, "1.01 × the least")])
def test_a_call_faster_than_its_floor_is_no_part_of_it(percent, least):
    rows = [row._replace(percent_of_floor=percent) for row in points(1, fused=2.0)]
    (told,) = why_in_words(advice_from(rows, Question()), Question())
    assert f"fused takes 500 µs in 3 operators, {least} its memory traffic takes here" in told


def test_where_nothing_decides_and_nobody_is_ahead_it_advises_nothing():
    rows = [*points(1, fused=2.0), *points(8, fused=1.5, width=0.6, disturbed="the machine ran at 60 %")]
    advice = advice_from(rows, Question())
    (what,) = advice.what
    assert what == (
        "Run fused at 1 row (2 × eager); at 8 rows it is undecided (disturbed: fused, eager): measure again."
    )
    assert [choice.certainty for choice in advice.choices] == ["certain", "undecided: measure again"]
    assert [each["run"] for each in advice_as_json(advice, Question())["choices"]] == ["fused", None]


def test_where_it_is_undecided_what_is_run_is_told_and_no_time():
    rows = points(8, fused=1.5, width=0.6, disturbed="the machine ran at 60 %")
    (why,) = why_in_words(advice_from(rows, Question()), Question())
    assert why == "At 8 rows: fused is 3 operators; eager is 3 operators."


def test_one_ahead_by_paired_rounds_is_advised_and_the_doubt_told():
    advice = advice_from(points(1, fused=1.3, width=0.1, disturbed="the machine ran at 60 %"), Question())
    assert advice.what == (
        "Run fused at 1 row; the times are in doubt, as the machine was disturbed: measure again to be sure.",
    )
    assert advice.choices[0].certainty == "ahead by 1.17 × at least; times in doubt"
    assert "disturbed while it was measured: the machine ran at 60 %" in advice_as_text(advice, Question())


def test_ties_name_two_that_are_as_fast_the_faster_first_and_the_table_the_others():
    rows = points(1, fused=2.0, compiled=1.99, liger=1.98, other=1.97)
    advice = advice_from(rows, Question())
    assert advice.what[0].startswith("Run fused or compiled at 1 row")
    assert advice.choices[0].certainty == "as fast as 3 others"
    for shown in (advice_as_text(advice, Question()), advice_as_markdown(advice, Question())):
        assert "as fast at 1 row: compiled, liger, other" in shown
    assert [each.contender for each in recipes_of(advice)] == ["fused", "compiled"]


def test_a_second_that_is_as_fast_has_no_factor_and_one_that_is_later_has():
    tied, later = advice_from(
        [*points(1, fused=2.0, compiled=1.99), *points(8, fused=2.0, compiled=1.6)], Question()
    ).choices
    cells = [_cells(choice, Question()) for choice in (tied, later)]
    assert [each[-2] for each in cells] == ["compiled", "compiled (1.25 ×)"]


def test_what_packed_means_is_told_where_something_is_called_so():
    rows = [row._replace(weights="packed") if row.provider == "fused" else row for row in points(1, fused=2.0)]
    assert ":packed means that the weights are rearranged once" in advice_as_text(
        advice_from(rows, Question()), Question()
    )
    assert ":packed" not in advice_as_text(advice_from(points(1, fused=2.0), Question()), Question())


def test_a_headline_holds_the_doubt_of_its_rows_and_no_factor_that_rests_on_it():
    rows = [*points(1, fused=2.0), *points(8, fused=1.15, disturbed="the machine ran at 60 %")]
    (what,) = advice_from(rows, Question()).what
    assert what == (
        "Run fused at 1 and 8 rows (2 × eager); at 8 rows the times are in doubt, as the machine was disturbed: "
        "measure again to be sure."
    )
    (what,) = advice_from(rows[2:], Question()).what
    assert what.startswith("Run fused at 8 rows; the times")


def test_a_large_factor_is_a_whole_number():
    assert advice_from(points(1, fused=4160.0), Question()).what == ("Run fused at 1 row (4160 × eager).",)


def test_what_gave_no_time_is_told_once_per_reason_and_not_by_every_batch():
    rows = []
    for batch in (1, 8):
        measured = points(batch, fused=2.0, compiled=1.0, liger=1.0)
        rows += [
            row if row.provider in {"eager", "fused"} else row._replace(
                state="unavailable", reason="no compiler", latency_s=None, speedup_vs_eager=None
            )
            for row in measured
        ]  # fmt: skip
    text = advice_as_text(advice_from(rows, Question()), Question())
    assert "compiled, liger gave no time (unavailable): no compiler" in text
    (other,) = (row for row in points(1, fused=1.0) if row.provider == "fused")
    other = other._replace(provider="mine", state="crashed", reason="boom", latency_s=None)
    text = advice_as_text(advice_from([*rows, other], Question()), Question())
    assert "mine gave no time at 1 row (crashed): boom" in text


def test_what_was_left_out_is_named_with_the_option_that_adds_it():
    question = Question(left_out=("compiled-frozen:packed",), notes=("3 of the module's blocks are measured",))
    advice = advice_from(points(1, fused=2.0), question)
    for shown in (advice_as_text(advice, question), advice_as_markdown(advice, question)):
        assert "compiled-frozen:packed; --thorough adds them" in shown
        assert "3 of the module's blocks are measured" in shown
    assert advice_as_json(advice, question)["left_out"] == ["compiled-frozen:packed"]


def test_every_contender_of_ours_that_is_advised_comes_with_the_line_that_runs_it():
    advice = advice_from(points(1, fused=2.0, mine=1.0), Question())
    (recipe,) = recipes_of(advice)
    assert recipe.code == "fused_mlp.fuse(model, prepare=False)"
    assert f"fused: {recipe.code}" in advice_as_text(advice, Question())
    assert f"- fused: `{recipe.code}`" in advice_as_markdown(advice, Question())
    assert recipes_of(advice_from(points(1, mine=2.0), Question())) == []
    assert recipes_of(advice_from(points(1, fused=0.5), Question())) == []


@pytest.mark.parametrize("latency_s", [0.5e-3, 0.02])
def test_a_factor_that_is_not_the_quotient_of_the_times_beside_it_is_told(latency_s):
    rows = [row._replace(latency_s=latency_s) if row.provider == "fused" else row for row in points(1, fused=2.0)]
    advice = advice_from(rows, Question())
    note = "× eager is not the quotient of the latencies at 1 of 1 point:"
    assert (note in advice_as_text(advice, Question())) is (latency_s == 0.02)
    assert note not in advice_as_text(advice, Question(has_times=False))


def test_no_format_holds_a_factor_below_0():
    advice = advice_from(points(1, fused=2.0, width=1.5), Question())
    (choice,) = advice_as_json(advice, Question())["choices"]
    assert choice["speedup_ci_low"] == 0.0
    assert "(0 …" in advice_as_text(advice, Question())


@pytest.mark.parametrize("width", [60, 80, 95, 96, 120])
def test_no_line_of_a_table_is_wider_than_the_terminal(width):
    rows = points(1, fused=5.4, compiled=5.0, liger=1.0, width=0.06, disturbed="the machine ran at 60 %")
    text = advice_as_text(advice_from(rows, Question()), Question(), Terminal(width=width))
    assert max(map(len, text.splitlines())) <= width
    assert "the fastest is in doubt" in text


def test_several_that_are_ahead_of_eager_are_advised_though_which_is_fastest_is_in_doubt():
    rows = points(1, fused=5.4, compiled=5.0, liger=1.0, width=0.06, disturbed="the machine ran at 60 %")
    advice = advice_from(rows, Question())
    assert advice.what == (
        (
            "Run fused or compiled at 1 row; which is the fastest is in doubt, as the machine was disturbed: "
            "measure again to know."
        ),
    )
    assert advice.choices[0].certainty == "faster than eager; the fastest is in doubt"


def test_without_absolute_times_no_format_holds_one():
    question = Question(model="bert-base", layers=12, has_times=False)
    advice = advice_from(points(1, fused=2.0), question)
    for shown in (advice_as_text(advice, question), advice_as_markdown(advice, question)):
        assert "µs" not in shown
        assert " ms" not in shown
        assert "2 (1.98 … 2.02)" in shown
    content = advice_as_json(advice, question)
    assert content["choices"][0]["latency_s"] is None
    assert content["gains"][0] == {
        "calls": 12, "calls_left_out": 0, "batch": 1, "eager_s": None, "advised_s": None, "is_in_doubt": False,
        "time_vs_eager": pytest.approx(0.5),
    }  # fmt: skip


def test_markdown_shows_names_and_reasons_as_they_are():
    question = Question(model="my_model.py:build", calls={(BLOCK, 1): 1}, notes=("a|b *c* <d>",))
    markdown = advice_as_markdown(advice_from(points(1, fused=2.0), question), question)
    assert "my\\_model.py:build" in markdown
    assert "a\\|b \\*c\\* \\<d\\>" in markdown
    table = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in table} == {7}


def test_every_format_holds_the_same():
    question = Question(model="bert-base", layers=12)
    advice = advice_from([*points(1, fused=2.0, compiled=1.5), *points(512, fused=1.0, compiled=1.3)], question)
    text, markdown, content = (
        advice_as_text(advice, question), advice_as_markdown(advice, question), advice_as_json(advice, question)
    )  # fmt: skip
    for sentence in (*advice.what, *why_in_words(advice, question)):
        assert sentence in markdown
        assert sentence in text
    assert "|-------:|:-" in markdown
    assert [(each["batch"], each["run"], each["standing"]) for each in content["choices"]] == [
        (1, "fused", "fastest"), (512, "compiled", "fastest")
    ]  # fmt: skip
    assert content["gains"][0]["eager_s"] == pytest.approx(12e-3)
    assert content["commit"] == "a" * 40
    assert "Measured on desk, py3.11-cpu-t2, at aaaaaaaa, 2026-11-22." in text


def test_without_any_time_there_is_nothing_to_advise():
    rows = [row._replace(state="failed", latency_s=None) for row in points(1, fused=2.0)]
    assert advice_from(rows, Question()).choices == ()
