"""The archive of a campaign, and what a machine needs before it."""

import ast
import json
import os
import subprocess
import sys
import tarfile
from dataclasses import replace
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.ruler.campaign import __main__ as campaign
from benchmarks.ruler.campaign import machine_description
from benchmarks.ruler.campaign import pack as campaign_pack
from benchmarks.ruler.campaign import pieces as campaign_pieces
from benchmarks.ruler.campaign.settings import Budget, Status
from benchmarks.ruler.checks import host_cost
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.record.journal import append, journal_path

ROOT = Path(__file__).parents[3]


@pytest.fixture
def packed(settings, run, timing_line, monkeypatch):
    """A campaign's files to pack: a journal of the commit, one of another, ceilings, traces large and small."""
    monkeypatch.setattr(campaign_pack, "measured_commit", lambda _: run)
    monkeypatch.setattr(type(run), "hash", property(lambda self: self.commit), raising=False)
    data = settings.out.parent / "data"
    environment = f"py3.{sys.version_info.minor}-cpu-t1"
    for commit in (run.commit, "d" * 40):
        of_commit = replace(run, commit=commit, machine="testbox", environment=environment)
        append(journal_path(data, of_commit), [replace(timing_line, head=replace(timing_line.head, run=of_commit))])
    for name, size in (("machines/testbox.json", 10), ("traces/c0ffee00-a.json.gz", 100)):
        (data / name).parent.mkdir(exist_ok=True)
        (data / name).write_bytes(b"x" * size)
    (data / "traces" / "c0ffee00-large.json.gz").write_bytes(b"x" * 5_000_000)
    (settings.out / "table-cpu.md").write_text("a table")
    return environment


def test_the_archive_holds_the_record_of_this_commit_as_it_is_laid_out_and_small_traces(settings, packed):
    report = campaign_pack.pack(settings)
    assert report.status is Status.DONE
    (archive,) = settings.out.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name for name in tar.getnames() if not name.startswith("asv/")}
        manifest = json.load(tar.extractfile("campaign/manifest.json"))
    assert names == {
        f"journal/testbox/c0ffee00-{packed}.jsonl",
        "machines/testbox.json",
        "traces/c0ffee00-a.json.gz",
        "campaign/table-cpu.md",
        "campaign/manifest.json",
    }
    assert manifest["commit"].startswith("c0ffee")


def test_packing_the_same_files_again_writes_nothing_and_a_changed_one_does(settings, packed):
    campaign_pack.pack(settings)
    (archive,) = settings.out.glob("*.tar.gz")
    before = archive.stat().st_mtime_ns
    assert "already" in campaign_pack.pack(settings).words
    assert archive.stat().st_mtime_ns == before
    (settings.out / "table-cpu.md").write_text("another table")
    assert campaign_pack.pack(settings).measured > 0


def test_an_archive_too_large_to_carry_leaves_its_traces_out(settings, packed, monkeypatch):
    monkeypatch.setattr(campaign_pack, "MOST_ARCHIVE_BYTES", 100)
    report = campaign_pack.pack(settings)
    assert report.status is Status.DONE
    assert "may be too much for one file to carry" in report.words
    (archive,) = settings.out.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        assert not any(name.startswith("traces/") for name in tar.getnames())


def test_a_line_that_is_being_written_belongs_to_the_next_archive(settings, packed):
    (settings.out / "correctness.jsonl").write_text('{"whole": 1}\n{"half')
    campaign_pack.pack(settings)
    (archive,) = settings.out.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        assert tar.extractfile("campaign/correctness.jsonl").read() == b'{"whole": 1}\n'


def test_the_variable_out_which_may_be_anybodys_changes_nothing(tmp_path):
    for variables in ({}, {"OUT": str(tmp_path)}):
        said = subprocess.run(
            ["make", "-n", "gpu-campaign", "DEVICE=cpu"],
            cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        assert "benchmarks.ruler.campaign all" in said
        assert "--out" not in said
    asked = subprocess.run(
        ["make", "-n", "gpu-campaign", "CAMPAIGN_OUT=/there"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "--out /there" in asked


def test_without_a_journal_there_is_nothing_to_pack(settings):
    assert campaign_pack.pack(settings).status is Status.UNFINISHED


def test_a_machine_that_lacks_packages_is_told_which_and_how_they_come(monkeypatch):
    monkeypatch.setattr(campaign, "_NEEDED", ("torch", "no_such_package"))
    said = campaign.missing_packages(DeviceKind.CPU)
    assert "needs no_such_package, not installed for" in said
    assert "make gpu-bundle" in said
    assert "--no-index --find-links wheels" in said
    monkeypatch.setattr(campaign, "_NEEDED", ("torch",))
    assert campaign.missing_packages(DeviceKind.CPU) is None


def test_the_bundle_names_all_that_its_packages_ask_for_and_no_torch():
    text = (ROOT / "benchmarks" / "campaign-requirements.txt").read_text()
    named = {canonicalize_name(line) for line in text.splitlines() if line and not line.startswith("#")}
    here = {"torch", "triton"}
    # numpy comes with them.
    target = {"extra": "", "python_version": "3.12", "python_full_version": "3.12.0"}
    for name in named - {"liger-kernel"}:
        for line in requires(name) or []:
            wanted = Requirement(line)
            if wanted.marker is None or wanted.marker.evaluate(target):
                assert canonicalize_name(wanted.name) in named | here, f"{name} asks for {wanted.name}"
    assert not named & here
    constraints = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {canonicalize_name(line.split("==")[0]) for line in constraints if "==" in line}
    assert named <= pinned


def test_all_that_is_imported_to_measure_is_in_the_bundle_or_on_the_machine():
    text = (ROOT / "benchmarks" / "campaign-requirements.txt").read_text()
    bundled = {line.replace("-", "_").lower() for line in text.splitlines() if line and not line.startswith("#")}
    ours, of_the_machine = {"benchmarks", "fused_mlp"}, {"torch", "triton", "numpy"}
    known = {*sys.stdlib_module_names, *ours, *of_the_machine, *bundled, "pynvml", "_typeshed"}
    imported = {
        (name, path.relative_to(ROOT))
        for folder in ("benchmarks", "kernels")
        for path in (ROOT / folder).rglob("*.py")
        if not path.is_relative_to(ROOT / "benchmarks" / "ruler" / "fleet")  # a campaign is one host's
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in _imported_by(node)
    }
    assert len(imported) > 100
    assert {each for each in imported if each[0].partition(".")[0] not in known} == set()


def _imported_by(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else []


def test_the_campaign_can_be_asked_for_help_and_imports_no_torch_to_answer():
    script = "import sys; sys.argv = ['campaign', '--help']\nimport benchmarks.ruler.campaign.__main__ as c\n"
    script += "try:\n    c.main()\nexcept SystemExit as e:\n    print(e.code, 'torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
    )
    assert "correctness" in done.stdout
    assert done.stdout.splitlines()[-1] == "0 False"


@pytest.mark.parametrize("budget", list(Budget), ids=str)
def test_the_host_cost_command_takes_what_the_campaign_tells_it(budget):
    _, (_, _, *arguments) = campaign_pieces._HOST_COST[DeviceKind.CPU, budget]
    host_cost.main.make_context("host_cost", list(arguments))


@pytest.mark.parametrize("tool", ["gcc", "make", "nvcc"])
def test_a_tool_is_described_by_the_line_that_names_its_version(tool, monkeypatch, tmp_path):
    lines = ["about nvcc", "V13.0"] if tool == "nvcc" else ["version 4.3", "There is NO WARRANTY"]
    program = tmp_path / tool
    program.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert "3" in machine_description._said_by(tool, ())
