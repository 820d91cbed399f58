"""First checks of a device: recorded one by one, gone on with after a process that was lost."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks.ruler.campaign import smoke as campaign_smoke
from benchmarks.ruler.campaign import smoke_checks
from benchmarks.ruler.campaign.settings import Status
from benchmarks.ruler.campaign.smoke import marks, run_checks, smoke
from benchmarks.ruler.campaign.smoke_checks import RIGHT, Finding, Mark, checks
from benchmarks.ruler.plan.points import Operation, contender_from_name
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.workload import workload
from fused_mlp.native import fast_calls

ROOT = Path(__file__).parents[3]
CPU = torch.device("cpu")


@pytest.fixture
def in_a_child(settings, monkeypatch):
    """Runs the given checks in forked processes, as the command runs its own."""
    monkeypatch.setattr(campaign_smoke, "code_measured", lambda _: "this code")

    def install(found):
        def child(settings, path, code):
            pid = os.fork()
            if pid == 0:
                os._exit(run_checks(found, path, code=code, until=settings.until))
            _, status = os.waitpid(pid, 0)
            return os.waitstatus_to_exitcode(status)

        monkeypatch.setattr(campaign_smoke, "_checked_in_a_process", child)

    return install


def dies():
    os.kill(os.getpid(), signal.SIGKILL)


def loses_the_device():
    raise RuntimeError("Triton Error [CUDA]: an illegal memory access was encountered")


def test_a_check_that_kills_its_process_is_wrong_and_those_after_it_are_made(settings, in_a_child):
    in_a_child({"first": lambda: RIGHT, "deadly": dies, "lost": loses_the_device, "last": lambda: RIGHT})
    report = smoke(settings)
    assert report.status is Status.FAILED
    found = marks(settings.out / "smoke.jsonl", code="this code")
    assert {name: line["mark"] for name, line in found.items()} == {
        "first": "right",
        "deadly": "wrong",
        "lost": "wrong",
        "last": "right",
    }
    assert found["deadly"]["reason"] == "the process that ran it was lost"
    assert "illegal memory access" in found["lost"]["reason"]


def test_a_check_that_hangs_takes_no_more_than_its_own_time(settings, in_a_child, monkeypatch):
    monkeypatch.setattr(campaign_smoke, "_LONGEST_S", 0.3)
    in_a_child({"hangs": lambda: time.sleep(600), "last": lambda: RIGHT})
    assert smoke(settings).status is Status.FAILED
    found = marks(settings.out / "smoke.jsonl", code="this code")
    assert {name: line["mark"] for name, line in found.items()} == {"hangs": "wrong", "last": "right"}
    assert found["hangs"]["reason"] == "it gave no sign for as long as any check may take"


def test_what_is_checked_is_not_checked_again_until_the_code_is_another(settings, in_a_child, monkeypatch):
    in_a_child({"one": lambda: RIGHT, "two": lambda: Finding(mark=Mark.ABSENT, reason="none here")})
    assert (smoke(settings).status, smoke(settings).measured) == (Status.DONE, 0)
    monkeypatch.setattr(campaign_smoke, "code_measured", lambda _: "other code")
    assert smoke(settings).measured == 2


def test_checks_whose_time_is_up_are_unfinished_and_gone_on_with(settings, in_a_child):
    in_a_child({"one": lambda: RIGHT})
    assert smoke(replace(settings, until=time.time() - 1)).status is Status.UNFINISHED
    assert smoke(settings).status is Status.DONE


def test_a_killed_campaign_leaves_no_process_on_the_device(tmp_path):
    command = [sys.executable, "-m", "benchmarks.ruler.campaign", "smoke", "--device", "cpu", "--out", str(tmp_path)]
    campaign = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def children():
        lines = {path.parent.name: path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()}
        return {pid for pid, line in lines.items() if str(tmp_path).encode() in line and int(pid) != campaign.pid}

    while not children():
        assert campaign.poll() is None
        time.sleep(0.05)
    campaign.kill()
    campaign.wait()
    end = time.monotonic() + 60
    while children() and time.monotonic() < end:
        time.sleep(0.05)
    assert children() == set()


def test_the_checks_of_a_gpu_name_what_makes_a_time_worthless():
    words = " ".join(checks(torch.device("cuda")))
    for each in (
        "by recipe",
        "launch paths",
        "graph",
        "two streams",
        "again and again",
        "sanitizer",
        "fused-single",
        "gated_mlp",
    ):
        assert each in words
    assert all("bfloat16" in name for name in checks(torch.device("cuda")))


@pytest.mark.parametrize(
    ("a_call", "why_not", "mark"),
    [(1, None, Mark.RIGHT), (0, None, Mark.WRONG), (0, "no driver", Mark.ABSENT)],
)
def test_calls_that_go_the_long_way_though_they_need_not_are_found(monkeypatch, a_call, why_not, mark):
    recipes = pytest.importorskip("fused_mlp.choice.call_recipes")
    fused, counted = providers.build(contender_from_name("fused"), load := small_load()), []

    def call(x):
        counted.extend([None] * a_call)
        return fused.function(x)

    monkeypatch.setattr(smoke_checks, "workload", lambda *_, **__: load)
    monkeypatch.setattr(smoke_checks, "_function", lambda *_: call)
    monkeypatch.setattr(recipes, "why_no_recipes", lambda: why_not)
    monkeypatch.setattr(fast_calls, "count_by_recipe", lambda: len(counted))
    assert smoke_checks._goes_by_recipe(load.shape, CPU).mark is mark


def small_load():
    return workload(smoke_checks._shape(Operation.MLP, (1, 64, 256)), device=CPU)


@pytest.mark.slow
def test_this_cpu_passes_its_own(settings, monkeypatch):
    monkeypatch.setattr(campaign_smoke, "code_measured", lambda _: "this code")
    report = smoke(settings)
    assert report.status is Status.DONE, report.words
    lines = [json.loads(line) for line in (settings.out / "smoke.jsonl").read_text().splitlines()]
    assert sum(line["mark"] == "right" for line in lines) >= 24
