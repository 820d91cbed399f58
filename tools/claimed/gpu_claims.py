"""What the published half hour on an H100 shows of claims that need a GPU: profiles, traces and times of its journal.

Nothing is measured: the same files always give the same verdicts.
"""

from __future__ import annotations

import gzip
import json
import re
import statistics
from functools import cache
from typing import Any

from claimed.profile_claims import ROOT, Found, verdict

PUBLISHED = ROOT / "results" / "data" / "published" / "h100"
PRODUCT, PART_SUM = re.compile(r"nvjet|gemm|gemv|cutlass"), "splitKreduce"
ACTIVATIONS = {"mlp": "gelu_tanh", "gated_mlp": "silu"}
ROWS, FORWARD = (1, 512), "forward"
# Of a kernel that one generated and one written by hand, up to which their times are called the same.
SAME = 0.05

Kernels = dict[str, tuple[float, float]]  # by name: launches and seconds a call


@cache
def _lines() -> dict[tuple[str, str, int, str], dict[str, Any]]:
    """Lines of the journal by kind, operation, rows and provider; forward, in the operation's usual activation."""
    found = {}
    for path in sorted((PUBLISHED / "journal").rglob("*.jsonl")):
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            point = line["point"]
            usual = (ACTIVATIONS.get(point["operation"]), FORWARD)
            is_usual = (point["activation"], point["pass"]) == usual
            is_profiled_shape = (point["dim"], point["hidden"]) in {(1024, 4096), (4096, 14336)}
            if line["state"] == "ok" and is_usual and is_profiled_shape:
                found[line["kind"], point["operation"], point["batch"], _name(point)] = line
    return found


def _name(point: dict[str, Any]) -> str:
    provider: str = point["provider"]
    return provider if point["weights"] == "plain" else f"{provider}:{point['weights']}"


def _kernels(operation: str, rows: int, provider: str) -> Kernels:
    """Kernels of a call by name; what only adds up the parts of a split product belongs to the product."""
    profile = _lines()["profile", operation, rows, provider]
    return {
        row["name"]: (row["count"], row["device_time_s"]) for row in profile["kernels"] if PART_SUM not in row["name"]
    }


def _products(operation: str, rows: int, provider: str) -> dict[str, float]:
    kernels = _kernels(operation, rows, provider)
    return {name: count for name, (count, _) in kernels.items() if PRODUCT.search(name)}


def _n_kernels(operation: str, rows: int, provider: str) -> int:
    return round(sum(count for count, _ in _kernels(operation, rows, provider).values()))


def _traces(pattern: str) -> list[list[dict[str, Any]]]:
    """Events of each published trace whose file's name has the pattern."""
    paths = sorted((PUBLISHED / "traces").glob(pattern))
    return [json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] for path in paths]


def bias_in_epilogue() -> Found:
    """Look whether every product of an mlp is a kernel that names its bias, and none beside them adds one."""
    by_case = {(rows, who): _kernels("mlp", rows, who) for rows in ROWS for who in ("eager", "compiled")}
    products = {name for kernels in by_case.values() for name in kernels if PRODUCT.search(name)}
    others = {name for kernels in by_case.values() for name in kernels if not PRODUCT.search(name)}
    is_so = all("bias" in name for name in products) and all("gelu" in name.lower() for name in others)
    said = f"{len(products)} products of an mlp at 1 and 512 rows, eager and compiled: {', '.join(sorted(products))}"
    return verdict(is_so), f"{said}; beside them GELU alone"


def steps_of_a_gated_block() -> Found:
    """Count kernels of a gated block: eager, compiled and level 1."""
    counts = {who: _n_kernels("gated_mlp", 512, who) for who in ("eager", "compiled", "fused-pointwise", "liger")}
    said = ", ".join(f"{who} {count}" for who, count in counts.items())
    return verdict(list(counts.values()) == [5, 4, 4, 4]), f"SwiGLU, 512 rows: {said}"


def products_keep_their_names() -> Found:
    """Compare names and numbers of cuBLAS's kernels, eager against compiled, at every profiled shape."""
    cases = [(operation, rows) for operation in ACTIVATIONS for rows in ROWS]
    same = [case for case in cases if _products(*case, "eager") == _products(*case, "compiled")]
    return verdict(same == cases), f"the same at {len(same)} of {len(cases)} profiled shapes"


def gate_up_and_down() -> Found:
    """Compare times and tiles of the three products of an eager gated block, in the order in which they ran."""
    (events,) = _traces("*gated_mlp-forward-bfloat16-b512-*-eager.json.gz")
    ran = sorted((e for e in events if e.get("cat") == "kernel" and PRODUCT.search(e["name"])), key=lambda e: e["ts"])
    gate, up, down = (ran[i::3] for i in range(3))
    gate_us, up_us, down_us = (statistics.median(event["dur"] for event in each) for each in (gate, up, down))
    is_so = abs(up_us / gate_us - 1) <= SAME and down_us < min(gate_us, up_us)
    is_so = is_so and gate[0]["name"] == up[0]["name"] != down[0]["name"]
    said = f"SwiGLU, 512 rows, 4096 → 14336: {gate_us:.1f}, {up_us:.1f} and {down_us:.1f} µs"
    return verdict(is_so), f"{said}; {_tile(gate[0])}, {_tile(up[0])} and {_tile(down[0])}"


def _tile(kernel: dict[str, Any]) -> str:
    found = re.search(r"\d+x\d+", kernel["name"])
    return f"tiles of {found.group(0)}" if found else kernel["name"]


def generated_against_written() -> Found:
    """Compare the pointwise kernel between the products of a gated block: inductor's, ours, liger's."""
    by_who = {}
    for who in ("compiled", "fused-pointwise", "liger"):
        kernels = _kernels("gated_mlp", 512, who)
        (by_who[who],) = (seconds * 1e6 for name, (_, seconds) in kernels.items() if not PRODUCT.search(name))
    ratio = by_who["compiled"] / by_who["fused-pointwise"]
    said = ", ".join(f"{who} {us:.1f} µs" for who, us in by_who.items())
    return verdict(abs(ratio - 1) <= SAME), f"SwiGLU, 512 rows, 4096 → 14336: {said}"


def occupancy_queries() -> Found:
    """Look among the calls of CUDA in all published traces for one that asks for occupancy."""
    traces = _traces("*.json.gz")
    of_cuda = {"cuda_runtime", "cuda_driver"}
    calls = [event["name"] for events in traces for event in events if event.get("cat") in of_cuda]
    asking = [name for name in calls if "occupancy" in name.lower()]
    return verdict(
        bool(asking)
    ), f"{len(asking)} of {len(calls):,} calls of the runtime in {len(traces)} traces ask (CUDA 13)"


def host_bound() -> Found:
    """Compare wall and device time of an mlp of one row, over eager's: a faster kernel, and the same in a graph."""
    eager, single, captured = (_lines()["timing", "mlp", 1, who] for who in ("eager", "fused-single", "fused-captured"))
    device = single["device_time_s"] / eager["device_time_s"]
    wall, in_graph = (each["latency_s"] / eager["latency_s"] for each in (single, captured))
    said = f"mlp of one row, over eager: fused-single {device:.2f} × by the device, {wall:.2f} × by the wall"
    return verdict(device < 1 < wall and in_graph < 1), f"{said}; in a graph, one launch, {in_graph:.2f} ×"


def kernels_by_level() -> Found:
    """Count launches of level 2 and level 3, for both kinds of block."""
    counts = {
        level: [_n_kernels(operation, 1, level) for operation in ACTIVATIONS]
        for level in ("fused-epilogue", "fused-single")
    }
    said = "; ".join(f"{level} {mlp} and {gated}" for level, (mlp, gated) in counts.items())
    return verdict(list(counts.values()) == [[2, 2], [1, 1]]), f"mlp and SwiGLU of one row: {said}"


def graphs_leave_the_host_out() -> Found:
    """Reckon wall time over device time of an mlp of one row, launched one by one and captured."""
    over = {}
    for who in ("eager", "fused", "fused-captured"):
        line = _lines()["timing", "mlp", 1, who]
        over[who] = line["latency_s"] / line["device_time_s"]
    said = ", ".join(f"{who} {ratio:.1f} ×" for who, ratio in over.items())
    is_so = min(over["eager"], over["fused"]) > 1.5 and over["fused-captured"] < 1.1
    return verdict(is_so), f"mlp of one row, wall over device time: {said}"
