"""The tool that runs the kernels' tests under several torches and Pythons: what it refuses before it downloads."""

import subprocess
import sys
from pathlib import Path

import pytest
import version_matrix
from known_models.kept_rows import KeptRows

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "version_matrix.py"


def run(*arguments):
    return subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--python", "python0.9"], "no interpreter is found as python0.9; --python names others"),
        (["--python", sys.executable, "--folder", str(ROOT / "build")], "lies in the repository; --folder names one"),
    ],
)
def test_what_cannot_begin_is_refused_with_what_to_do(arguments, reason):
    done = run(*arguments)
    assert done.returncode == 2
    assert reason in done.stderr


def test_a_torch_that_there_is_not_is_a_row_and_a_failure_and_leaves_nothing(tmp_path):
    done = run("--python", sys.executable, "--torch", "0.0.1", "--folder", str(tmp_path), "--no-index")
    assert done.returncode == 1
    assert "| 0.0.1 | – | ERROR: " in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_what_passed_before_with_the_same_checkout_is_not_tested_again(tmp_path):
    kept = tmp_path / "kept" / "rows.json"
    KeptRows(kept, made=f"tests/kernels of {version_matrix.checkout()}").add(f"{sys.executable} 0.0.1", "| it passed |")
    arguments = ("--python", sys.executable, "--torch", "0.0.1", "--folder", str(tmp_path / "made"), "--no-index")
    done = run(*arguments, "--rows", str(kept))
    assert done.returncode == 0
    assert "| it passed |" in done.stdout
    KeptRows(kept, made="tests/kernels of another checkout").add(f"{sys.executable} 0.0.1", "| it passed |")
    done = run(*arguments, "--rows", str(kept))
    assert done.returncode == 1
    assert "| it passed |" not in done.stdout


def test_a_command_that_is_no_python_is_named_and_the_others_go_on(tmp_path):
    broken = tmp_path / "python3.99"
    broken.write_text("#!/bin/sh\necho 'python3.99: command not found' >&2\nexit 127\n", encoding="utf-8")
    broken.chmod(0o755)
    with pytest.raises(version_matrix.NotInstallable, match=r"python3.99 -m venv: python3.99: command not found"):
        version_matrix.made_environment(tmp_path / "env", python=str(broken), torch="0.0.1")
