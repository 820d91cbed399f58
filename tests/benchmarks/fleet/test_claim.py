"""Claims: one `fleet run` a folder, one machine a host's name; who is dead holds nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.ruler.errors import FolderTaken, InvalidShard
from benchmarks.ruler.fleet import claim as claim_module
from benchmarks.ruler.fleet import command
from benchmarks.ruler.fleet.claim import claimed
from benchmarks.ruler.fleet.folder import host_claim, run_claim, shard_path

ROOT = Path(__file__).resolve().parents[3]
HOLD = """
import sys, time
from pathlib import Path
from benchmarks.ruler.fleet.claim import claimed
with claimed(Path(sys.argv[1]), refusal=str, say=print):
    print("held", flush=True)
    time.sleep(60)
"""
OF_ANOTHER_MACHINE = {"node": "gpu7", "pid": 77, "boot": "another", "since": "2026-01-01T00:00:00+00:00"}


@pytest.fixture
def holding():
    """Start processes of this machine that hold a claim; they end with the test."""
    started = []

    def hold(path):
        process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield hold
    for process in started:
        process.kill()
        process.communicate()


def claim(path, said=None, **options):
    def refusal(holder):
        return f"taken by {holder}"

    return claimed(path, refusal=refusal, say=(said if said is not None else []).append, **options)


def test_a_claim_is_one_process_s_and_names_it(tmp_path, holding):
    path = tmp_path / "locks" / "it"
    process = holding(path)
    with pytest.raises(FolderTaken, match=rf"taken by process {process.pid} on .*, since 20"), claim(path):
        pytest.fail("held twice")


def test_a_claim_of_a_killed_process_is_taken_at_once_and_given_back(tmp_path, holding):
    path = tmp_path / "it"
    process = holding(path)
    process.send_signal(signal.SIGKILL)
    process.wait()
    said = []
    for _ in range(2):
        with claim(path, said):
            assert json.loads(path.read_text())["pid"] == os.getpid()
        assert path.read_text() == ""
    assert said == []


def test_a_block_that_fails_gives_its_claim_back(tmp_path):
    with pytest.raises(ZeroDivisionError), claim(tmp_path / "it"):
        raise ZeroDivisionError
    assert (tmp_path / "it").read_text() == ""


def test_another_machine_s_claim_without_a_sign_of_life_is_taken_whatever_the_clocks_show(tmp_path, monkeypatch):
    monkeypatch.setattr(claim_module, "_LOOK_EVERY_S", 0.05)
    (tmp_path / "it").write_text(json.dumps(OF_ANOTHER_MACHINE))
    said = []
    with claim(tmp_path / "it", said, dead_after_s=1):
        assert json.loads((tmp_path / "it").read_text())["pid"] == os.getpid()
    assert "held by process 77 on gpu7, since 2026-01-01T00:00:00+00:00; looking for at most 1 s" in said[0]
    assert len(said) == 1


@pytest.mark.parametrize("is_given_back", [False, True])
def test_another_machine_s_claim_is_watched_until_it_gives_a_sign(tmp_path, monkeypatch, is_given_back):
    monkeypatch.setattr(claim_module, "_LOOK_EVERY_S", 0.05)
    path = tmp_path / "it"
    path.write_text(json.dumps(OF_ANOTHER_MACHINE))

    is_over = threading.Event()

    def live():
        while not is_over.wait(0.3):  # the first sign may come before anybody looks
            if is_given_back:
                path.write_text("")
                return
            os.utime(path)

    thread = threading.Thread(target=live)
    thread.start()
    try:
        if is_given_back:
            with claim(path):
                pass
        else:
            with pytest.raises(FolderTaken, match="taken by process 77 on gpu7"), claim(path):
                pytest.fail("held twice")
    finally:
        is_over.set()
        thread.join()


def test_a_holder_gives_signs_of_life(tmp_path, monkeypatch):
    monkeypatch.setattr(claim_module, "SIGN_EVERY_S", 0.05)
    with claim(tmp_path / "it"):
        os.utime(tmp_path / "it", (0, 0))
        begun = time.monotonic()
        while (tmp_path / "it").stat().st_mtime == 0 and time.monotonic() - begun < 30:
            time.sleep(0.05)
        assert (tmp_path / "it").stat().st_mtime > 0


def test_where_nothing_can_be_written_that_is_said(tmp_path):
    (tmp_path / "locks").write_text("a file")
    with pytest.raises(InvalidShard, match="cannot be written"), claim(tmp_path / "locks" / "it"):
        pytest.fail("held")


def test_a_second_run_on_a_folder_is_told_who_runs_and_starts_nothing(made_fleet, holding, monkeypatch):
    fleet = made_fleet()
    process = holding(run_claim(fleet.folder))
    monkeypatch.setattr(command, "engine", lambda _: pytest.fail)
    done = CliRunner().invoke(command.main, ["run", str(fleet.folder)])
    assert f"are being started by process {process.pid} on " in str(done.exception)
    assert "`fusebench fleet status" in str(done.exception)


def test_a_second_machine_of_one_name_measures_nothing_and_is_told_to_take_another(made_fleet, holding, monkeypatch):
    fleet = made_fleet()
    monkeypatch.setenv("FUSEBENCH_HOST", "localhost")
    monkeypatch.setenv("FUSEBENCH_LOCK_FILE", str(fleet.folder.parent / "lock of another container"))
    process = holding(host_claim(fleet.folder, "localhost"))
    done = CliRunner().invoke(command.main, ["work", str(shard_path(fleet.folder, fleet.shards[0]))])
    assert f"host localhost: process {process.pid} on " in str(done.exception)
    assert "FUSEBENCH_HOST of its own" in str(done.exception)
    assert not list(fleet.folder.rglob("*.jsonl"))
    assert not list(fleet.folder.rglob("host.json"))
