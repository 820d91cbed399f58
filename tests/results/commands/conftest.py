"""Two commits that were made up, and a command run on them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from results.commands.ingest import ingest
from results.commands.judging.changes import changes
from results.commands.judging.explain import explain
from results.commands.judging.gate import gate

A, B = "a" * 40, "b" * 40


@pytest.fixture
def compared(tmp_path, journals, monkeypatch):
    """Store journals of commits A and B, each line of B as `planted` changes it; a function runs a command on them."""

    def store(planted=lambda line: line, *, also=lambda line: line, device="cpu", **of_head):
        base = journals.Sweep(commit=A, device=device, n_visits=3)
        head = replace(base, commit=B, **of_head)
        monkeypatch.chdir(tmp_path)  # outside of any repository
        for sweep, change in ((base, lambda line: line), (head, planted)):
            path = tmp_path / "data" / "journal" / sweep.machine / f"{sweep.commit[:8]}-{sweep.environment}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = [change(line) for line in map(also, journals.lines_of(sweep)) if line is not None]
            path.write_text("".join(json.dumps(line) + "\n" for line in lines if line is not None))
        db = str(tmp_path / "explain.db")
        CliRunner().invoke(ingest, [str(tmp_path / "data"), "--db", db], standalone_mode=False)

        def run(*arguments, command=explain):
            named = ["--base", A, "--head", B] if command is gate else [] if command is changes else [A, B]
            found = CliRunner().invoke(command, [*named, *arguments, "--db", db], standalone_mode=False)
            if found.exception is not None:
                raise found.exception
            return found

        return run

    return store
