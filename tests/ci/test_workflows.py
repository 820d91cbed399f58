"""Workflows and action.yml: they parse, ask for little, trust nobody's text, and every command in them exists."""

from __future__ import annotations

import importlib
import re
import shlex
from pathlib import Path

import click
import pytest
import yaml

from fusebench import cli

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTION = ROOT / "action.yml"
TARGETS = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
PASSED_ON = {"ab": "benchmarks.ruler.ab.command", "run": "benchmarks.ruler.sweep.run"}


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps_of(path):
    document = read(path)
    jobs = document["jobs"].values() if "jobs" in document else [document["runs"]]
    return [step for job in jobs for step in job["steps"]]


def triggers(path):
    found = read(path)[True]  # YAML 1.1 reads `on` as true
    return set(found) if isinstance(found, dict) else {found}


EVERY = [*WORKFLOWS, ACTION]
STEPS = [pytest.param(step, id=f"{path.stem}-{i}") for path in EVERY for i, step in enumerate(steps_of(path))]
LINES = [
    pytest.param(line, id=line[:60])
    for path in EVERY
    for step in steps_of(path)
    for line in step.get("run", "").splitlines()
    if line.strip()
]


@pytest.mark.parametrize("step", STEPS)
def test_an_action_of_others_is_pinned_to_a_commit(step):
    if "uses" in step:
        assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", step["uses"]), step["uses"]


@pytest.mark.parametrize("step", STEPS)
def test_no_text_of_a_pull_request_becomes_a_part_of_a_command(step):
    assert "${{" not in step.get("run", "")


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_permissions_are_the_least(path):
    document = read(path)
    assert document["permissions"] == {"contents": "read"}
    for name, job in document["jobs"].items():
        more = {key: value for key, value in job.get("permissions", {}).items() if value != "read"}
        assert more in ({}, {"pull-requests": "write"}, {"contents": "write"}), name
        if more.get("contents") == "write":
            assert not triggers(path) & {"pull_request", "pull_request_target"}, "what strangers start pushes nothing"


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_no_secret_is_used_and_no_stranger_runs_with_the_rights_of_the_repository(path):
    text = path.read_text(encoding="utf-8")
    assert "secrets." not in text
    assert "pull_request_target" not in text
    if "self-hosted" in text:
        assert not triggers(path) & {"pull_request"}


def test_the_clone_that_keeps_its_token_is_the_one_that_pushes():
    for path in WORKFLOWS:
        for job in read(path)["jobs"].values():
            for step in job["steps"]:
                if "actions/checkout" in step.get("uses", "") and step["with"].get("persist-credentials", True):
                    assert job["permissions"] == {"contents": "write"}
                    assert step["with"]["path"] == "results-branch"


def test_the_program_that_holds_the_comments_token_is_not_the_pull_requests():
    job = read(ROOT / ".github" / "workflows" / "judgement.yml")["jobs"]["comment"]
    assert job["steps"][0]["with"]["ref"] == "${{ github.event.pull_request.base.sha }}"


@pytest.mark.parametrize("line", LINES)
def test_every_command_exists_and_takes_its_options(line):
    words = [word for word in shlex.split(line) if word not in {"&&", "||"}]
    program, rest = words[0], words[1:]
    if program == "make":
        assert set(rest) <= TARGETS
    elif program in {"python3", ".venv/bin/python", "$PYTHON", "$PLACE/venv/bin/python"}:
        if program.startswith("$"):  # of action.yml, in the folder of somebody's repository
            assert rest.pop(0) == "-P"
        assert rest[0] == "-m"
        if rest[1] in {"venv", "pip"}:
            return
        script = ROOT / "tools" / (rest[1].replace(".", "/") + ".py")
        assert_options(set(re.findall(r'"(--[\w-]+)"', script.read_text())), rest[2:])
    elif program == ".venv/bin/fusebench":
        command = cli.get_command(click.Context(cli), rest[0])
        assert command is not None, f"fusebench has no {rest[0]}"
        assert_options(options_of(rest[0], command), rest[1:])
    else:
        assert program in {"mkdir", "rm", "case", "esac", "never:*)", "failed:2", "failed:*", "*)", ".venv/bin/pip"}


def options_of(name, command):
    found = {option for parameter in command.params for option in parameter.opts}
    if name in PASSED_ON:
        passed_to = importlib.import_module(PASSED_ON[name]).main
        found |= {option for parameter in passed_to.params for option in parameter.opts}
    return found


def assert_options(known, words):
    assert {word.partition("=")[0] for word in words if word.startswith("--")} <= known


def test_the_page_about_it_names_inputs_and_workflows_as_they_are():
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    example = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
    used = example["jobs"]["judge"]["steps"][-1]["with"]
    inputs = read(ACTION)["inputs"]
    assert set(used) <= set(inputs)
    assert {name for name, one in inputs.items() if one.get("required")} <= set(used)
    table = page.split("| input |")[1].split("\n\n")[0]
    assert set(re.findall(r"`([\w-]+)`", "".join(line.split("|")[1] for line in table.splitlines()[2:]))) == set(inputs)
    assert {path.name for path in WORKFLOWS} == set(re.findall(r"^\| `(\w+\.yml)` \|", page, re.MULTILINE))
    assert set(re.findall(r"python -m (ci\.\w+)", page)) <= {
        f"ci.{path.stem}" for path in (ROOT / "tools" / "ci").glob("*.py")
    }
