"""What Perfetto's importer of Chrome's JSON needs, held by the traces that are kept.

Source: https://perfetto.dev/docs/getting-started/other-formats and its FAQ: events of known phases, times in
microseconds, complete events of a thread nested and never overlapping by a part; the file may be compressed by gzip.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path

import pytest

SAVED = sorted((Path(__file__).parent / "saved").glob("*.json"))
PHASES = frozenset("BEXiICnbesftMP")
METADATA = frozenset({"process_name", "process_labels", "process_sort_index", "thread_name", "thread_sort_index"})


def faults(path):
    """What of the file at `path` Perfetto would drop or draw wrongly, in words."""
    content = path.read_bytes()
    values = json.loads(gzip.decompress(content) if path.suffix == ".gz" else content)
    return [*(fault for event in values["traceEvents"] for fault in _of_event(event)), *_overlaps(values)]


def _of_event(event):
    phase = event.get("ph")
    if phase not in PHASES:
        yield f"phase {phase!r}"
    if phase != "M" and not isinstance(event.get("ts"), int | float):
        yield f"no time: {event}"
    if phase == "X" and not (isinstance(event.get("dur"), int | float) and event["dur"] >= 0):
        yield f"no duration: {event}"
    if phase == "M" and (event["name"] not in METADATA or not event.get("args")):
        yield f"metadata without content: {event}"
    if phase in {"s", "t", "f"} and "id" not in event:
        yield f"a flow that leads nowhere: {event}"
    if not {"pid", "tid", "name"} <= set(event):
        yield f"of no thread: {event}"


def _overlaps(values):
    threads = defaultdict(list)
    for event in values["traceEvents"]:
        if event["ph"] == "X":
            start_ns = round(event["ts"] * 1000)
            threads[event["pid"], event["tid"]].append((start_ns, -round(event["dur"] * 1000), event["name"]))
    for thread, spans in threads.items():
        ends = []
        for start_ns, minus_ns, name in sorted(spans):
            while ends and ends[-1] <= start_ns:
                ends.pop()
            if ends and ends[-1] < start_ns - minus_ns:
                yield f"{name} outlasts what it is in, on {thread}"
            ends.append(start_ns - minus_ns)


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_a_saved_trace_opens(path):
    assert faults(path) == []


def test_a_trace_as_a_profile_leaves_it_opens(tmp_path):
    torch = pytest.importorskip("torch")
    from benchmarks.ruler.measure.profiling import profile_call

    kept = tmp_path / "one.json.gz"
    layers = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 4))
    x = torch.randn(2, 4)

    def call():
        return torch.autograd.grad(layers(x).sum(), list(layers.parameters()))

    profile_call(call, device=torch.device("cpu"), trace=kept)
    assert faults(kept) == []


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"ph": "?", "name": "a", "pid": 1, "tid": 1, "ts": 1}, "phase"),
        ({"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1}, "no duration"),
        ({"ph": "X", "name": "a", "pid": 1, "tid": 1, "dur": 1, "ts": None}, "no time"),
        ({"ph": "i", "name": "a", "pid": 1, "ts": 1}, "of no thread"),
        ({"ph": "s", "name": "a", "pid": 1, "tid": 1, "ts": 1}, "flow"),
    ],
)
def test_an_event_that_would_be_dropped_is_found(event, said):
    assert any(said in fault for fault in _of_event(event))


def test_a_part_that_overlaps_is_found():
    spans = [{"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 10} for name, ts in (("a", 0), ("b", 5))]
    assert list(_overlaps({"traceEvents": spans})) == ["b outlasts what it is in, on (1, 1)"]
