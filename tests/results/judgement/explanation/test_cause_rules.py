"""Edges of the rules that name a cause: which rows, counts and bytes are one, in which words and order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from results.judgement.explanation import CauseKind
from results.judgement.explanation.difference import NameCount, RowKind, RowPlace
from results.judgement.explanation.exact_differences import Quantity
from results.rows import OperatorRow
from tests.made_calls import US, profile
from tests.made_differences import CALL, added, causes, exact, removed, renamed, row

PRODUCT, ACTIVATED = (
    f"sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_{how}execute_kernel__5x_cublas"
    for how in ("", "gelu_")
)
SPLIT_BIAS, WHOLE = (f"nvjet_sm90_tst_64x64_64x4_2x1_v_bz_{how}TNT" for how in ("splitK_bias_", ""))
GELU, ADD, MUL, COPY = ("triton_poi_fused_gelu", "triton_poi_fused_add", "triton_poi_fused_mul", "aten::copy_")
OURS = "mlp_full_tile_kernel"


def memory(base, head, name="peak memory"):
    return Quantity(name=name, base=base, head=head, unit="bytes")


def test_nothing_is_said_without_both_profiles():
    known = {"quantities": [memory(4e6, 8e6)], "counts": [NameCount(name="aten::mm", base=1, head=2)]}
    assert len(causes(**known)) == 2
    assert causes(**known, reason="no profile is stored at the base") == ()
    assert causes(**known, base=None) == causes(**known, head=None) == ()


def test_what_is_exact_comes_first_by_its_time_and_then_what_was_timed():
    found = causes(
        row(RowKind.SLOWER, "aten::mm", (10, 1), (35, 1)), row(RowKind.SLOWER, "aten::addmm", (10, 1), (40, 1)),
        renamed(PRODUCT, WHOLE, (5, 6)), removed(COPY, 8), change=45,
        quantities=[Quantity(name="implementation", base="triton", head="cpp")],
    )  # fmt: skip
    kinds = [CauseKind.REMOVED, CauseKind.RENAMED, CauseKind.IMPLEMENTATION, CauseKind.TIME, CauseKind.TIME]
    assert [one.kind for one in found] == kinds
    assert [one.words.split("`")[1] for one in found[3:]] == ["aten::addmm", "aten::mm"]


@pytest.mark.parametrize(
    ("base", "head", "words"),
    [
        (0, 1, "every call (1 a call, none at the base)"), (1, 2, "every call (2 a call, 1 at the base)"),
        (0, 0.5, "some calls (0.500 a call, none at the base)"), (1, 1, None), (2, 1, None), (None, 1, None),
        (1, None, None),
    ],
)  # fmt: skip
def test_a_recompilation_is_of_more_compilations_than_before(base, head, words):
    one = Quantity(name="compilations in a call", base=base, head=head)
    words = words and f"recompilation: torch.compile compiles in {words}"
    assert causes(quantities=[one]) == ((exact(CauseKind.COMPILATION, words),) if words else ())
    more = causes(
        quantities=[Quantity(name="operators", base=1, head=2), one], parts={"outside operators": 7, "rest": 2}
    )
    assert more == (
        (exact(CauseKind.COMPILATION, f"{words}, with more time beside what computes", 9),) if words else ()
    )


@pytest.mark.parametrize(
    ("rows", "kind", "words", "us"),
    [
        ([removed(COPY)], CauseKind.REMOVED, "`aten::copy_` no longer runs", -5),
        ([removed(COPY, n=2.0)], CauseKind.REMOVED, "`aten::copy_` ×2 no longer runs", -5),
        ([removed(COPY, n=3.0), added("mm", n=2.0)], CauseKind.REPLACED, "`aten::copy_` ×3 became `mm` ×2", 0),
        ([row(RowKind.FEWER_CALLS, COPY, (9, 3), (3, 1))], CauseKind.REMOVED, "`aten::copy_` ×2 no longer runs", -6),
        ([row(RowKind.MORE_CALLS, COPY, (3, 1), (9, 3))], CauseKind.ADDED, "`aten::copy_` ×2 runs in addition", 6),
        ([row(RowKind.MORE_CALLS, COPY, (6, 2), (9, 3))], CauseKind.ADDED, "`aten::copy_` runs in addition", 3),
        ([added(COPY, n=2.0)], CauseKind.ADDED, "`aten::copy_` ×2 runs in addition", 5),
        ([added(COPY, n=0.0)], CauseKind.ADDED, "`aten::copy_` runs in addition", 5),
        ([added(COPY, n=None)], CauseKind.ADDED, "`aten::copy_` runs in addition", 5),
        (
            [added(COPY, place=RowPlace.KERNEL)], CauseKind.ADDED, "`aten::copy_` is launched in addition", 5,
        ),
        (
            [removed("aten::mm"), row(RowKind.MORE_CALLS, COPY, (3, 1), (9, 3))], CauseKind.REPLACED,
            "`aten::mm` became `aten::copy_` ×2", 1,
        ),
        (
            [row(RowKind.FEWER_CALLS, COPY, (9, 3), (3, 1)), added("aten::mm", 7)], CauseKind.REPLACED,
            "`aten::copy_` ×2 became `aten::mm`", 1,
        ),
        (
            [added(GELU)], CauseKind.ADDED, f"`{GELU}` (pointwise (gelu) · Inductor (Triton)) runs in addition", 5,
        ),
    ],
)  # fmt: skip
def test_what_only_one_side_runs_is_told_with_how_often(rows, kind, words, us):
    assert causes(*rows) == (exact(kind, words, us),)


def test_a_name_whose_place_is_not_known_is_more_work_or_less():
    found = causes(counts=[NameCount(name="aten::mm", base=1, head=3), NameCount(name="aten::t", base=2, head=1)])
    assert found == (
        exact(CauseKind.ADDED, "`aten::mm` runs 3 times in a call instead of once"),
        exact(CauseKind.REMOVED, "`aten::t` runs once in a call instead of 2"),
    )


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ([("fused_mlp::mlp", 1)], [("aten::addmm", 2), ("aten::gelu", 1)], CauseKind.LOST_FUSION),
        ([("fused_mlp::mlp", 1)], [("aten::addmm", 1)], CauseKind.REPLACED),
        ([("fused_mlp::mlp", None)], [("aten::addmm", 2)], CauseKind.LOST_FUSION),
        ([("fused_mlp::mlp", 1)], [("aten::addmm", None)], CauseKind.REPLACED),
        ([("fused_mlp::mlp", 1), ("aten::t", 1)], [("aten::addmm", 3)], CauseKind.LOST_FUSION),
        ([(OURS, 1)], [(PRODUCT, 2)], CauseKind.LOST_FUSION),
        ([("aten::_addmm_activation", 1)], [("aten::addmm", 1), ("aten::gelu", 1)], CauseKind.LOST_FUSION),
        ([("aten::_addmm_activation", 1)], [("fused_mlp::linear", 1), (COPY, 1)], CauseKind.REPLACED),
        ([(ACTIVATED, 1)], [(PRODUCT, 1), (GELU, 1)], CauseKind.LOST_FUSION),
        ([("triton_poi_fused_gelu_mul", 1)], [("triton_red_fused_gelu_mul", 1), (COPY, 1)], CauseKind.REPLACED),
        ([("triton_poi_fused_gelu_mul", 1)], [(GELU, 1), (MUL, 1)], CauseKind.LOST_FUSION),
        ([(GELU, 1)], [(MUL, 1), (ADD, 1)], CauseKind.REPLACED),
        ([("aten::mm", 1)], [("aten::t", 1), (COPY, 1)], CauseKind.REPLACED),
    ],
)
def test_a_fusion_is_lost_where_more_calls_do_what_a_fused_one_did_and_found_the_other_way(before, after, kind):
    found = causes(*(removed(name, n=n) for name, n in before), *(added(name, n=n) for name, n in after))
    assert [one.kind for one in found] == [kind]
    back = causes(*(removed(name, n=n) for name, n in after), *(added(name, n=n) for name, n in before))
    assert [one.kind for one in back] == [CauseKind.NEW_FUSION if kind is CauseKind.LOST_FUSION else kind]


def test_of_a_call_that_runs_more_often_only_the_calls_beyond_count():
    more = row(RowKind.MORE_CALLS, "aten::addmm", (9, 3), (12, 4))
    assert [one.kind for one in causes(removed("fused_mlp::mlp"), more)] == [CauseKind.REPLACED]


@pytest.mark.parametrize(
    ("before", "after", "extra", "is_lost"),
    [
        (ACTIVATED, PRODUCT, GELU, True),
        (ACTIVATED, PRODUCT, MUL, False),
        (ACTIVATED, ACTIVATED.replace("64", "32"), GELU, False),
        (PRODUCT, WHOLE, GELU, False),
        (PRODUCT, ACTIVATED, GELU, False),
        (SPLIT_BIAS, WHOLE, ADD, True),
        (SPLIT_BIAS, WHOLE, GELU, False),
    ],
)
def test_a_kernel_beside_a_product_was_part_of_it_if_it_does_what_the_product_no_longer_does(
    before, after, extra, is_lost
):
    other = renamed("sgemm_a", "sgemm_b", (5, 7))
    found = causes(added(extra), renamed(before, after, (5, 6)), other)
    others = [CauseKind.RENAMED] if is_lost else [CauseKind.RENAMED] * 2
    assert [one.kind for one in found] == [CauseKind.LOST_FUSION if is_lost else CauseKind.ADDED, *others]
    assert found[0].change_s == pytest.approx((6 if is_lost else 5) * US)
    assert found[0].is_exact
    assert found[1] == exact(CauseKind.RENAMED, "`sgemm_a` became `sgemm_b`", 2)


def test_what_runs_at_several_places_is_named_once():
    several = [added("aten::neg", us) for us in (3, 1)]
    assert causes(*several)[0].words == "`aten::neg` ×2 runs in addition"
    assert causes(*several, added(COPY))[0].words == "`aten::copy_` and `aten::neg` ×2 run in addition"
    gone = [removed("aten::neg", n=2.0), removed("aten::neg")]
    assert causes(*gone)[0].words == "`aten::neg` ×3 no longer runs"
    assert causes(*gone, added("aten::mm"))[0].words == "`aten::neg` ×3 became `aten::mm`"


def test_of_many_names_the_four_that_take_most_are_told():
    rows = [added(f"aten::{name}", us) for name, us in zip("abcdef", (1, 6, 3, 5, 4, 2), strict=True)]
    (found,) = causes(*rows)
    assert found.words == "`aten::b`, `aten::d`, `aten::e`, `aten::c` and 2 more run in addition"
    assert causes(*rows[:4])[0].words == "`aten::b`, `aten::d`, `aten::c` and `aten::a` run in addition"
    gone = [removed("aten::a"), removed("aten::b", 3)]
    assert causes(*gone)[0].words == "`aten::a` and `aten::b` no longer run"
    launched = [added(name, place=RowPlace.KERNEL) for name in ("a", "b")]
    assert causes(*launched)[0].words == "`a` and `b` are launched in addition"
    often = causes(added("aten::a", 30), added("aten::b", 5, n=2.0))
    assert often[0].words.startswith("`aten::a` and `aten::b` ×2 ")
    grown = causes(added("aten::a", 55), row(RowKind.MORE_CALLS, "aten::b", (10, 1), (50, 2)))
    assert grown[0].words.startswith("`aten::a` and `aten::b` ")


@pytest.mark.parametrize(
    ("base", "head", "is_told"), [("a", "b", True), ("a", "a", False), (None, "b", False), ("a", None, False)]
)
def test_another_implementation_is_one_that_both_sides_name(base, head, is_told):
    found = causes(
        quantities=[Quantity(name="bound", base="x", head="y"), Quantity(name="implementation", base=base, head=head)]
    )
    assert found == ((exact(CauseKind.IMPLEMENTATION, "another implementation: a → b"),) if is_told else ())


@pytest.mark.parametrize(
    ("base", "head", "words"),
    [
        (100, 99, None), (100, 101, None), (200, 197, "200 B → 197 B"), (0, 4e6, "0 B → 4 MB"), (None, 5, None),
        (5, None, None), (0, 0, None),
    ],
)  # fmt: skip
def test_memory_changes_by_more_than_a_hundredth(base, head, words):
    told = () if words is None else (exact(CauseKind.MEMORY, f"peak memory {words}", is_located=False),)
    assert causes(quantities=[memory(base, head)]) == told


def test_the_peak_tells_of_memory_before_all_that_is_allocated():
    both = [memory(4e6, 8e6, "memory allocated"), memory(4e6, 6e6)]
    assert [one.words for one in causes(quantities=both)] == ["peak memory 4 MB → 6 MB"]
    assert [one.words for one in causes(quantities=both[:1])] == ["memory allocated 4 MB → 8 MB"]


@pytest.mark.parametrize(
    ("at_base", "at_head", "change", "by"),
    [
        ({"aten::empty": 4.0}, {"aten::empty": 12.0, "aten::mm": 1.0}, 8, "`aten::empty`, which allocates 8 B more"),
        ({"aten::mm": 9.0}, {"aten::empty": 8.0}, 8, "`aten::empty`, which allocates 8 B more"),
        ({"aten::empty": 8.0}, {"aten::mm": 9.0}, -8, "`aten::empty`, which allocates 8 B less"),
        ({"aten::empty": None}, {"aten::empty": 8.0}, 8, "`aten::empty`, which allocates 8 B more"),
        ({"aten::empty": 8.0}, {"aten::empty": None}, -8, "`aten::empty`, which allocates 8 B less"),
        ({"aten::empty": 0.0}, {"aten::empty": 4.0}, 8, "`aten::empty`, which allocates 4 B more"),
        ({"aten::empty": 0.0}, {"aten::empty": 1.0}, 1, "`aten::empty`, which allocates 1 B more"),
        ({"aten::empty": 0.0}, {"aten::empty": 3.0}, 8, None),
        ({}, {}, 8, None),
    ],
)
def test_memory_is_by_the_operator_that_allocates_half_of_it_or_more(at_base, at_head, change, by):
    def call(allocated):
        known = {"self_time_s": 0.0, "total_time_s": 0.0, "is_compute": False, "count": 1}
        rows = [OperatorRow(name=name, allocated_bytes=n, **known) for name, n in allocated.items()]
        return replace(CALL, profile=profile(rows))

    (found,) = causes(quantities=[memory(20, 20 + change)], base=call(at_base), head=call(at_head))
    assert found.is_located is (by is not None)
    assert found.words.endswith(f", by {by} a call") if by else "," not in found.words
