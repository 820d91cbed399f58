"""The C++ kernels are built once, by whoever comes first, and a missing compiler is a reason."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fused_mlp
from fused_mlp.native import build

USE = (
    "import torch, fused_mlp\n"
    "print(fused_mlp.why_unavailable('mlp', device='cpu'))\n"
    "try:\n"
    "    fused_mlp.mlp(torch.randn(2, 3), torch.randn(4, 3), None, torch.randn(3, 4), None, activation='relu')\n"
    "except fused_mlp.Unavailable as reason:\n"
    "    print('unavailable:', reason)\n"
    "else:\n"
    "    print('ran')\n"
)


def environment(folder, **changes):
    return {**os.environ, "FUSED_MLP_CACHE": str(folder), **changes}


def start(folder, **changes):
    return subprocess.Popen(
        [sys.executable, "-c", USE], env=environment(folder, **changes), stdout=subprocess.PIPE, text=True
    )


def test_without_a_compiler_the_reason_names_it_before_and_after(tmp_path):
    process = start(tmp_path, CXX="no-such-compiler")
    out, _ = process.communicate(timeout=120)
    before, after = out.strip().splitlines()
    reason = (
        "the CPU kernels need a C++ compiler and CXX is 'no-such-compiler', which is not on PATH; "
        "install one (g++ 11 or later does)"
    )
    assert before == reason
    assert after == f"unavailable: {reason}"


def test_a_compiler_that_fails_is_quoted(tmp_path):
    process = start(tmp_path, CXX="false")
    out, _ = process.communicate(timeout=120)
    assert "unavailable: the C++ compiler failed (false " in out


def test_environments_with_the_same_torch_share_a_library_wherever_they_keep_it(monkeypatch):
    here = build._library_path.__wrapped__(), build._calls_path.__wrapped__()
    monkeypatch.setattr(build, "torch_include_flags", lambda: ["-isystem", "/elsewhere/torch/include"])
    assert (build._library_path.__wrapped__(), build._calls_path.__wrapped__()) == here
    monkeypatch.setattr(build.torch, "__version__", "2.99.0")
    assert build._library_path.__wrapped__() != here[0]


def test_torch_s_files_are_found_where_torch_s_own_build_tool_finds_them():
    program = """
import sys
sys.modules["setuptools"] = None  # as where it is not installed
from fused_mlp.native import build, libraries
build._link_flags(); build._kernel_flags()
print(*libraries.torch_include_flags(), *libraries.torch_link_flags())
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
    from torch.utils import cpp_extension

    folders = [flag for folder in cpp_extension.include_paths() for flag in ("-isystem", folder)]
    assert done.stdout.split() == [*folders, *(f"-L{folder}" for folder in cpp_extension.library_paths())]
    assert done.stderr == ""


@pytest.mark.usefixtures("cpu_kernels")
def test_building_again_in_one_process_is_the_same_library():
    assert fused_mlp.native.build.ensure_built() == fused_mlp.native.build.ensure_built()
    assert fused_mlp.why_unavailable("mlp", device="cpu") is None


def test_without_python_s_headers_the_reason_for_the_long_way_names_them(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "_python_headers", lambda: tmp_path)
    assert (
        build._built_calls(["c++"]) == f"{tmp_path} has no Python.h; install Python's headers (on Debian python3-dev)"
    )


def test_a_compiler_that_fails_leaves_a_reason_for_the_long_way(monkeypatch, tmp_path):
    if not (build._python_headers() / "Python.h").exists():
        pytest.skip("Python's headers are not installed")
    monkeypatch.setattr(build, "_calls_path", lambda: tmp_path / "some" / "calls.so")
    reason = build._built_calls(["false"])
    assert isinstance(reason, str)
    assert reason.startswith("the C++ compiler failed (false ")


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.timeout(1500)  # two builds, on a machine that may be slow and busy
@pytest.mark.usefixtures("cpu_kernels")
def test_of_two_builders_one_may_be_killed_and_the_other_and_the_next_succeed(tmp_path):
    first = start(tmp_path)
    deadline = time.monotonic() + 300
    while not list(tmp_path.glob("*/lock")) and time.monotonic() < deadline:
        time.sleep(0.05)
    second = start(tmp_path)
    time.sleep(1)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=60)
    out, _ = second.communicate(timeout=1000)
    assert out.splitlines() == ["None", "ran"]
    built = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*/*.so")}
    assert sorted(built) == ["fused_mlp_calls.so", "fused_mlp_cpu.so"]
    out, _ = start(tmp_path).communicate(timeout=300)
    assert out.splitlines() == ["None", "ran"]
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("*/*.so")} == built, "built once more"


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.usefixtures("cpu_kernels")
@pytest.mark.parametrize("capability", ["avx2", "default"])
def test_kernels_built_for_fewer_instructions_are_within_their_bounds(tmp_path, capability):
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *([] if capability == "default" else ["-m", "not exhaustive"]),
        "tests/kernels/operations/test_operations.py",
    ]
    changed = environment(tmp_path, ATEN_CPU_CAPABILITY=capability)
    root = Path(__file__).parents[3]
    finished = subprocess.run(command, env=changed, cwd=root, capture_output=True, text=True, timeout=1400, check=False)
    assert finished.returncode == 0, finished.stdout[-2000:]
