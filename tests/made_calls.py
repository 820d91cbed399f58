"""Profiled calls that were made up, for tests of explanations."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime

from results.files.stacks import FoldedStack
from results.judgement.explanation import ProfiledCall
from results.rows import KernelRow, OperatorRow, PointRow, ProfileRow

US = 1e-6
AT = datetime(2026, 1, 5, tzinfo=UTC)


def point(latency_s=100 * US, **changes):
    """A point of the sweep; what is not named is None."""
    fields = dict.fromkeys(PointRow._fields) | {
        "project": "fusebench", "commit": "a" * 40, "machine": "m", "environment": "py3.11-cpu-t1",
        "ruler_version": "3", "operation": "mlp", "provider": "fused", "pass_": "forward", "dtype": "float32",
        "activation": "gelu", "batch": 16, "hidden": 256, "dim": 64, "cache": "warm", "weights": "plain", "threads": 1,
        "state": "ok", "latency_s": latency_s, "run_id": "r", "point_id": 1, "measured_at": AT,
    }  # fmt: skip
    return PointRow(**(fields | changes))


def profile(operators=(), kernels=(), **changes):
    fields = dict.fromkeys(ProfileRow.__dataclass_fields__) | {
        "state": "ok", "measured_at": AT, "operators": operators, "kernels": kernels, "gaps": (), "missing": {},
        "runtime_calls": None, "product_libraries": (),
    }  # fmt: skip
    return ProfileRow(**(fields | changes))


def on_cpu(tree, *, latency_s=100 * US, overhead_s=None, conditions=None, of_point=None, **changes):
    """A call on a CPU; `tree` is self times in µs by `frame;frame`, of which those with `::` in their name compute.

    A pair is time and count of calls.
    """
    stacks, rows, computed = [], defaultdict(lambda: [0.0, 0.0, 0.0]), 0.0
    for path, found in tree.items():
        time, count = found if isinstance(found, tuple) else (found, 1)
        frames = path.split(";")
        stacks.append(FoldedStack(("forward", *frames), time * US))
        row = rows[frames[-1]]
        row[0] += count
        row[1] += time * US
        inside = any(map(_computes, frames[:-1]))
        row[2] += 0 if inside else count
        computed += time * US if any(map(_computes, frames)) else 0
    operators = tuple(
        OperatorRow(
            name=name, count=count, self_time_s=time, total_time_s=time, is_compute=_computes(name), outermost=outermost
        )
        for name, (count, time, outermost) in rows.items()
    )
    counted = sum(row.outermost for row in operators if row.is_compute)
    known = {"operator_count": counted, "operator_time_s": computed, "overhead_s": overhead_s} | changes
    return ProfiledCall(
        point=point(latency_s, **(of_point or {})),
        profile=profile(operators, **known),
        host=tuple(stacks),
        conditions=conditions or {},
    )


def on_cuda(kernels, *, latency_s=100 * US, conditions=None, of_point=None, callers=None, **changes):
    """A call on a GPU; `kernels` is device times in µs by name, or pairs of time and count."""
    pairs = {name: found if isinstance(found, tuple) else (found, 1) for name, found in kernels.items()}
    rows = tuple(KernelRow(name=name, count=count, device_time_s=time * US) for name, (time, count) in pairs.items())
    device_s = sum(row.device_time_s for row in rows)
    stacks = tuple(
        FoldedStack(("forward", *(callers or {}).get(row.name, ("aten::linear",)), row.name), row.device_time_s)
        for row in rows
    )
    known = {"kernel_launches": sum(row.count for row in rows), "device_time_s": device_s} | changes
    return ProfiledCall(
        point=point(latency_s, **({"environment": "py3.11-cuda-t1", "device_time_s": device_s} | (of_point or {}))),
        profile=profile(kernels=rows, **known),
        device=stacks,
        conditions=conditions or {},
    )


def _computes(name):
    return "::" in name and name not in {"aten::t", "aten::linear", "aten::expand", "aten::as_strided"}
