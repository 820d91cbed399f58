"""The article's cases: what one call does, and a reason only where the profile holds its evidence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from results.files.stacks import FoldedStack
from results.judgement.article.cases import Entry, Observed, Pace
from results.judgement.article.explanations import Rule, explanations
from results.judgement.article.steps import call_from
from results.output.article import article_as_json, article_as_markdown, article_as_text
from results.rows import RuntimeCallRow
from tests.results.judgement.article.cases import (
    COMPILED_GEGLU,
    COMPILED_ON_GPU,
    EAGER_GEGLU,
    EAGER_LINEAR,
    EAGER_ON_GPU,
    GEGLU,
    GENERATED,
    LINEAR,
    MUL,
    PRODUCT,
    SETTING,
    entry,
    geglu,
    linear,
    on_gpu,
    row,
    told,
)


def test_a_call_has_its_outermost_computing_operators_as_steps_and_the_rest_as_bookkeeping():
    call = linear().eager.call
    (step,) = call.steps
    assert (step.name, step.count, step.share) == ("aten::addmm", 1.0, 1.0)
    assert step.within == {"aten::copy_": pytest.approx(46201 / (54469 + 46201 + 1677))}
    assert call.bookkeeping == pytest.approx({"aten::linear": 5166e-9, "aten::t": 2714e-9, "aten::transpose": 6053e-9})
    assert call.host_s == pytest.approx(sum(EAGER_LINEAR.values()) * 1e-9)


def test_shares_of_steps_sum_to_one():
    for observed in (linear(), geglu(), on_gpu(EAGER_ON_GPU, COMPILED_ON_GPU)):
        for each in observed.entries:
            assert each.call.share_of(each.call.steps) == pytest.approx(1)


def test_the_bias_is_a_copy_where_addmm_copied_and_nobody_is_said_to_copy_who_did_not():
    copied, not_copied = told(linear())[Rule.BIAS]
    assert "aten::copy_ first writes the bias into every row of the output (45 % of aten::addmm's time)" in (
        copied.replace("\N{NARROW NO-BREAK SPACE}", " ")
    )
    assert not_copied.startswith("fused has no such copy")
    without = {name: time for name, time in EAGER_LINEAR.items() if "copy_" not in name}
    assert Rule.BIAS not in told(Observed(case=LINEAR, entries=(entry("eager", without),)))


def test_compile_has_nothing_to_fuse_where_the_steps_are_the_same_and_the_transpose_is_gone():
    (text,) = told(linear())[Rule.NOTHING_TO_FUSE]
    assert "the same operator, aten::addmm" in text
    assert "aten::t and aten::transpose" in text
    kept = entry("compiled", EAGER_LINEAR, speedup=1.0)
    (text,) = told(replace(linear(), entries=(linear().eager, kept)))[Rule.NOTHING_TO_FUSE]
    assert "gone" not in text
    assert Rule.NOTHING_TO_FUSE not in told(geglu())


def test_five_operators_become_four_and_one_and_nobody_is_said_to_fuse_who_runs_as_many():
    four, one = told(geglu())[Rule.FUSED]
    assert four == (
        "compiled: five operators became four, as in the article. aten::gelu and aten::mul run as one, "
        "cpp_fused_gelu_mul, by Inductor (C++); the products stay."
    )
    assert one.startswith("fused: five operators became one.")
    same = entry("compiled", EAGER_GEGLU, counts={"aten::mm": 3.0}, speedup=1.0)
    assert Rule.FUSED not in told(Observed(case=GEGLU, entries=(geglu().eager, same)))


def test_shares_of_a_profile_that_was_disturbed_are_not_told():
    observed = geglu()
    eager, *others = observed.entries
    folded = [FoldedStack(("forward", *text.split(";")), time * 1e-9) for text, time in EAGER_GEGLU.items()]
    slow = replace(eager.profile, operator_time_s=20e-6)  # at best; the stacks hold five times as much
    rough = replace(eager, call=call_from(slow, folded))
    disturbed = replace(observed, entries=(rough, *others))
    assert rough.call.share_of(rough.call.steps) is None
    assert rough.call.names == eager.call.names
    assert Rule.LIMIT not in told(disturbed)
    assert Rule.FUSED in told(disturbed)
    assert "Disturbed while it was profiled, so that shares are not told: eager in 1." in article_as_text(
        [disturbed], SETTING
    )
    calm = replace(slow, operator_time_s=95e-6)
    assert [call_from(calm, folded, latency_s=latency_s).is_disturbed for latency_s in (60e-6, 20e-6)] == [False, True]


def test_what_the_article_saw_of_a_block_is_told_once():
    text = article_as_text([linear(), geglu(), geglu()], SETTING)
    assert text.count("five kernels") == 1
    assert "The article saw: what is told in 2 (at other sizes, 8,192 rows, 768 → 3,072)." in text


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ({}, "at other sizes, 8,192 rows, 768 → 3,072"),
        ({"rows": 256, "dim": 768, "hidden": 3072}, "at these widths, 768 → 3,072, but 8,192 rows"),
        ({"rows": 8192, "dim": 768, "hidden": 3072}, "at these sizes, 8,192 rows, 768 → 3,072"),
    ],
)
def test_the_sizes_that_the_article_had_stand_beside_those_of_the_case(sizes, told):
    observed = replace(geglu(), case=replace(GEGLU, **sizes))
    assert f"The article saw: eager ({told}), five kernels" in article_as_text([observed], SETTING)


def test_the_limit_of_fusing_is_from_the_shares_of_what_is_no_product():
    (text,) = told(geglu())[Rule.LIMIT]
    assert "(aten::gelu and aten::mul) takes 40" in text
    assert text.endswith("1.67 × as fast.")
    eager, _, fused = geglu().entries
    faster = replace(fused, row=fused.row._replace(speedup_ci_low=1.7))
    assert "fused, which is faster" in told(Observed(case=GEGLU, entries=(eager, faster)))[Rule.LIMIT][0]


@pytest.mark.parametrize(("moved", "is_told"), [(3 * 401_664, True), (401_664, False), (None, False)])
def test_more_traffic_than_needed_is_told_where_the_profile_knows_it(moved, is_told):
    eager = geglu().eager
    one = replace(eager, profile=replace(eager.profile, operators_min_bytes=moved))
    observed = Observed(case=GEGLU, entries=(one,))
    assert ("3 × what cannot be avoided" in "".join(told(observed).get(Rule.TRAFFIC, []))) == is_told


def test_less_memory_is_told_of_those_who_save_an_intermediate():
    (text,) = told(geglu())[Rule.MEMORY]
    assert "eager holds 197 kB beside inputs and weights, compiled 131 kB, fused 81.9 kB" in text
    as_much = replace(geglu(), entries=(geglu().eager, entry("compiled", COMPILED_GEGLU, peak=190_000, speedup=1.0)))
    assert Rule.MEMORY not in told(as_much)


@pytest.mark.parametrize(
    ("others", "is_blamed"),
    [({}, True), ({"disturbed": "others used 1.9 cores"}, False), ({"speedup_ci_high": 1.1}, False)],
)
def test_guards_are_told_and_blamed_only_where_compiled_is_surely_slower(others, is_blamed):
    (text,) = told(linear(**others))[Rule.GUARDS]
    assert "its guards" in text
    assert ("in sum it takes 2 × eager's time" in text) == is_blamed


def test_compiling_is_told_in_calls_of_eager_and_only_where_it_was_timed():
    observed = linear(compile_time_cold_s=6.2, recompile_time_s=0.23)
    (text,) = told(observed)[Rule.COMPILATION]
    assert "as long as 62,000 calls of eager, and a new shape as long as 2,300" in text
    assert Rule.COMPILATION not in told(linear())


def test_a_wrong_guess_is_named_with_what_ran():
    case = replace(GEGLU, steps={**GEGLU.steps, "compiled": 3})
    (text,) = told(replace(geglu(), case=case))[Rule.GUESS]
    assert text == ("The guess was wrong for compiled: 3 operators expected, but 3 × aten::mm, cpp_fused_gelu_mul ran.")
    assert Rule.GUESS not in told(geglu())


def test_on_a_gpu_the_bias_is_in_the_epilogue_of_the_only_kernel():
    observed = on_gpu(("eager", None, [(PRODUCT, 1, 4e-6)]), ("compiled", 1.0, [(PRODUCT, 1, 4e-6)]), case=LINEAR)
    found = told(observed)
    assert "costs no kernel, as in the article: the only one, matrix product · cuBLAS" in found[Rule.BIAS][0]
    assert PRODUCT in found[Rule.NOTHING_TO_FUSE][0]
    with_copy = on_gpu(("eager", None, [(PRODUCT, 1, 4e-6), (MUL, 1, 1e-6)]), case=LINEAR)
    assert Rule.BIAS not in told(with_copy)


def test_on_a_gpu_the_same_names_are_the_same_products_and_other_names_other_tiles():
    found = told(on_gpu(EAGER_ON_GPU, COMPILED_ON_GPU))
    assert found[Rule.SAME_PRODUCTS] == ["compiled runs eager's products by name, so it does the same work in them."]
    assert all(f"tile {tile}" in found[Rule.TILES][0] for tile in ("128x64x64", "128x128x64"))
    assert "five kernels became four" in found[Rule.FUSED][0]
    other = ("compiled", 1.0, [(PRODUCT, 3, 5.5e-4), (GENERATED, 1, 8.9e-5)])
    assert Rule.SAME_PRODUCTS not in told(on_gpu(EAGER_ON_GPU, other))


def test_parts_of_a_product_that_a_kernel_adds_up_are_no_step_of_their_own():
    split = [*EAGER_ON_GPU[2], ("void cublasLt::splitKreduce_kernel<32, 16, int, float>(float*)", 3, 1e-6)]
    assert on_gpu(("eager", None, split)).eager.call.step_count == 5
    sums = split[-1]
    assert "split-K sum" not in told(on_gpu(("eager", None, split)))[Rule.TILES][0]
    assert Rule.TILES not in told(on_gpu(("eager", None, [(PRODUCT, 3, 5.5e-4), sums])))
    assert Rule.BIAS not in told(on_gpu(("eager", None, [(PRODUCT, 1, 4e-6), sums]), case=LINEAR))


@pytest.mark.parametrize(("asked", "is_told"), [(3, True), (5, False), (0, False)])
def test_occupancy_is_told_only_where_it_is_asked_once_a_product(asked, is_told):
    name = "cudaOccupancyMaxActiveBlocksPerMultiprocessor"
    call = RuntimeCallRow(name=name, kind="occupancy", count=asked, time_s=1e-6)
    assert (Rule.OCCUPANCY in told(on_gpu(EAGER_ON_GPU, calls=(call,)))) == is_told


def test_the_guess_names_no_time_that_was_measured_of_the_case():
    found = geglu()
    slow = {"latency_s": 103e-6, "floor_s": 21e-6, "percent_of_floor": 20.4, "bound": "compute"}
    eager = replace(found.eager, row=row("eager", **slow))
    guess = next(
        line for line in article_as_text([replace(found, entries=(eager,))], SETTING).splitlines() if "Guess" in line
    )
    assert guess.endswith("That takes at least 21 µs at this machine's measured peak.")
    assert "103" not in guess


def test_a_point_without_profile_is_printed_and_explains_nothing():
    observed = Observed(case=GEGLU, entries=(Entry(row=row("eager")), Entry(row=row("compiled", speedup=1.2))))
    assert explanations(observed) == ()
    assert "1.20 (1.18 … 1.22)" in article_as_text([observed], SETTING)


def test_what_gave_no_time_is_named_with_its_reason():
    failed = Entry(row=row("liger", state="unavailable", reason="needs a GPU", latency_s=None))
    observed = replace(geglu(), entries=(*geglu().entries, failed))
    text = article_as_text([observed], SETTING)
    assert "liger gave no time (unavailable): needs a GPU" in text
    assert failed.pace is Pace.UNKNOWN


def test_text_markdown_and_json_hold_the_same_reasons():
    found = [linear(), geglu(), on_gpu(EAGER_ON_GPU, COMPILED_ON_GPU)]
    text, markdown = article_as_text(found, SETTING), article_as_markdown(found, SETTING)
    content = article_as_json(found, SETTING)
    reasons = [each.text for observed in found for each in explanations(observed)]
    assert len(reasons) > 10
    assert all(reason in text and reason in markdown for reason in reasons)
    assert [each["text"] for case in content["cases"] for each in case["why"]] == reasons
    assert "Guess: 4.19 MFLOP in the products" in text
    assert "Then 5 operators for eager; 4 operators for compiled; 1 operator for fused." in text
    assert "fusebench advise --gated --activation gelu_tanh --dim 64 --hidden 256" in text
