"""The numbers that decide between ways to compute on the CPU, by machine; tuned.json is made by fused_mlp.tuning."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

TABLE = Path(__file__).with_name("tuned.json")


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Where the C++ kernels change their way.

    The values here are for a machine the table does not know: they follow from waking a thread costing a few
    microseconds, and from packing a weight costing about as much as fifty rows gain by it.

    Attributes:
        serial_flop: floating-point operations below which one thread computes alone.
        row_split_rows: rows per thread from which threads share rows instead of columns.
        repacking_rows: rows from which plain weights are packed during the call.
    """

    serial_flop: int = 400_000
    row_split_rows: int = 48
    repacking_rows: int = 128


def policy_for(cpu: str) -> Policy:
    """The tuned numbers of `cpu`, as cpu_name gives it; the general ones if the table does not know it."""
    entries: list[dict[str, Any]] = json.loads(TABLE.read_text(encoding="utf-8"))["entries"]
    return next((Policy(**entry["policy"]) for entry in entries if entry["cpu"] == cpu), Policy())


def entry_of(policy: Policy, *, cpu: str, n_threads: int, torch_version: str) -> dict[str, Any]:
    """One entry of the table: the policy and the circumstances it was measured in."""
    return {"cpu": cpu, "n_threads": n_threads, "torch": torch_version, "policy": asdict(policy)}


@cache
def cpu_name() -> str:
    """Vendor, family and model of this CPU as Linux tells them; hypervisors often hide the marketing name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n", 1)[0].splitlines()
    except OSError:
        return "unknown"
    fields = _fields(lines)
    return " ".join(fields.get(key, "?") for key in ("vendor_id", "cpu family", "model", "model name"))


def _fields(lines: list[str]) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines)
    return {key.strip(): value.strip() for key, _, value in pairs}
