"""`fusebench fleet` as it is typed: what is planned, what is refused and with which words."""

from __future__ import annotations

import shlex

import pytest
from click.testing import CliRunner

from benchmarks.ruler.fleet.command import main
from benchmarks.ruler.fleet.folder import read_fleet, read_shards
from benchmarks.ruler.fleet.host import Host, HostClass
from benchmarks.ruler.fleet.planning import commits_from_text
from benchmarks.ruler.fleet.reading import state_of
from benchmarks.ruler.fleet.work import begun_work
from benchmarks.ruler.plan.axes_files import axes_from_settings
from benchmarks.ruler.plan.points import Contender
from benchmarks.ruler.plan.settings import Settings
from results.commands.measuring.fleet import fleet


@pytest.fixture
def typed(monkeypatch, tmp_path):
    monkeypatch.setenv("FUSEBENCH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FUSEBENCH_DEVICE", "cpu")
    monkeypatch.setenv("FUSEBENCH_THREADS", "1")
    return lambda *words: CliRunner().invoke(main, list(words))


def test_a_plan_is_written_where_ingest_will_find_its_hosts_journals(typed, tmp_path):
    done = typed("plan", "--axes", "quick", "--shards", "3", "--machine", "box", "--commits", "HEAD~1,HEAD")
    assert done.exit_code == 0, done.output
    [folder] = (tmp_path / "data" / "fleet").iterdir()
    fleet, shards = read_fleet(folder), read_shards(folder)
    assert (fleet.machine, fleet.device, fleet.threads, len(fleet.commits), fleet.visits) == ("box", "cpu", 1, 2, 3)
    assert sum(len(shard.groups) for shard in shards) == 12
    assert f"written to {folder}" in done.output
    assert typed("status", str(folder)).output.startswith("0 of 12 groups done, 12 missing, 0 of 2 repeated")


def test_what_to_type_next_is_ready_for_a_shell(typed, tmp_path):
    folder = tmp_path / "a sweep"
    planned = typed("plan", "--shards", "2", "--out", str(folder)).output.splitlines()
    run, work = (shlex.split(line.partition(": ")[2]) for line in planned[-2:])
    assert run == ["fusebench", "fleet", "run", str(folder)]
    assert work == ["fusebench", "fleet", "work", str(folder / "shards" / "0001.json")]
    again = typed("status", str(folder)).output.split("`")[3]
    words = ["2" if word == "N" else word for word in shlex.split(again)[2:]]
    done = typed(*words)
    assert done.exit_code == 0, done.output


def test_one_group_in_one_shard_is_announced_as_one(typed, tmp_path):
    one = ("--batch", "16", "--hidden", "256", "--operation", "linear", "--out", str(tmp_path / "f"))
    said = typed("plan", "--shards", "1", *one).output
    assert ": 1 group of the quick axes" in said
    assert "\n1 shard of about " in said


def test_values_of_axes_narrow_a_plan_as_they_narrow_a_run(typed, tmp_path):
    done = typed("plan", "--shards", "2", "--batch", "16", "--operation", "mlp", "--out", str(tmp_path / "f"))
    assert done.exit_code == 0, done.output
    assert sum(len(shard.groups) for shard in read_shards(tmp_path / "f")) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--shards", "0"), "--shards 0: a sweep has at least one shard"),
        (("--shards", "1", "--device", "cuda"), "--machine has to name the class of those that do"),
        (("--shards", "1", "--batch", "17"), "no point has batch '17'"),
        (("--shards", "1", "--axes", "nothing"), "no axes are called 'nothing'"),
        (("--shards", "1", "--commits", "HEAD,HEAD"), "names a commit twice"),
        (("--shards", "1", "--commits", "no-such"), "git knows no commit 'no-such'"),
    ],
)
def test_a_mistake_in_a_plan_is_named(typed, tmp_path, words, said):
    done = typed("plan", "--out", str(tmp_path / "f"), *words)
    assert said in str(done.exception)
    assert not (tmp_path / "f").exists()


def test_a_folder_holds_one_plan(typed, tmp_path):
    words = ("plan", "--shards", "2", "--out", str(tmp_path / "f"))
    assert typed(*words).exit_code == 0
    assert "holds a fleet's plan already" in str(typed(*words).exception)
    assert typed("plan", "--shards", "3", "--missing", str(tmp_path / "f")).exit_code == 0
    assert len(read_shards(tmp_path / "f")) == 5


@pytest.mark.parametrize("words", [("--batch", "16"), ("--out", "elsewhere"), ("--pass", "forward")])
def test_options_that_the_plan_has_decided_are_refused_beside_missing(typed, tmp_path, words):
    typed("plan", "--shards", "2", "--out", str(tmp_path / "f"))
    done = typed("plan", "--shards", "3", "--missing", str(tmp_path / "f"), *words)
    assert f"--missing and {words[0]}: what is missing is planned as the fleet was" in str(done.exception)
    assert len(read_shards(tmp_path / "f")) == 2


def test_a_range_of_commits_holds_both_ends():
    found = commits_from_text("HEAD~2..HEAD")
    assert found[0].hash == commits_from_text("HEAD~2")[0].hash
    assert found[-1].hash == commits_from_text("HEAD")[0].hash
    assert len(found) >= 3


@pytest.mark.parametrize("words", [("run", "x", "--slurm", "partition"), ("run", "x", "--engine", "nomad")])
def test_a_mistake_in_a_run_is_named(typed, words):
    done = typed(*words)
    assert done.exit_code
    assert "write NAME=VALUE" in str(done.exception) or "'local', 'slurm', 'ray'" in done.output


def test_a_cpu_s_host_is_not_shared(typed, tmp_path):
    typed("plan", "--shards", "1", "--out", str(tmp_path / "f"))
    assert "on a CPU one shard at a time" in str(
        typed("work", str(tmp_path / "f/shards/0001.json"), "--share").exception
    )


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text('def build(load):\n    return load.module\n\n\nPROVIDERS = {"mine": build}\n')
    return path


def test_a_provider_module_travels_with_the_shards(typed, tmp_path, module):
    words = ("plan", "--shards", "2", "--operation", "linear", "--out", str(tmp_path / "f"))
    assert typed(*words, "--provider-module", str(module)).exit_code == 0
    module.unlink()
    state = state_of(tmp_path / "f")
    assert all(Contender(provider="mine") in group.contenders for group in state.known.values())
    host = Host(name="far", node="far", kind=HostClass(cpu="a CPU", cores=1))
    begun = begun_work(state.shards[0], tmp_path / "other", host, Settings(), is_shared=False)
    assert begun.known == state.known
    assert begun.settings.provider_module == tmp_path / "other" / "hosts" / "far" / "mine.py"
    assert axes_from_settings(begun.settings).providers[-1] == "mine"


def test_a_provider_module_that_no_host_could_run_is_refused(typed, tmp_path, module):
    module.write_text(f"import beside\n{module.read_text()}")
    (tmp_path / "beside.py").touch()
    done = typed("plan", "--shards", "1", "--provider-module", str(module), "--out", str(tmp_path / "f"))
    assert f"{module}: fails when it is run (ModuleNotFoundError: No module named 'beside')" in str(done.exception)
    assert "it travels alone" in str(done.exception)
    assert not (tmp_path / "f").exists()


def test_collecting_where_nothing_was_recorded_says_so(tmp_path, typed):
    typed("plan", "--shards", "1", "--out", str(tmp_path / "f"))
    words = ["collect", str(tmp_path / "f"), "--db", str(tmp_path / "store.db")]
    done = CliRunner().invoke(fleet, words, standalone_mode=False)
    assert done.return_value == 3, done.output
    assert done.output.splitlines()[-1] == "nothing to store yet: no fit host has recorded anything there"
    assert not (tmp_path / "store.db").exists()


@pytest.mark.parametrize("asked", ["status", "run", "collect"])
def test_a_file_in_place_of_a_fleets_folder_is_named(tmp_path, typed, asked):
    path = tmp_path / "notes.txt"
    path.touch()
    said = str(typed(asked, str(path)).exception)
    assert f", as {path} is no folder; name " in said
    assert "Errno" not in said


def test_a_plan_is_not_written_below_a_file(tmp_path, typed):
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    for folder in (path, path / "sweep"):
        said = str(typed("plan", "--axes", "quick", "--shards", "1", "--out", str(folder)).exception)
        assert f"cannot be written, as {path} is no folder; name another folder" in said
    assert path.read_text() == "mine"
