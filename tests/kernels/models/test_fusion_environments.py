"""Fusing where the CPU's kernels cannot be compiled: nothing that cannot run is replaced, and the reason is told."""

import os
import subprocess
import sys

import pytest

FUSE = """
import sys, torch
from torch import nn
import fused_mlp
torch.manual_seed(0)
model, x = nn.Sequential(nn.Linear(12, 20), nn.ReLU(), nn.Linear(20, 12)).eval(), torch.randn(3, 12)
with torch.no_grad():
    expected = model(x)
    report = fused_mlp.fuse(model, mode=sys.argv[1])
    torch.testing.assert_close(model(x), expected)
    with torch.profiler.profile() as profile:
        model(x)
model.train()(x).sum().backward()
print(len(report.replaced), len(report.kept), any("pointwise" in e.key for e in profile.key_averages()))
print(report)
"""


def fused(mode, *, program=FUSE, **changes):
    process = subprocess.run(
        [sys.executable, "-c", program, mode],
        env={**os.environ, **changes},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    counts, *table = process.stdout.splitlines()
    return counts.split(), "\n".join(table)


NOWHERE = {
    "no compiler": ({"CXX": "no-such-compiler"}, "CXX is 'no-such-compiler', which is not on PATH"),
    "a compiler that fails": ({"CXX": "false"}, "the C++ compiler failed"),
    "no cache": ({"FUSED_MLP_CACHE": "/dev/null/cache"}, "/dev/null/cache"),
}


@pytest.mark.parametrize("name", NOWHERE)
def test_nothing_is_fused_for_training_where_the_kernels_cannot_be_compiled(name, tmp_path):
    changes, reason = NOWHERE[name]
    counts, table = fused("training", **{"FUSED_MLP_CACHE": str(tmp_path), **changes})
    assert counts == ["0", "1", "False"]
    assert reason in table


def test_the_reason_is_told_once_for_many_blocks(tmp_path):
    program = FUSE.replace(
        "with torch.no_grad", "model = nn.Sequential(*(copy.deepcopy(model) for _ in range(3)))\nwith torch.no_grad"
    )
    program = program.replace("import sys", "import copy, sys")
    counts, table = fused("training", program=program, CXX="false", FUSED_MLP_CACHE=str(tmp_path))
    assert counts == ["0", "3", "False"]
    assert table.count("the C++ compiler failed") == 1
    assert table.count("the fused operations cannot run here") == 3
    assert max(len(line) for line in table.splitlines()[:4]) < 100


@pytest.mark.parametrize("name", NOWHERE)
def test_for_inference_onednn_s_packed_weights_are_used_without_a_compiler(name, tmp_path):
    changes, _ = NOWHERE[name]
    counts, table = fused("inference", **{"FUSED_MLP_CACHE": str(tmp_path), **changes})
    assert counts == ["1", "0", "True"]
    assert "1 packed" in table


def test_importing_the_package_brings_no_build_tools_along():
    seen = "print([name for name in ('setuptools', 'triton', 'torch._inductor') if name in sys.modules])"
    program, bare = f"import sys, fused_mlp; {seen}", f"import sys, torch; {seen}"
    imported, by_torch = (
        subprocess.run([sys.executable, "-W", "error", "-c", each], capture_output=True, text=True, check=True).stdout
        for each in (program, bare)
    )
    assert imported == by_torch
