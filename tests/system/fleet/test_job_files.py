"""The job files of docs/fleet.md: what their own tools accept, and whose commands take every shard exactly once."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

PAGE = Path(__file__).resolve().parents[3] / "docs" / "fleet.md"
N_SHARDS = 10


def job_file(heading):
    """Return the YAML that follows `heading` in the page."""
    section = PAGE.read_text(encoding="utf-8").split(f"### {heading}\n", maxsplit=1)[1]
    return re.search(r"```yaml\n(.*?)```", section, re.DOTALL)[1]


@pytest.fixture
def shared(tmp_path):
    """A folder /shared with shards, and a fusebench that writes down the shard it was asked to work on."""
    (tmp_path / "sweep" / "shards").mkdir(parents=True)
    for number in range(1, N_SHARDS + 1):
        (tmp_path / "sweep" / "shards" / f"{number:04d}.json").touch()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for name in ("fusebench", "python"):
        (tmp_path / ".venv" / "bin" / name).write_text(
            f'#!/bin/sh\n[ "$1 $2" = "fleet work" ] && test -f "$3" && basename "$3" >> {tmp_path}/worked\ntrue\n'
        )
        (tmp_path / ".venv" / "bin" / name).chmod(0o755)
    return tmp_path


def worked(folder, script, **variables):
    subprocess.run(["sh", "-euc", script], cwd=folder, env={**os.environ, **variables}, check=True)


def test_each_pod_takes_the_shard_of_its_index(shared):
    [container] = yaml.safe_load(job_file("Kubernetes"))["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["sh", "-c"]
    [script] = container["args"]
    for index in range(N_SHARDS):
        worked(shared, script.replace("/shared/", f"{shared}/"), JOB_COMPLETION_INDEX=str(index))
    assert (shared / "worked").read_text().split() == [f"{number:04d}.json" for number in range(1, N_SHARDS + 1)]


def test_each_node_takes_every_nth_shard(shared):
    task = yaml.safe_load(job_file("SkyPilot"))
    n_nodes = task["num_nodes"]
    script = task["run"].replace("/shared/", f"{shared}/sweep/")
    for rank in range(n_nodes):
        worked(shared, script, SKYPILOT_NUM_NODES=str(n_nodes), SKYPILOT_NODE_RANK=str(rank))
    found = (shared / "worked").read_text().split()
    assert sorted(found) == [f"{number:04d}.json" for number in range(1, N_SHARDS + 1)]


def test_kubernetes_own_schema_takes_the_job():
    kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="installed by make fleet-test")
    kubernetes_validate.validate(yaml.safe_load(job_file("Kubernetes")), "1.33", strict=True)


def test_skypilot_takes_the_task(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))  # it writes there when it is imported
    monkeypatch.setenv("SKYPILOT_DISABLE_USAGE_COLLECTION", "1")
    sky = pytest.importorskip("sky", reason="SkyPilot is not installed")
    task = sky.Task.from_yaml_config(yaml.safe_load(job_file("SkyPilot")))
    assert task.num_nodes == 4
    assert set(task.storage_mounts) == {"/shared"}
