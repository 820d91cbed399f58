"""`fusebench advise` and `fusebench article` as a person types them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def called(*arguments, data):
    environ = {**os.environ, "FUSEBENCH_DATA": str(data), "FUSEBENCH_LOCK_FILE": str(data / "lock")}
    return subprocess.run(
        [sys.executable, "-m", "fusebench", *arguments],
        cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=880,
    )  # fmt: skip


@pytest.mark.slow
def test_advice_for_a_shape_is_json_alone_on_stdout(tmp_path):
    options = ("--dim", "16", "--hidden", "64", "--batch", "1,4", "--provider", "fused", "--uncommitted")
    answer = called("advise", *options, "--format", "json", data=tmp_path)
    assert answer.returncode in {0, 3}, answer.stderr
    content = json.loads(answer.stdout)
    assert (answer.returncode == 3) is any(each["run"] is None for each in content["choices"])
    assert [each["batch"] for each in content["choices"]] == [1, 4]
    # Where a busy machine leaves it undecided, nothing is advised.
    assert {each["run"] for each in content["choices"]} <= {"eager", "fused", None}
    assert content["what"]
    assert "mlp gelu 16 × 64 axes" in answer.stderr
    assert not (tmp_path / "journal").exists()


def test_a_question_that_is_none_is_wrong_usage(tmp_path):
    answer = called("advise", data=tmp_path)
    assert answer.returncode == 64
    assert "name one of --dim and --hidden, --model, or --module" in answer.stderr
    answer = called("advise", "--dim", "16", data=tmp_path)
    assert answer.returncode == 64
    assert "--hidden is missing" in answer.stderr


@pytest.mark.slow
def test_what_a_module_prints_is_no_part_of_the_answer(tmp_path):
    (tmp_path / "mine.py").write_text("print('loading')\ndef build():\n    raise ValueError('no weights')\n")
    answer = called("advise", "--module", str(tmp_path / "mine.py:build"), "--format", "json", data=tmp_path)
    assert (answer.returncode, answer.stdout) == (64, "")
    assert "loading" in answer.stderr
    assert "build() raised ValueError: no weights (line 3)" in answer.stderr
    assert "Traceback" not in answer.stderr


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_one_call_does_is_json_alone_on_stdout_and_holds_what_the_article_teaches(tmp_path):
    answer = called("article", "--format", "json", "--uncommitted", data=tmp_path)
    assert answer.returncode == 0, answer.stderr
    content = json.loads(answer.stdout)
    linear, small, wide = content["cases"]
    steps = [
        {each["contender"]: [step["name"] for step in each["steps"] or ()] for each in case["observed"]}
        for case in (linear, small, wide)
    ]
    assert steps[0]["eager"] == steps[0]["compiled"] == ["aten::addmm"]
    assert sorted(steps[1]["eager"]) == sorted(steps[2]["eager"]) == ["aten::gelu", "aten::mm", "aten::mul"]
    assert sorted(steps[1]["compiled"]) == ["aten::mm", "cpp_fused_gelu_mul"]
    assert "nothing to fuse" in {each["rule"] for each in linear["why"]}
    for case in (small, wide):
        rules = {each["rule"] for each in case["why"]}
        assert "fused" in rules
        # Shares of a profile that others disturbed are not told, and the limit is one of them.
        assert ("limit" in rules) != case["observed"][0]["is_profile_disturbed"]
    assert "timing" in answer.stderr


def test_an_unknown_option_of_article_is_wrong_usage(tmp_path):
    answer = called("article", "--fromat", "json", data=tmp_path)
    assert answer.returncode == 64
    assert "--format" in answer.stderr
