"""Files that run the dashboard for others: each is well-formed, and its own command line starts a healthy dashboard."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "deploy" / "fusebench-dashboard.service"
CONTAINER = (ROOT / "deploy" / "Containerfile").read_text()


def unit():
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str
    parser.read_string(UNIT.read_text())
    return parser["Service"]


def command_of_the_container():
    return json.loads(re.search(r"^CMD (\[.*\])$", CONTAINER, re.MULTILINE)[1])


def command_of_the_unit(tmp_path):
    words = shlex.split(unit()["ExecStart"])
    return [words[0].rpartition("/")[2], *(word.replace("/var/log/fusebench", str(tmp_path)) for word in words[1:])]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return str(probe.getsockname()[1])


def health(port, process):
    for _ in range(1200):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
                return json.load(answer)
        except (urllib.error.URLError, ConnectionError):
            assert process.poll() is None
            time.sleep(0.1)
    raise AssertionError("no answer in 2 min")


def test_decisions_are_written_where_the_service_may_write():
    assert "--decisions /var/lib/fusebench/" in unit()["ExecStart"]
    command = command_of_the_container()
    assert command[command.index("--decisions") + 1].startswith("/data/")


@pytest.mark.parametrize("kind", ["unit", "container"])
def test_its_command_line_starts_a_healthy_dashboard(kind, tmp_path, journals):
    command = command_of_the_unit(tmp_path) if kind == "unit" else command_of_the_container()
    assert command.pop(0) == "fusebench"
    port = free_port()
    command[command.index("--port") + 1] = port
    journals.write_journals(tmp_path / "data", journals.history(2))
    environment = {**os.environ, "FUSEBENCH_DB": str(tmp_path / "shown.db")}
    main = [sys.executable, str(ROOT / "fusebench.py")]
    subprocess.run([*main, "ingest", str(tmp_path / "data")], env=environment, check=True, capture_output=True)
    with subprocess.Popen([*main, *command], env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert health(port, process) == {"status": "ok", "store": "filled"}
        finally:
            process.send_signal(signal.SIGTERM)
        warned = process.stderr.read()
    assert process.returncode == 0
    assert ("FUSEBENCH_DASHBOARD_PASSWORD" in warned) == (kind == "container")  # it listens beyond loopback
    assert kind == "container" or (tmp_path / "dashboard.log").exists()


def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd-analyze here")
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/opt/fusebench/bin/fusebench", sys.executable))
    done = subprocess.run([analyze, "verify", "--man=no", str(copy)], capture_output=True, text=True, check=False)
    if "Failed to connect" in done.stderr or "Failed to initialize manager" in done.stderr:
        pytest.skip(f"systemd-analyze does not work here: {done.stderr.strip()}")
    assert UNIT.name not in done.stderr
    assert done.returncode == 0, done.stderr


def test_the_unit_keeps_the_dashboard_near_and_small():
    service = unit()
    assert "--host 127.0.0.1" in service["ExecStart"]
    assert service["DynamicUser"] == "yes"
    assert service["ProtectSystem"] == "strict"


def test_the_container_copies_what_exists_and_all_that_the_wheel_needs():
    copied = [
        name for line in re.findall(r"^COPY (?!--from)(.*) \S+$", CONTAINER, re.MULTILINE) for name in line.split()
    ]
    assert [name for name in copied if not (ROOT / name).exists()] == []
    project = (ROOT / "pyproject.toml").read_text()
    needed = re.search(r"^only-include = \[(.*)\]$", project, re.MULTILINE)[1]
    assert {name.strip('" ').split("/")[0] for name in needed.split(",")} <= set(copied)


def test_the_container_does_not_run_as_root():
    instructions = re.findall(r"^([A-Z]+) ", CONTAINER, re.MULTILINE)
    assert instructions.index("USER") < instructions.index("CMD")
    assert set(instructions) <= {
        "FROM",
        "WORKDIR",
        "COPY",
        "RUN",
        "USER",
        "VOLUME",
        "ENV",
        "EXPOSE",
        "HEALTHCHECK",
        "CMD",
    }
