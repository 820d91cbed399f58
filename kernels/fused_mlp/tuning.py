"""`python -m fused_mlp.tuning [--write]`: measures the numbers of Policy on this machine, in about a minute.

Each number is measured with the others as they stand in the table: every candidate computes the same shapes in
alternating rounds, and the one with the least geometric mean of times, each relative to the best of its shape, wins;
within one percent of it, the one nearest to the general value.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import astuple, replace
from typing import TYPE_CHECKING

import torch

from fused_mlp.activations import Activation
from fused_mlp.build import ensure_built
from fused_mlp.mlp import mlp
from fused_mlp.packed import mlp_packed, pack
from fused_mlp.tuned import TABLE, Policy, cpu_name, entry_of, policy_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Shape = tuple[int, int, int]

CANDIDATES: dict[str, tuple[int, ...]] = {
    "serial_flop": (0, 100_000, 200_000, 400_000, 800_000, 1_600_000, 3_200_000),
    "row_split_rows": (12, 24, 48, 96, 192, 100_000),
    "repacking_rows": (32, 64, 96, 128, 192, 256, 512),
}
# (rows, dim, hidden): around where each number decides.
SHAPES: dict[str, tuple[Shape, ...]] = {
    "serial_flop": ((1, 64, 64), (1, 64, 256), (4, 64, 256), (8, 64, 256), (16, 64, 256), (1, 256, 256), (4, 256, 256)),
    "row_split_rows": ((32, 256, 1024), (64, 64, 256), (128, 256, 1024), (256, 1024, 1024), (512, 256, 256)),
    "repacking_rows": ((48, 64, 256), (64, 256, 1024), (96, 1024, 1024), (160, 256, 256), (256, 256, 1024)),
}
ROUNDS = 40


def measured_policy(start: Policy) -> Policy:
    """The best policy found on this machine with torch's current number of threads."""
    policy = start
    for name, candidates in CANDIDATES.items():
        scores = _scores(policy, name, candidates)
        least = min(scores.values())
        default = getattr(Policy(), name)
        good = [value for value, score in scores.items() if score <= 1.01 * least]
        policy = replace(policy, **{name: min(good, key=lambda value: abs(math.log((value + 1) / (default + 1))))})
        print(name, {value: round(score, 3) for value, score in scores.items()}, "→", getattr(policy, name))  # noqa: T201 - a command
    return policy


def _scores(policy: Policy, name: str, candidates: Sequence[int]) -> dict[int, float]:
    """Candidate → geometric mean over the shapes of its time relative to the best candidate's."""
    logs = dict.fromkeys(candidates, 0.0)
    for shape in SHAPES[name]:
        call = _call(shape, packed=name == "row_split_rows")
        times_s = _alternating_times_s(call, [replace(policy, **{name: value}) for value in candidates])
        for value, time_s in zip(candidates, times_s, strict=True):
            logs[value] += math.log(time_s / min(times_s)) / len(SHAPES[name])
    return {value: math.exp(log) for value, log in logs.items()}


def _call(shape: Shape, *, packed: bool) -> Callable[[], torch.Tensor]:
    rows, dim, hidden = shape
    x, w1, w2 = torch.randn(rows, dim), torch.randn(hidden, dim) / dim**0.5, torch.randn(dim, hidden) / hidden**0.5
    if not packed:
        return lambda: mlp(x, w1, None, w2, None, activation=Activation.GELU)
    p1, p2 = pack(w1), pack(w2)
    return lambda: mlp_packed(x, p1, None, p2, None, "gelu", hidden, dim)


def _alternating_times_s(call: Callable[[], torch.Tensor], policies: Sequence[Policy]) -> list[float]:
    """Lower quintile of ROUNDS rounds for each policy; foreign load only ever adds time."""
    samples: list[list[float]] = [[] for _ in policies]
    for _ in range(ROUNDS):
        for policy, times_s in zip(policies, samples, strict=True):
            apply(policy)
            call()
            start = time.perf_counter()
            call()
            times_s.append(time.perf_counter() - start)
    return [sorted(times_s)[ROUNDS // 5] for times_s in samples]


def apply(policy: Policy) -> None:
    """Let the C++ kernels follow `policy` from the next call on. They must be loaded."""
    torch.ops.fused_mlp.set_cpu_policy(*astuple(policy))


def main() -> None:
    """Measure, print, and with --write replace this CPU's entry of the table."""
    parser = argparse.ArgumentParser(prog="python -m fused_mlp.tuning", description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help=f"replace this CPU's entry in {TABLE.name}")
    arguments = parser.parse_args()
    ensure_built()
    with torch.inference_mode():
        policy = measured_policy(policy_for(cpu_name()))
    entry = entry_of(policy, cpu=cpu_name(), n_threads=torch.get_num_threads(), torch_version=str(torch.__version__))
    print(json.dumps(entry))  # noqa: T201 - a command
    if arguments.write:
        table = json.loads(TABLE.read_text(encoding="utf-8"))
        table["entries"] = [known for known in table["entries"] if known["cpu"] != entry["cpu"]] + [entry]
        TABLE.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
