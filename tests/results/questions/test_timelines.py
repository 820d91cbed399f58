"""Timelines of stored traces and ceilings of machines: what the dashboard draws of them."""

from __future__ import annotations

import gzip
import json
from types import SimpleNamespace

import pytest

from results.commands.slow_ceilings import slow_ceilings_in_words
from results.files.profiler_traces import UnreadableTrace, call_from_trace
from results.queries import ceilings_of, latest_points, timeline_of, trace_of
from results.questions.timelines import BEGIN, END, MOST_ACTIVITIES, timeline_from
from results.rows import CeilingsRow, NoTimeline
from results.store import open_store

GEMM = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn"


def event(name, start, duration, *, category="cpu_op", thread=1, process=1, **args):
    return {
        "ph": "X", "name": name, "cat": category, "ts": start, "dur": duration, "pid": process, "tid": thread,
        "args": args,
    }  # fmt: skip


def trace(*events, calls=((0, 100),)):
    steps = [
        event(f"ProfilerStep#{number}", start, duration, category="user_annotation")
        for number, (start, duration) in enumerate(calls)
    ]
    return json.dumps({"traceEvents": [*steps, *events, {"ph": "M", "name": "process_name"}]}).encode()


def of_device(name, start, duration, **args):
    return event(name, start, duration, category="kernel", process=0, thread=7, **args)


LAUNCH = {"category": "cuda_runtime"}
ON_GPU = trace(
    event("aten::linear", 5, 40),
    event("cudaLaunchKernel", 10, 5, **LAUNCH, correlation=1),
    event("cudaLaunchKernel", 50, 5, **LAUNCH, correlation=2),
    of_device(GEMM, 20, 10, correlation=1),
    of_device("some_kernel", 70, 20, correlation=2),
    of_device("of_another_call", 30, 5, correlation=99),
)
ON_CPU = trace(event("aten::linear", 10, 50), event("aten::addmm", 20, 30), event("aten::gelu", 70, 20))


def micros(rows):
    return [(round(row.start_s * 1e6, 6), round(row.duration_s * 1e6, 6)) for row in rows]


def test_the_devices_gaps_lie_between_its_activities_of_this_call():
    found = timeline_from(call_from_trace(ON_GPU))
    assert found.of == "device"
    assert micros(found.idle) == [(30, 40)]
    assert (found.idle[0].after.partition(" · ")[0], found.idle[0].before) == ("matrix product", "some_kernel")
    assert {row.name for row in found.activities if row.is_on_device} == {GEMM, "some_kernel"}
    assert {row.lane for row in found.activities} == {"device", "host"}


def test_on_a_cpu_the_gaps_are_where_no_operator_ran_from_begin_to_end():
    found = timeline_from(call_from_trace(ON_CPU))
    assert (found.of, found.call_s) == ("host", pytest.approx(1e-4))
    assert micros(found.idle) == [(0, 10), (60, 10), (90, 10)]
    assert [(row.after, row.before) for row in found.idle] == [
        (BEGIN, "aten::linear"), ("aten::linear", "aten::gelu"), ("aten::gelu", END),
    ]  # fmt: skip
    assert [(row.name, row.depth) for row in found.activities] == [
        ("aten::linear", 0), ("aten::addmm", 1), ("aten::gelu", 0),
    ]  # fmt: skip


def test_of_several_calls_the_one_of_median_duration_is_shown():
    calls = ((0, 100), (1000, 300), (2000, 200))
    found = call_from_trace(trace(event("first", 10, 1), event("third", 2010, 1), calls=calls))
    assert (found.duration_s, [span.name for span in found.spans]) == (pytest.approx(2e-4), ["third"])


def test_the_shortest_of_too_many_activities_are_left_out_and_counted():
    n = MOST_ACTIVITIES + 20
    events = [event(f"op{i}", i, 0.5 if i else 0.9) for i in range(n)]
    found = timeline_from(call_from_trace(trace(*events, calls=((0, n),))))
    assert (len(found.activities), found.n_left_out) == (MOST_ACTIVITIES, 20)
    assert found.activities[0].name == "op0"


@pytest.mark.parametrize(
    "content",
    [b"", b"x" * 1000, b"[]", b"{}", b'{"traceEvents": 3}', b'{"traceEvents": [3]}', trace(calls=()),
     b"\x1f\x8bnothing", gzip.compress(b"{}", mtime=0), trace(event("op", "soon", 1))],
)  # fmt: skip
def test_what_is_no_trace_is_named_as_none(content):
    with pytest.raises(UnreadableTrace, match="no trace"):
        call_from_trace(content)


@pytest.fixture
def traced(tmp_path, journals):
    """Open a store of one point whose profile names a trace; `content` None leaves the file away."""
    stores = []

    def build(content, *, name="one.json.gz"):
        sweep = journals.Sweep(operations=("mlp",), providers=("eager",), batches=(16,), hiddens=(256,))
        lines = journals.lines_of(sweep)
        for line in lines:
            if line["kind"] == "profile":
                line["trace"] = name
        folder = tmp_path / "data"
        (folder / "journal" / "bench-01").mkdir(parents=True)
        (folder / "traces").mkdir()
        (folder / "journal" / "bench-01" / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        if content is not None and name is not None:
            (folder / "traces" / name).write_bytes(content)
        store = open_store(str(tmp_path / "x.db"))
        stores.append(store)
        store.ingest([folder])
        return store, latest_points(store)[0]

    yield build
    for store in stores:
        store.close()


def test_the_timeline_of_a_point_is_read_from_the_trace_its_run_kept(traced):
    store, point = traced(gzip.compress(ON_CPU, mtime=0))
    assert trace_of(store, point=point).name == "one.json.gz"
    assert [row.name for row in timeline_of(store, point=point).activities] == [
        "aten::linear", "aten::addmm", "aten::gelu",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (None, None, "page Throughput shows the commands that measure it again; with FUSEBENCH_TRACES=16 in"),
        (None, "one.json.gz", "one.json.gz of this point is no longer there"),
        (b"{}", "one.json.gz", "one.json.gz of this point cannot be read: it is no trace of a profiler"),
    ],
)
def test_without_a_timeline_the_reason_says_what_to_do_and_no_path(traced, tmp_path, content, name, words):
    store, point = traced(content, name=name)
    found = timeline_of(store, point=point)
    assert isinstance(found, NoTimeline)
    assert words in found.reason
    assert str(tmp_path) not in found.reason


def test_a_machines_ceilings_are_found_by_machine_and_environment(tmp_path):
    quantities = {
        "measured_at": "2026-01-05T12:00:00+00:00", "device": "cpu", "matmul_flop_per_s": {"float32": 1e11},
        "copy_bytes_per_s": 1e10, "bandwidth_bytes_per_s": {"1024": 4e10, "65536": 2e10},
        "vector_instruction_per_s": 5e10, "dispatch_s": 1e-6, "launch_s": None,
    }  # fmt: skip
    path = tmp_path / "machines" / "desk.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"format": 2, "machine": "desk", "environments": {"py3.11-cpu-t1": quantities}}))
    with open_store(str(tmp_path / "x.db")) as store:
        assert store.ingest([tmp_path]).problems == ()
        found = ceilings_of(store, machine="desk", environment="py3.11-cpu-t1")
        assert ceilings_of(store, machine="desk", environment="py3.12-cpu-t1") is None
    assert (found.matmul_flop_per_s, found.copy_bytes_per_s) == ({"float32": 1e11}, 1e10)
    assert found.bandwidth_bytes_per_s == {1024: 4e10, 65536: 2e10}


@pytest.mark.parametrize(("slow_rounds", "words"), [(0, None), (12, "57\N{NARROW NO-BREAK SPACE}% of its best speed")])
def test_ceilings_of_a_slow_machine_are_known_as_such(tmp_path, slow_rounds, words):
    conditions = {"slow_rounds": slow_rounds, "machine_speed": 0.57, "torch": "2.13"}
    quantities = {"measured_at": "2026-01-05T12:00:00+00:00", "copy_bytes_per_s": 1e10, "conditions": conditions}
    path = tmp_path / "machines" / "desk.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"format": 2, "machine": "desk", "environments": {"e": quantities}}))
    with open_store(str(tmp_path / "x.db")) as store:
        assert store.ingest([tmp_path]).problems == ()
        found = ceilings_of(store, machine="desk", environment="e").slow_in_words
        rows = [SimpleNamespace(machine="desk", environment=name, floor_s=1e-6) for name in ("e", "e", "another")]
        told = slow_ceilings_in_words(store, rows)
        assert slow_ceilings_in_words(store, [SimpleNamespace(machine="desk", environment="e", floor_s=None)]) == []
    assert told == ([] if words is None else [f"present ceilings of desk in e: measured {found}"])
    assert found is None if words is None else words in found


def test_data_live_in_the_level_of_the_size_they_fill_and_more_is_never_faster():
    def level(n_bytes, **bandwidths):
        row = CeilingsRow(
            machine="m", environment="e", measured_at=None, matmul_flop_per_s={}, copy_bytes_per_s=None,
            bandwidth_bytes_per_s={int(size.removeprefix("b")): rate for size, rate in bandwidths.items()},
        )  # fmt: skip
        return row.level_of(n_bytes)

    measured = {"b1000": 40.0, "b10000": 20.0, "b100000": 25.0, "b1000000": 5.0}
    assert [level(n, **measured) for n in (1, 1000, 9999, 10000, 100000, 10**9)] == [
        (1000, 40.0), (1000, 40.0), (1000, 40.0), (100000, 25.0), (100000, 25.0), (1000000, 5.0),
    ]  # fmt: skip
    assert level(10) is None
