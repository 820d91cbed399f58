"""Page *Profile* of a GPU's calls: that it waits for the host is told, and a batch with a profile is opened first."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from dashboard.pages.profile import page_props
from dashboard.views.profiles.difference import difference_in_words
from dashboard.views.profiles.drawing import profile_drawing_of
from dashboard.views.profiles.words import (
    answer_of_call,
    details_of_call,
    expectations_of,
    note_of_parts,
    note_of_timeline,
)
from results.judgement.latency_parts import LatencyPart, LatencyParts, Part

NEWEST = "b2b2b2b2-py3.11-cuda-t2.jsonl"


def plain(props):
    return str(props).replace("\N{NARROW NO-BREAK SPACE}", " ").replace(r"\u202f", " ").replace("\N{THIN SPACE}", " ")


@pytest.fixture
def changed_store(tmp_path, made_profiles):
    """A store of the made profiles, with each line of the GPU's journals changed, or left out where that is None."""
    from results.store import open_store

    stores = []

    def build(change):
        folder = made_profiles.write_profiles(tmp_path / "data", devices=("cuda",))
        for path in (folder / "journal").rglob("*.jsonl"):
            lines = [change(json.loads(line)) for line in path.read_text().splitlines()]
            path.write_text("".join(json.dumps(line) + "\n" for line in lines if line is not None))
        stores.append(open_store(str(tmp_path / "changed.db")))
        assert stores[-1].ingest([folder]).problems == ()
        return stores[-1]

    yield build
    for store in stores:
        store.close()


def without_profiles_of(*batches):
    return lambda line: None if line["kind"] == "profile" and line["point"]["batch"] in batches else line


def waiting_longer(line):
    """The fused call waits for the host for 300 µs more."""
    if line["kind"] == "timing" and line["point"]["provider"] == "fused":
        line["latency_s"] += 300e-6
    return line


def test_a_page_that_names_no_batch_opens_one_with_a_profile(changed_store):
    store = changed_store(without_profiles_of(256))
    drawing = profile_drawing_of(store, query="?machine=gpu-01")
    assert (drawing.view.choice.batch, drawing.call.missing, drawing.profiled) == (16, None, ())
    asked = profile_drawing_of(store, query="?machine=gpu-01&batch=256")
    assert (asked.view.choice.batch, asked.profiled) == (256, (16,))
    said = plain(page_props(asked, is_from_url=True)["answer"])
    assert "Profiled with the rest of this choice: batch " in said
    assert "batch=16" in said


def test_where_nothing_was_profiled_the_batch_stays_and_no_other_is_named(changed_store):
    drawing = profile_drawing_of(changed_store(without_profiles_of(16, 256)), query="?machine=gpu-01")
    assert (drawing.view.choice.batch, drawing.profiled) == (256, ())
    assert "Profiled with" not in plain(page_props(drawing, is_from_url=True)["answer"])


def test_that_the_device_waits_for_the_host_is_said_first_where_it_is_most(changed_store):
    store = changed_store(waiting_longer)
    props = page_props(profile_drawing_of(store, query="?machine=gpu-01&batch=16&provider=fused"), is_from_url=True)
    assert plain(props["answer"][0].children[-1]) == (
        "fused takes 365 µs at 16 rows: for 84 % of it the device waits for the host."
    )
    assert "Time of its kernels, profiled" in plain(props["expected"])
    against = profile_drawing_of(store, query="?machine=gpu-01&batch=16&provider=fused&against=eager")
    words = plain(difference_in_words(against.difference))
    assert words.startswith("the device waits 291 µs longer for the host; ")
    assert "matrix product" in words
    without = replace(against.difference, parts=against.difference.parts[:-2])
    assert "waits" not in difference_in_words(without)


def test_a_timeline_tells_how_long_the_device_worked_of_the_call(changed_store):
    drawing = profile_drawing_of(changed_store(lambda line: line), query="?machine=gpu-01&batch=16&provider=fused")
    assert plain(note_of_timeline(drawing.timeline)).startswith(
        "the device worked for 60.0 µs; between its kernels it was idle for 0 s in 0 gaps, of a call of "
    )


def test_as_many_operators_that_are_others_are_not_said_to_be_as_expected(changed_store):
    def with_others(line):
        told = "expected 3 operators, saw 3: aten::copy_, missing one of fused_mlp's"
        return line | {"unexpected": told, "operators_min_bytes": 1e5} if line["kind"] == "profile" else line

    drawing = profile_drawing_of(
        changed_store(with_others), query="?machine=gpu-01&batch=16&provider=eager&commit=a1a1a1a1"
    )
    told = {row.name: (row.comparison, row.is_odd) for row in expectations_of(drawing.call)}
    n = drawing.call.profile
    assert n.operator_count == n.expected_operator_count == n.kernel_launches
    assert told["Operators"] == told["Traffic"] == ("other operators than expected", True)
    assert told["Kernel launches"] == ("as expected", False)


@pytest.mark.parametrize(("host_us", "is_ahead"), [(10, True), (62, False)])
def test_a_device_whose_host_is_ahead_is_not_said_to_wait_for_it(changed_store, host_us, is_ahead):
    def enqueued(line):
        return line | {"host_time_s": host_us * 1e-6} if line["kind"] == "timing" else line

    drawing = profile_drawing_of(changed_store(enqueued), query="?machine=gpu-01&batch=16&provider=fused")
    told, parts = " ".join(details_of_call(drawing.call)), note_of_parts(drawing.call)
    assert ("the host is ahead of the device" in told, "the device is idle" in parts) == (is_ahead, is_ahead)
    assert ("the device waits for the host" in told, "the device waits for the host" in parts) == (not is_ahead,) * 2


@pytest.mark.parametrize(("host_us", "name"), [(10, "the device is idle"), (62, "the device waits for the host")])
def test_what_two_calls_whose_host_is_ahead_differ_by_is_no_waiting_for_it(changed_store, host_us, name):
    def slower(line):
        if line["kind"] == "timing":
            line["host_time_s"] = host_us * 1e-6
            line["latency_s"] += 30e-6 * (line["point"]["provider"] == "fused")
        return line

    query = "?machine=gpu-01&batch=16&provider=fused&against=eager"
    difference = profile_drawing_of(changed_store(slower), query=query).difference
    assert name in {part.name for part in difference.parts}
    told = plain(difference_in_words(difference))
    assert ("is idle" in told, "waits" in told) == (name == "the device is idle", name != "the device is idle")


@pytest.mark.parametrize(
    ("bound", "least"),
    [
        ("compute", "the least time that its arithmetic can take"),
        ("memory", "the least time that its traffic can take"),
        ("overhead", "the least time that the machine allows"),
    ],
)
def test_of_a_call_that_is_mostly_floor_the_answer_says_what_a_floor_is(changed_store, bound, least):
    query = "?machine=gpu-01&batch=16&provider=fused"
    call = profile_drawing_of(changed_store(lambda line: line), query=query).call
    parts = tuple(LatencyPart(part=part, time_s=time_s) for part, time_s in ((Part.FLOOR, 3e-5), (Part.REST, 1e-5)))
    profiled = replace(call.call, point=call.point._replace(bound=bound))
    shown = replace(call, call=profiled, parts=LatencyParts(latency_s=call.point.latency_s, parts=parts))
    assert plain(answer_of_call(shown)).endswith(f": 75 % of it is the floor, {least}")
