"""Figures of the page *Profile* as values: they sum, stay inside each other, and say their units."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.figures.difference import REST, figure_of_difference, steps_of
from dashboard.figures.flames import KEY, MOST_FRAMES, figure_of_flames, frames_of
from dashboard.figures.latency import TimeBar, figure_of_times, key_of_times
from dashboard.figures.timeline import figure_of_timeline
from results.judgement.explanation import DifferencePart, ProfileDifference
from results.judgement.latency_parts import LatencyPart, Part
from results.queries import FoldedStack
from results.rows import ActivityRow, IdleRow, TimelineRow

STACKS = [
    FoldedStack(("forward", "aten::linear"), 2e-6),
    FoldedStack(("forward", "aten::linear", "aten::addmm"), 6e-6),
    FoldedStack(("forward", "aten::gelu"), 4e-6),
]
names = st.sampled_from("abc")
folded = st.builds(
    FoldedStack, st.lists(names, min_size=1, max_size=4).map(tuple), st.floats(1e-9, 1e-3, allow_nan=False)
)


def bar(*parts, time_s):
    found = tuple(LatencyPart(part=part, time_s=time_s) for part, time_s in parts)
    return TimeBar(label="latency", time_s=time_s, parts=found, part_names=tuple(str(part) for part, _ in parts))


def difference(base_s, head_s, **changes):
    parts = [DifferencePart(name=name, base_s=1.0, head_s=1.0 + change_s) for name, change_s in changes.items()]
    rest = DifferencePart(name="rest", base_s=base_s - len(parts), head_s=head_s - sum(one.head_s for one in parts))
    return ProfileDifference(parts=(*parts, rest), base_s=base_s, head_s=head_s)


def test_the_key_names_the_parts_that_are_drawn_and_no_other():
    bars = [bar((Part.PRODUCTS, 5e-6), (Part.REST, -1e-6), time_s=4e-6), bar((Part.WAITING, 1e-6), time_s=1e-6)]
    assert list(key_of_times(bars)) == ["products", "the device waits for the host"]
    assert key_of_times([]) == {}


def test_the_parts_of_a_latency_are_laid_end_to_end():
    figure = figure_of_times([bar((Part.FLOOR, 2e-6), (Part.PRODUCTS, 5e-6), (Part.REST, 3e-6), time_s=10e-6)])
    assert [trace.base[0] for trace in figure.data] == pytest.approx([0.0, 2e-6, 7e-6])
    assert [trace.x[0] for trace in figure.data] == pytest.approx([2e-6, 5e-6, 3e-6])
    assert figure.layout.xaxis.title.text == "Time of one call (shorter is better)"
    assert (figure.layout.xaxis.tickformat, figure.layout.xaxis.ticksuffix) == ("~s", "s")
    assert "50\N{NARROW NO-BREAK SPACE}%" in figure.data[1].text[0]


def test_where_parts_are_more_than_the_latency_its_end_is_marked_and_said():
    figure = figure_of_times([bar((Part.PRODUCTS, 12e-6), (Part.REST, -2e-6), time_s=10e-6)])
    (products, end) = figure.data
    assert products.x == (12e-6,)
    assert (end.mode, end.x) == ("markers", (10e-6,))
    assert "2.00\N{NARROW NO-BREAK SPACE}µs too much" in end.hovertext[0]


@given(st.lists(folded, min_size=1, max_size=30))
def test_frames_lie_inside_their_callers_and_beside_each_other(stacks):
    frames = frames_of(stacks)
    assert sum(one.self_s for one in frames) == pytest.approx(sum(stack.time_s for stack in stacks))
    by_path = {one.path: one for one in frames}
    for one in frames:
        caller = by_path.get(one.path[:-1])
        if caller is not None:
            assert caller.start_s <= one.start_s
            assert one.start_s + one.time_s <= caller.start_s + caller.time_s + 1e-12
    for depth in range(1, 5):
        row = sorted((one for one in frames if len(one.path) == depth), key=lambda one: one.start_s)
        assert all(one.start_s + one.time_s <= other.start_s + 1e-12 for one, other in pairwise(row))


def test_a_flame_graph_has_the_outermost_frame_above_and_colours_what_computes():
    figure = figure_of_flames(STACKS, side="host", computing={"aten::addmm", "aten::gelu"}, words={})
    (bars,) = figure.data
    rows = dict(zip(bars.text, zip(bars.y, bars.base, bars.x, strict=True), strict=True))
    assert rows["one call on the host"] == pytest.approx((0, 0, 12e-6))
    assert rows["aten::linear"] == pytest.approx((2, 0, 8e-6))
    assert rows["aten::gelu"] == pytest.approx((2, 8e-6, 4e-6))
    assert rows["aten::addmm"] == pytest.approx((3, 0, 6e-6))
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]
    colours = dict(zip(bars.text, bars.marker.color, strict=True))
    assert colours["aten::addmm"] == colours["aten::gelu"] != colours["aten::linear"]


def test_an_operator_that_computes_nothing_is_not_coloured_as_computing_below_one_that_does():
    stacks = [
        FoldedStack(("forward", "aten::addmm"), 5e-6),
        FoldedStack(("forward", "aten::addmm", "aten::empty"), 1e-6),
    ]
    (bars,) = figure_of_flames(stacks, side="host", computing={"aten::addmm"}, words={}).data
    meaning = {name: KEY[colour] for name, colour in zip(bars.text, bars.marker.color, strict=True)}
    assert meaning["aten::addmm"] == "computes"
    assert meaning["aten::empty"] == "takes time itself, computes nothing"
    assert meaning["forward"] == "calls the frames below it"


def test_of_too_many_frames_the_shortest_are_left_out():
    stacks = [FoldedStack((f"f{i}",), 1e-6 * (1 + i)) for i in range(MOST_FRAMES + 5)]
    frames = frames_of(stacks)
    assert len(frames) == MOST_FRAMES
    assert "f0" not in {one.path[0] for one in frames}


@given(st.lists(st.floats(-2, 2, allow_nan=False).map(lambda x: round(x, 6)), max_size=14), st.floats(20, 40))
def test_the_steps_of_a_difference_sum_to_the_change_whatever_is_left_out(changes, head_s):
    found = difference(20.0, head_s, **{f"op{i}": change for i, change in enumerate(changes)})
    assert sum(change_s for _, change_s in steps_of(found)) == pytest.approx(head_s - 20.0, abs=1e-6)


def test_a_difference_is_drawn_as_steps_from_one_latency_to_the_other_the_rest_last():
    figure = figure_of_difference(difference(10.0, 13.0, slow=4.0, fast=-2.0), base="before", head="after")
    (bars,) = figure.data
    assert list(bars.y) == ["before", "slow", "fast", REST, "after"]
    assert list(zip(bars.base, bars.x, strict=True)) == [(0, 10), (10, 4), (12, 2), (12, 1), (0, 13)]
    assert [text[0] for text in bars.text[1:-1]] == ["+", "−", "+"]
    assert bars.marker.color[1] == bars.marker.color[3] != bars.marker.color[2]
    assert figure.layout.xaxis.ticksuffix == "s"


def test_a_timeline_has_lanes_by_depth_the_devices_below_and_the_gaps_beside_it():
    def activity(name, start, lane="host", depth=0):
        return ActivityRow(
            lane=lane, depth=depth, name=name, words=f"{name} in words", start_s=start, duration_s=2.0,
            is_on_device=lane == "device",
        )  # fmt: skip

    timeline = TimelineRow(
        activities=(activity("outer", 0), activity("inner", 0, depth=1), activity("kernel", 1, lane="device")),
        idle=(IdleRow(start_s=3.0, duration_s=1.0, after="kernel", before="other"),),
        of="device", call_s=5.0,
    )  # fmt: skip
    figure = figure_of_timeline(timeline)
    assert list(figure.layout.yaxis.categoryarray)[::-1] == ["host", "host › 2", "device", "device idle"]
    gaps = figure.data[-1]
    # The flame graph beside it has a key: a colour of it means the same here.
    assert {bars.marker.color for bars in figure.data[:-1]}.isdisjoint(KEY)
    assert (gaps.base, gaps.x, gaps.y) == ((3.0,), (1.0,), ("device idle",))
    assert "after kernel" in gaps.hovertext[0]
    assert figure.layout.xaxis.title.text == "Time since the call began"


def test_names_of_steps_leave_the_bars_room_on_a_narrow_page():
    name = "the device waits for the host"
    axes = figure_of_difference(difference(10.0, 14.0, **{name: 4.0}), base="before", head="after").layout
    (label,) = [text for one, text in zip(axes.yaxis.tickvals, axes.yaxis.ticktext, strict=True) if one == name]
    assert label == "the device waits for<br>the host"
    assert (axes.xaxis.tickangle, axes.xaxis.nticks) == (0, 4)


def test_labels_below_the_bars_lie_flat_on_a_narrow_page():
    axis = figure_of_times([bar((Part.PRODUCTS, 5e-6), time_s=5e-6)]).layout.xaxis
    assert (axis.tickangle, axis.nticks) == (0, 4)
