"""A script can tell an advice from one that leaves something undecided: the exit code."""

import json

import pytest
from click.testing import CliRunner

from results.commands.measuring import advice as advice_module
from results.exit_codes import ExitCode
from results.store import OpenMode, open_store
from tests.made_points import points

DECIDED = points(1, fused=2.0)
AS_FAST = points(2, fused=1.005)
# Ahead by paired rounds: it is advised, and its doubt told.
IN_DOUBT = points(4, fused=1.3, width=0.1, disturbed="the machine ran at 60 %")
UNDECIDED = points(8, fused=1.5, width=0.6, disturbed="the machine ran at 60 %")


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
@pytest.mark.parametrize(
    ("rows", "code"),
    [
        (DECIDED, ExitCode.FINE),
        (AS_FAST, ExitCode.FINE),
        ([*DECIDED, *IN_DOUBT], ExitCode.FINE),
        (UNDECIDED, ExitCode.NOTHING_COMPARABLE),
        ([*DECIDED, *AS_FAST, *UNDECIDED], ExitCode.NOTHING_COMPARABLE),
        ([row._replace(latency_s=None, state="crashed") for row in DECIDED], ExitCode.NOTHING_COMPARABLE),
    ],
)
def test_what_is_undecided_at_one_batch_is_told_by_the_exit_code(tmp_path, monkeypatch, form, rows, code):
    db, question = str(tmp_path / "x.db"), tmp_path / "question.json"
    with open_store(db, mode=OpenMode.WRITE):
        pass
    question.write_text(json.dumps({"form": form, "pass": "forward", "left_out": [], "notes": [], "ratios": False}))
    monkeypatch.setattr(advice_module, "measured_points", lambda *_, **__: rows)
    monkeypatch.setattr(advice_module, "slow_libraries", lambda *_: ())
    asked = ["HEAD", "--question", str(question), "--db", db]
    answer = CliRunner().invoke(advice_module.advice, asked, standalone_mode=False)
    assert answer.return_value == code, answer.output
    is_told = "undecided: measure again" in answer.stdout or "Nothing gave a time" in answer.stderr
    assert is_told is (code != ExitCode.FINE)
