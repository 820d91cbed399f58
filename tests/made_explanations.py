"""Findings and calls that were made up, and their explanations, for tests."""

from __future__ import annotations

from results.judgement.explanation import Subject, explain
from results.judgement.findings import Finding, FindingState, Surface, Turn
from results.judgement.outcomes import ControlChange
from results.rows import ParameterValue
from tests.made_calls import US, on_cpu

A, B = "a" * 40, "b" * 40
GEMM = "nvjet_sm90_tst_{tile}_64x4_2x1_v_bz_TNT"
FUSED = {"fused_mlp::mlp": 80}
EAGER = {"aten::linear;aten::addmm": (70, 2), "aten::linear;aten::t": 5, "aten::gelu": 35}
SAME = {
    "torch": "2.13.0", "triton": "3.7.1", "python": "3.11.7", "device": "Xeon", "cpu_governor": "performance",
    "cpu_mhz": 2600.0,
}  # fmt: skip
STILL = ControlChange(machine="m", environment="e", ratio=1.004, n_series=12, is_moved=False)
MOVED = ControlChange(machine="m", environment="e", ratio=1.21, n_series=12, is_moved=True)


def finding(metric="latency_s", ratio=1.25, batches=(16,), n_points=4, class_=None, **changes):
    known = {
        "surface": Surface(project="fusebench", machine="m", environment="e", benchmark="mlp", metric=metric),
        "points": tuple((ParameterValue(name="batch", value=batch),) for batch in batches),
        "n_points": n_points, "last_good": A, "first_bad": B, "n_unmeasured": None, "ratio": ratio, "interval": None,
        "floor": None, "turn": Turn.SLOWER, "state": FindingState.SUSPECTED, "class_": class_, "why": "",
    }  # fmt: skip
    return Finding(**(known | changes))


def explained(base, head, *, control=STILL, found=None, **known):
    subject = Subject(
        revisions=(A, B), finding=found or finding(), base=base, head=head, control=control,
        **{"are_kernels_equal": False} | known,
    )  # fmt: skip
    return explain(subject)


def cpu(tree, latency, **known):
    """A call that spends outside operators what its operators leave of the latency."""
    working = sum(time[0] if isinstance(time, tuple) else time for path, time in tree.items() if "aten::t" not in path)
    known = {"overhead_s": max(0.0, (latency - working) * US), "conditions": SAME} | known
    return on_cpu(tree, latency_s=latency * US, **known)
