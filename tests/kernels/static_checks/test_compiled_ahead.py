"""What is compiled ahead is what a later call looks for: it is found in the cache, and compiled once."""

import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("triton", reason="triton is not installed")

from triton import compile as compile_kernel
from triton.backends.compiler import GPUTarget

from fused_mlp.compiled_ahead import AheadCell, cells_from_text, main
from fused_mlp.errors import InvalidArgument
from fused_mlp.static_checks import configurations_of, footprints, with_each_activation
from fused_mlp.vocabulary import Operation

pytestmark = pytest.mark.compile_kernels

SHAPES = ("linear:relu:64:128:8", "mlp:gelu_tanh:64:128:8", "gated_mlp:silu:64:128:8")
# A call on tensors with addresses, as those of a GPU: multiples of 16.
CALLED = """
import torch
from fused_mlp.compiled_ahead import compiling_for_absent_gpu
from fused_mlp.mlp.triton_epilogue import launch_mlp
from fused_mlp.mlp.triton_single import launch_mlp_single

x, w1, b1, w2, b2 = (torch.zeros(*s, dtype=torch.bfloat16) for s in ((ROWS, 64), (128, 64), (128,), (64, 128), (64,)))
with compiling_for_absent_gpu() as hits:
    launch_mlp(x, w1, b1, w2, b2, activation="gelu_tanh")
    launch_mlp_single(x, w1, b1, w2, b2, activation="gelu_tanh")
print(hits)
"""


def run(*arguments, folder):
    finished = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "TRITON_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_a_second_time_and_a_call_find_all_that_the_first_compiled(tmp_path):
    folder = tmp_path / "cache"
    command = ("-m", "fused_mlp.compiled_ahead", str(folder), *SHAPES, "--backward", "--jobs", "1")
    first = run(*command, folder=tmp_path / "elsewhere")
    (n_compiled,) = re.findall(r": (\d+) compiled, 0 found", first)
    assert int(n_compiled) == len(list(folder.rglob("*.cubin"))) >= 8
    assert f": 0 compiled, {n_compiled} found" in run(*command, folder=tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()
    assert run("-c", CALLED.replace("ROWS", "8"), folder=folder) == "[True, True]\n"
    assert run("-c", CALLED.replace("ROWS", "128"), folder=folder) == "[False, False]\n"


def test_a_shape_is_a_cell_for_each_number_of_rows_and_dtype():
    cells = cells_from_text("gated_mlp:silu:64:128:1,8", dtypes=["bfloat16", "float16"])
    assert [(cell.rows, cell.dtype) for cell in cells] == [(n, d) for d in ("bfloat16", "float16") for n in (1, 8)]
    sizes = {"activation": "silu", "dim": 64, "hidden": 128}
    assert cells[0] == AheadCell(operation=Operation.GATED_MLP, rows=1, dtype="bfloat16", **sizes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mlp:gelu:64:128", "shape is 'mlp:gelu:64:128'; expected OPERATION:ACTIVATION"),
        ("mlp:gelu:64:128:0", "sizes from 1 on"),
        ("mlp:gelu:64:some:1", "expected OPERATION"),
        ("mlps:gelu:64:128:1", "operation is 'mlps'; expected one of linear, mlp, gated_mlp"),
        ("mlp:glu:64:128:1", "activation is 'glu'"),
    ],
)
def test_what_is_no_shape_is_refused_by_name(text, message, tmp_path, capsys):
    with pytest.raises(InvalidArgument, match=re.escape(message)):
        cells_from_text(text, dtypes=["bfloat16"])
    with pytest.raises(SystemExit) as exited:
        main([str(tmp_path / "cache"), text])
    assert exited.value.code == 64
    assert message in capsys.readouterr().err


def test_its_help_shows_the_command_on_a_line_of_its_own(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "\n    python -m fused_mlp.compiled_ahead FOLDER mlp:" in capsys.readouterr().out


@pytest.mark.parametrize("operation", ["mlp", "gated_mlp"])
@pytest.mark.parametrize("way", ["atomic", "ordered"])
def test_the_program_that_finishes_has_eight_loads_of_the_sums_under_way(operation, way):
    offered = configurations_of(f"fused_mlp.{operation}.triton_single", capability=90)
    configuration = next(one for one in offered if f"-{way}-4w" in str(one) and "bfloat16-16x32" in str(one))
    compiled = compile_kernel(
        footprints._source_of(with_each_activation(configuration)["relu"]),
        target=GPUTarget("cuda", 90, 32),
        options={"num_warps": configuration.n_warps, "num_stages": configuration.n_stages},
    )
    assert len(re.findall(r"ld\.global\.cg\.v4\.b32", compiled.asm["ptx"])) == 8
