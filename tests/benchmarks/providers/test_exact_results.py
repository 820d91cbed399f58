"""The reference in float64: some rows at a time where all of them would take much memory."""

from dataclasses import replace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.ruler.plan.points import Operation, Pass
from benchmarks.ruler.providers import workload as module
from benchmarks.ruler.providers.workload import workload


class Largest(TorchDispatchMode):
    """Notes the most values that a result has."""

    def __init__(self):
        super().__init__()
        self.n_values = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        self.n_values = max(self.n_values, found.numel() if isinstance(found, torch.Tensor) else 0)
        return found


@pytest.mark.parametrize("pass_", Pass)
@pytest.mark.parametrize("operation", Operation)
def test_parts_give_what_the_whole_gives(shape, monkeypatch, operation, pass_):
    load = workload(
        replace(shape, operation=operation, pass_=pass_, batch=37, activation="silu"), device=torch.device("cpu")
    )
    whole = load.reference()
    for n_rows in (1, 5, 36, 37):
        monkeypatch.setattr(module, "MOST_EXACT_BYTES", n_rows * 8 * (4 * shape.dim + 6 * shape.hidden))
        for ours, theirs in zip(load.reference(), whole, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_no_intermediate_result_is_of_all_rows(shape, monkeypatch):
    load = workload(replace(shape, batch=4096, dim=8, hidden=64), device=torch.device("cpu"))
    with torch.inference_mode(), Largest() as seen:
        load.reference()
    assert seen.n_values == 4096 * 64
    monkeypatch.setattr(module, "MOST_EXACT_BYTES", 2**16)
    with torch.inference_mode(), Largest() as seen:
        load.reference()
    assert seen.n_values == 4096 * 8, "the output itself"
