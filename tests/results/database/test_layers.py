from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LINTER = Path(sys.executable).parent / "lint-imports"


@pytest.fixture
def lint_copy(tmp_path):
    """Run lint-imports on a copy of the source after `change` was made to it."""
    if not LINTER.exists():
        pytest.skip("import-linter is not installed")

    def run(change):
        for folder in ("benchmarks", "dashboard", "kernels", "results"):
            ignore = shutil.ignore_patterns("data", "__pycache__")
            shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignore)
        for name in ("fusebench.py", "pyproject.toml"):
            shutil.copy(ROOT / name, tmp_path / name)
        change(tmp_path)
        paths = f"{tmp_path}:{tmp_path / 'kernels'}"
        return subprocess.run(
            [LINTER, "--no-cache"],
            cwd=tmp_path,
            env={"PYTHONPATH": paths, "PATH": ""},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_contracts_between_the_folders_hold(lint_copy):
    answer = lint_copy(lambda _: None)
    assert answer.returncode == 0, answer.stdout


def test_a_planted_import_of_torch_in_results_is_caught(lint_copy):
    answer = lint_copy(lambda root: (root / "results" / "planted.py").write_text("import torch\n"))
    assert answer.returncode != 0
    assert "results.planted -> torch" in answer.stdout


def test_the_store_and_the_judgement_load_no_torch_and_no_asv():
    program = (
        "import sys, results.commands.show, results.commands.gate, results.commands.ingest\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "sys.exit(' '.join(loaded & {'torch', 'asv', 'dash', 'scipy', 'alembic'}) or 0)"
    )
    answer = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
