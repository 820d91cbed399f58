"""The sentence that the page Throughput begins with."""

from __future__ import annotations

import pytest

from dashboard.figures.notes import commit_lines
from dashboard.pages.throughput import answer_lines
from dashboard.tables.chosen_point import chosen_point_lines
from dashboard.views.throughput.answer import answer_from
from dashboard.views.throughput.notes import note_of_commit


def contender(point, provider, speedup, *, half_width=0.01, **changes):
    ends = {"speedup_ci_low": (1 - half_width) * speedup, "speedup_ci_high": (1 + half_width) * speedup}
    return point(provider=provider, latency_s=1e-3 / speedup, speedup_vs_eager=speedup, **{**ends, **changes})


def sentence(rows, *, batch=64):
    return answer_from(rows, batch=batch).sentence.replace("\N{NARROW NO-BREAK SPACE}", " ")


def test_the_fastest_is_named_with_its_speedup_and_that_it_is_certain(point):
    rows = [point(), contender(point, "fused", 2.1)]
    answer = answer_from(rows, batch=64)
    assert sentence(rows) == "Run fused at 64 rows: 2.10× eager [2.08, 2.12], certain"
    assert (answer.contenders, answer.is_certain) == (("fused",), True)


def test_where_eager_is_fastest_no_speedup_over_itself_is_claimed(point):
    assert sentence([point(), contender(point, "fused", 0.5)]) == (
        "Run eager at 64 rows: nothing measured here is faster, certain"
    )


def test_a_tie_names_both(point):
    answer = answer_from([point(), contender(point, "fused", 1.004)], batch=64)
    assert "tied, their intervals overlap" in answer.sentence
    assert set(answer.contenders) == {"eager", "fused"}
    assert not answer.is_certain


def test_undecided_says_who_leads_by_paired_rounds_and_why_it_is_in_doubt(point):
    rows = [point(), contender(point, "fused", 1.15, disturbed="the machine ran at 60 %")]
    assert sentence(rows) == (
        "Undecided at 64 rows: fused leads by 1.14× at least over paired rounds, "
        "but the times are in doubt (disturbed: fused)"
    )


def test_undecided_without_a_lead_says_to_measure_again(point):
    rows = [point(), contender(point, "fused", 1.02, half_width=0.2)]
    assert sentence(rows).startswith("Undecided at 64 rows: fused took the least time, but times are in doubt (fused: ")
    assert sentence(rows).endswith("measure again (fusebench run --again)")


def test_where_nothing_is_ok_the_states_are_named(point):
    assert sentence([point(state="crashed"), point(provider="fused", state="out_of_memory")]) == (
        "Nothing is ok at 64 rows: eager crashed, fused out of memory"
    )


@pytest.mark.parametrize(("batch", "rows"), [(1, "1 row"), (65536, "65 536 rows")])
def test_a_batch_that_was_not_measured_is_named(point, batch, rows):
    assert sentence([point()], batch=batch) == f"Nothing was measured at {rows} with this choice"


def test_a_single_contender_is_no_winner(point):
    assert sentence([contender(point, "fused", 2.0)]) == (
        "fused is the only one with a time at 64 rows: 2.00× eager [1.98, 2.02]"
    )


def test_undecided_names_who_is_faster_than_eager_all_the_same(point):
    rows = [
        point(),
        contender(point, "fused", 2.0, disturbed="the machine ran at 60 %"),
        contender(point, "compiled", 1.99, disturbed="the machine ran at 60 %"),
    ]
    assert sentence(rows) == (
        "Undecided at 64 rows: faster than eager are fused, compiled; which is fastest is in doubt "
        "(disturbed: fused, compiled)"
    )


def test_the_reason_says_what_the_time_goes_to(point):
    rows = [point(operator_count=3), contender(point, "fused", 2.0, operator_count=1, bound="memory")]
    assert answer_from(rows, batch=64).details == (
        "Why: fused takes 500 µs in 1 operator, bound by memory; eager takes 1 ms in 3 operators, bound by compute.",
    )


def test_over_several_batches_the_switch_over_is_told_below(point):
    rows = [
        *(point(batch=batch) for batch in (1, 64)),
        contender(point, "fused", 2.0, batch=1),
        contender(point, "fused", 0.5, batch=64),
    ]
    answer = answer_from(rows, batch=1)
    assert answer.details[0] == (
        "Run fused at 1 row (2 × eager), keep eager at 64 rows, where nothing is certainly faster; "
        "the switch-over lies between 1 and 64 rows."
    )
    [head, *details] = answer_lines(answer)
    assert head.className == "answer"
    assert len(details) == len(answer.details)


def test_an_uncertain_answer_looks_it(point):
    [head, *_] = answer_lines(answer_from([point(), contender(point, "fused", 1.004)], batch=64))
    assert head.className == "answer uncertain"


def over_commits(point, *speedups, **changes):
    """Eager and fused at commits of the given speedups, oldest first."""
    return [
        row
        for i, speedup in enumerate(speedups)
        for row in (
            point(commit=f"{i:08x}" + "0" * 32, commit_subject=f"Change {i}"),
            contender(point, "fused", speedup, commit=f"{i:08x}" + "0" * 32, commit_subject=f"Change {i}", **changes),
        )
    ]


def since(rows):
    own = [row for row in rows if row.commit == rows[-1].commit]
    return answer_from(own, batch=64, over_commits=rows).details[0]


def test_the_answer_says_since_when_and_who_led_before(point):
    words = since(over_commits(point, 0.5, 0.5, 2.0, 2.0))
    assert words.startswith("fused is the fastest here since 00000002")
    assert "(Change 2); before, eager was, at 00000001." in words


def test_the_answer_says_that_a_leader_led_from_the_first_on(point):
    assert since(over_commits(point, 2.0, 2.0)).startswith(
        "fused is the fastest here at all 2 commits that decide it, the first 00000000"
    )


def test_the_answer_blames_no_commit_for_what_another_ruler_decided(point):
    rows = over_commits(point, 0.5, 0.5, 2.0, 2.0)
    words = since([row._replace(ruler_version="4" if row.commit < "00000002" else "5") for row in rows])
    assert words.startswith("fused is the fastest here by ruler 5 since 00000002")
    assert words.endswith("(Change 2); by ruler 4, which does not compare, eager was, at 00000001.")


def test_the_answer_says_what_was_decided_last(point):
    words = since(over_commits(point, 0.5, 2.0, 1.001))
    assert words.startswith("Last decided at 00000001: fused is the fastest here since 00000001")
    assert words.endswith("; 1 commit since then decides nothing.")


def test_the_answer_of_an_older_commit_names_it(point):
    rows = [point(), contender(point, "fused", 2.1)]
    sentence = answer_from(rows, batch=64, is_older=True).sentence
    assert f"rows (commit {rows[0].commit[:10]}, not the newest): 2.10× eager" in sentence


def test_many_disturbed_providers_are_counted_not_listed(point):
    names = ("fused", "compiled", "addmm-activation")
    disturbed = {"disturbed": "the machine ran at 60 %"}
    rows = [point(**disturbed), *(contender(point, name, 2.0 - i / 10, **disturbed) for i, name in enumerate(names))]
    assert "(disturbed: all 4 providers)" in sentence(rows)
    some = [*rows, contender(point, "onnxruntime", 1.2)]
    assert "(disturbed: fused, compiled and 2 others)" in sentence(some)


def test_where_another_leads_in_the_table_it_says_why_this_one_is_run(point):
    def others(doubt):
        return [
            *(point(batch=batch) for batch in (1, 8, 64)),
            *(contender(point, "fused", 2.0, batch=batch) for batch in (1, 8, 64)),
            contender(point, "compiled", 1.5, batch=1),
            *(contender(point, "compiled", 2.01, batch=batch, disturbed=doubt) for batch in (8, 64)),
        ]

    details = answer_from(others(None), batch=1).details
    assert "At 8 and 64 rows, where compiled leads, fused is as fast, by the intervals." in details
    details = answer_from(others("a neighbour"), batch=1).details
    assert (
        "At 8 and 64 rows, where compiled leads, fused is faster than eager, too; which of them is faster is in doubt."
        in details
    )
    alone = [row for row in others(None) if row.provider != "compiled"]
    assert not any("leads" in detail for detail in answer_from(alone, batch=1).details)


def test_a_commit_without_a_subject_is_named_by_hash_and_date_alone(point):
    row = point(commit_subject=None)
    said = [*commit_lines(row.commit, row.commit_date, row.commit_subject), note_of_commit([row])]
    named = {"batch": 1, "commit": row.commit, "date": row.commit_date, "subject": None}
    said += [str(one) for one in chosen_point_lines(**named, profile_query="?", commands=("ls",))]
    assert "no subject" not in " ".join(said)
    assert said[0].startswith(f"{row.commit[:10]} · ")
    assert len(commit_lines(row.commit, row.commit_date, "A subject")) == 2


def test_of_one_commit_nothing_is_said_of_since_when(point):
    rows = over_commits(point, 2.0)
    assert answer_from(rows, batch=64, over_commits=rows).details == answer_from(rows, batch=64).details
