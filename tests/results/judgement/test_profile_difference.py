"""Two profiles of one point, aligned: by the tree of operators, by names, by what names say; parts sum to the whole."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.judgement.explanation import ProfiledCall, RowKind, RowPlace, compare_profiles
from tests.made_calls import US, on_cpu, on_cuda, point

GEMM = "nvjet_sm90_tst_{tile}_64x4_2x1_v_bz_TNT"
EAGER = {"aten::linear;aten::addmm": (60, 2), "aten::linear;aten::t": 5, "aten::gelu": 20}


def kinds(difference, place=None):
    return {row.name: row.kind for row in difference.rows if place in {None, row.place}}


def test_equal_profiles_have_no_row_that_differs():
    found = compare_profiles(on_cpu(EAGER), on_cpu(EAGER))
    assert found.is_equal
    assert found.is_by_tree
    assert set(kinds(found).values()) == {RowKind.SAME}


def test_an_operator_that_only_the_head_runs_is_added_and_has_its_time():
    found = compare_profiles(on_cpu(EAGER), on_cpu(EAGER | {"aten::mul": 30}, latency_s=130 * US))
    (row,) = [row for row in found.rows if row.kind is RowKind.ADDED]
    assert (row.name, row.place, row.base_count, row.head_count) == ("aten::mul", RowPlace.OPERATOR, 0, 1)
    assert row.change_s == pytest.approx(30 * US)
    assert kinds(found)["aten::addmm"] is RowKind.SAME


def test_one_operator_in_place_of_three_is_removed_not_renamed():
    found = compare_profiles(on_cpu({"fused_mlp::mlp": 70}), on_cpu(EAGER))
    assert kinds(found, RowPlace.OPERATOR) == {
        "fused_mlp::mlp": RowKind.REMOVED,
        "aten::addmm": RowKind.ADDED,
        "aten::gelu": RowKind.ADDED,
    }


def test_a_kernel_with_another_tile_below_the_same_operator_is_renamed():
    base, head = (on_cuda({GEMM.format(tile=tile): time}) for tile, time in (("128x128", 60), ("64x64", 90)))
    (row,) = compare_profiles(base, head).rows
    assert row.kind is RowKind.RENAMED
    assert row.detail == "tile 128x128x64 → 64x64x64"
    assert row.change_s == pytest.approx(30 * US)


def test_the_number_of_a_generated_kernel_is_no_new_name():
    base, head = (on_cuda({f"triton_poi_fused_gelu_{number}": 20}) for number in (0, 3))
    assert compare_profiles(base, head).is_equal


def test_the_same_operator_below_another_wrapper_is_the_same():
    wrapped = {f"Torch-Compiled Region;{path}": time for path, time in EAGER.items()}
    found = compare_profiles(on_cpu(EAGER), on_cpu(wrapped))
    assert kinds(found, RowPlace.OPERATOR) == {"aten::addmm": RowKind.SAME, "aten::gelu": RowKind.SAME}


def test_a_name_at_two_places_is_aligned_by_its_callers():
    tree = {"first;aten::addmm": 20, "second;aten::addmm": 50}
    slower = {"first;aten::addmm": 60, "second;aten::addmm": 50}
    rows = compare_profiles(on_cpu(tree), on_cpu(slower)).work
    assert {row.callers[-1]: row.kind for row in rows} == {"first": RowKind.SLOWER, "second": RowKind.SAME}


def test_an_operator_that_runs_more_often_says_how_often():
    found = compare_profiles(on_cpu({"aten::mul": (10, 1)}), on_cpu({"aten::mul": (20, 2)}))
    (row,) = found.work
    assert (row.kind, row.base_count, row.head_count) == (RowKind.MORE_CALLS, 1, 2)


def test_a_row_that_varies_by_less_than_a_tenth_is_the_same():
    found = compare_profiles(on_cpu({"aten::addmm": 60}), on_cpu({"aten::addmm": 64}))
    assert found.is_equal


def test_without_stacks_rows_are_aligned_by_name_and_say_so():
    base, head = (replace(on_cpu(tree), host=()) for tree in (EAGER, EAGER | {"aten::mul": 30}))
    found = compare_profiles(base, head)
    assert not found.is_by_tree
    assert kinds(found)["aten::mul"] is RowKind.ADDED


@pytest.mark.parametrize(
    ("base", "head", "reason"),
    [
        (ProfiledCall(point=point()), on_cpu(EAGER), "no profile is stored at the base"),
        (on_cpu(EAGER), ProfiledCall(point=point()), "no profile is stored at the head"),
        (ProfiledCall(point=point()), ProfiledCall(point=point()), "no profile is stored at both commits"),
        (None, on_cpu(EAGER), "it was not measured at the base"),
        (on_cpu(EAGER), on_cuda({"k": 1}), "one of the profiles is of a device, the other is not"),
    ],
)
def test_without_a_profile_on_both_sides_it_says_so_and_has_no_rows(base, head, reason):
    found = compare_profiles(base, head)
    assert (found.reason, found.rows, found.parts) == (reason, (), ())
    assert not found.is_equal


TREES = st.dictionaries(
    st.sampled_from(["aten::mm", "aten::linear;aten::mm", "aten::gelu", "fused_mlp::mlp", "aten::t", "wrap;aten::mul"]),
    st.floats(0.1, 1e4),
    min_size=1,
)
LATENCIES = st.floats(1e-6, 1)


@given(base=TREES, head=TREES, before=LATENCIES, after=LATENCIES, overhead=st.none() | st.floats(0, 1))
def test_the_parts_of_both_sides_sum_to_their_latency(base, head, before, after, overhead):
    found = compare_profiles(
        on_cpu(base, latency_s=before, overhead_s=overhead), on_cpu(head, latency_s=after, overhead_s=overhead)
    )
    assert sum(part.base_s for part in found.parts) == pytest.approx(before)
    assert sum(part.head_s for part in found.parts) == pytest.approx(after)
    assert sum(part.change_s for part in found.parts) == pytest.approx(found.change_s, abs=1e-12)


def test_what_is_left_by_rounding_is_no_rest():
    latencies = [number * 0.1 * US for number in range(1, 200)]
    rests = [
        compare_profiles(
            on_cpu({"aten::mm": 0.8 * each / US}, latency_s=each, overhead_s=0.2 * each),
            on_cpu({"aten::mm": 1}, latency_s=2 * US, overhead_s=US),
        )
        .parts[-1]
        .base_s
        for each in latencies
    ]
    assert set(rests) == {0.0}


@given(base=TREES, head=TREES)
def test_exchanging_the_commits_exchanges_what_was_added_and_removed(base, head):
    one, other = (compare_profiles(on_cpu(a), on_cpu(b)) for a, b in ((base, head), (head, base)))
    added, removed = (
        sorted((row.name, row.callers) for row in found.rows if row.kind is kind)
        for found, kind in ((one, RowKind.ADDED), (other, RowKind.REMOVED))
    )
    assert added == removed


@given(base=TREES, head=TREES)
def test_every_piece_of_both_calls_is_in_one_row(base, head):
    found = compare_profiles(on_cpu(base), on_cpu(head))
    paths = [*found.rows]
    n_base, n_head = (sum(1 for row in paths if row.kind is not kind) for kind in (RowKind.ADDED, RowKind.REMOVED))
    assert (n_base, n_head) == (len(base), len(head))
