"""asv's record made from a journal is the one that asv makes where it was measured."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.ruler.campaign.asv_record import record_for_asv
from benchmarks.ruler.errors import JournalError
from benchmarks.ruler.plan.settings import Settings
from benchmarks.ruler.record.journal import append
from benchmarks.ruler.record.provenance import RULER_VERSION

ROOT = Path(__file__).parents[3]
AXES = """
batches = [1, 8]
hiddens = [16]
operations = ["mlp", "gated_mlp"]
providers = ["eager", "fused", "fused-captured"]
budget_s = 0.05
"""
# When it was made, and how long that took.
OF_THE_MAKING = {"started_at", "duration"}


def kept(path):
    """What asv keeps in a file of results, but for when it was made."""
    content = json.loads(path.read_text())
    columns = content["result_columns"]
    content["results"] = {
        name: {column: value for column, value in zip(columns, row, strict=False) if column not in OF_THE_MAKING}
        for name, row in content["results"].items()
    }
    return {name: value for name, value in content.items() if name != "durations"}


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_it_is_what_asv_keeps_on_the_machine_that_measured(asv_place):
    place = asv_place(AXES)
    assert place.run().wait() == 0, (place.folder / "asv-output.txt").read_text()
    (theirs,) = (path for path in (place.folder / "asv" / "testbox").glob("*.json") if path.name != "machine.json")
    (journal,) = (place.folder / "data" / "journal" / "testbox").glob("*.jsonl")
    before = journal.read_bytes()

    home = place.folder / "home"
    (home / "asv" / "testbox").mkdir(parents=True)
    shutil.copy(theirs.with_name("machine.json"), home / "asv" / "testbox")
    environ = {**place.environ, "FUSEBENCH_DATA": str(home), "FUSEBENCH_DEVICE": "cuda", "FUSEBENCH_MACHINE": "laptop"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.ruler.campaign", "asv-record", str(journal)],
        env=environ, cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    ours = home / "asv" / "testbox" / theirs.name
    assert kept(ours) == kept(theirs)
    values = [value for row in kept(ours)["results"].values() for value in row["result"] or ()]
    assert sum(value is not None for value in values) > 20, "and it is not empty"
    for name in ("benchmarks.json", "testbox/machine.json"):
        assert json.loads((home / "asv" / name).read_text()) == json.loads((place.folder / "asv" / name).read_text())
    assert journal.read_bytes() == before


def test_a_journal_without_a_point_of_the_axes_is_refused_by_name(tmp_path, timing_line):
    run = replace(timing_line.head.run, ruler_version=RULER_VERSION)
    path = tmp_path / "c0ffee00-py3.11-cpu-t2.jsonl"
    with pytest.raises(JournalError, match=r"c0ffee00.*holds nothing of ruler"):
        record_for_asv(path, Settings())
    append(path, [replace(timing_line, head=replace(timing_line.head, run=run))])
    with pytest.raises(JournalError, match="holds no point of the campaign axes; name others by FUSEBENCH_AXES"):
        record_for_asv(path, Settings(axes="campaign"))


def test_the_command_says_which_file_it_needs():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.ruler.campaign", "asv-record"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, "asv-record JOURNAL: name the file" in done.stderr) == (64, True)
