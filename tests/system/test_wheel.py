"""The wheel, installed in an environment of its own for each extra: what it offers works, what it lacks is named."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
import zipfile
from email.parser import BytesParser
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import fusebench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

FINE, FAILED, WRONG_USAGE = 0, 2, 64
EXTRAS = ("kernels", "bench", "peers", "results", "postgres", "parquet", "dashboard")
ENGINES = ("fleet-slurm", "fleet-ray")
WITH_RESULTS = ("results", "postgres", "parquet", "dashboard")
WITH_KERNELS = ("kernels", "bench", "peers")
MEASURING = ("run", "advise", "article", "ab", "bisect", "noise", "fleet", "doctor")
STORED = [name for name in fusebench.COMMANDS if name not in {*MEASURING, "dashboard"}]
FUSED = """
import torch, fused_mlp
x, w1, b1, w2, b2 = (torch.randn(*size) for size in [(5, 6), (7, 6), (7,), (6, 7), (6,)])
fused = fused_mlp.mlp(x, w1, b1, w2, b2, activation="gelu", implementation="pure")
torch.testing.assert_close(fused, torch.nn.functional.gelu(x @ w1.T + b1) @ w2.T + b2)
"""


@pytest.fixture(scope="module")
def wheel(new_user):
    """Build HEAD's wheel in a clone; its path."""
    shell = new_user("wheel")
    folder = shell.folder / "dist"
    built = shell.run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ".")
    assert built.code == FINE, built.output
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def metadata(wheel):
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        return BytesParser().parsebytes(packed.read(name))


@pytest.fixture(scope="module")
def install(wheel, metadata, tmp_path_factory):
    """Install the wheel with `extra`, or with none, where nothing else is; the environment's `bin`."""
    made = {}

    def environment(extra):
        if extra not in made:
            # Skips, where one of them is not installed here, before anything is made.
            needed = list(needed_with(metadata, extra))
            folder = tmp_path_factory.mktemp(extra or "base")
            made[extra] = folder / "bin"
            python = made[extra] / "python"
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
            pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
            subprocess.run([*pip, wheel], check=True)
            (packages,) = folder.glob("lib/python*/site-packages")
            link_distributions(packages, needed)
        return made[extra]

    return environment


def needed_with(metadata, extra):
    """Return the installed distributions that the wheel with `extra` needs, with what they need themselves."""
    found, seen = {}, set()

    def follow(requirements, extras):
        for requirement in map(Requirement, requirements):
            if requirement.marker and not any(requirement.marker.evaluate({"extra": one}) for one in extras):
                continue
            name, wanted = canonicalize_name(requirement.name), frozenset({"", *requirement.extras})
            if (name, wanted) not in seen:
                seen.add((name, wanted))
                found[name] = distribution_of(name)
                follow(found[name].requires or (), wanted)

    follow(metadata.get_all("Requires-Dist"), {"", extra})
    return found.values()


def distribution_of(name):
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed here")


def link_distributions(packages, distributions):
    """Link the top-level packages and modules of `distributions` into `packages`: installed without copying."""
    for distribution in distributions:
        for name in {path.parts[0] for path in distribution.files} - {"..", "__pycache__"}:
            link = packages / name
            if not link.exists():
                link.symlink_to(distribution.locate_file(name))


@pytest.fixture
def typed(install, tmp_path):
    """Run `fusebench ARGUMENTS…` of the environment with `extra`, in a folder that is no checkout."""

    def run(extra, *arguments, program="fusebench"):
        command = [install(extra) / program, *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=clean(tmp_path), capture_output=True, text=True, check=False, timeout=300
        )

    return run


def clean(home):
    """Return an environment in which nothing points to this checkout or its virtual environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FUSE", "PYTHON", "VIRTUAL"))}
    return {**kept, "HOME": str(home), "PATH": os.defpath}


@pytest.fixture
def measured(tmp_path, journals):
    """Write journals of two commits; return the folder and the commits."""
    before, after = journals.history(2, operations=("mlp",), batches=(1,), hiddens=(256,))
    journals.write_journals(tmp_path / "measured", [before, after])
    return tmp_path / "measured", before.commit, after.commit


def assert_named(done, extra):
    """Assert that a command ended as wrong usage, with the pip command that installs `extra`."""
    assert done.returncode == WRONG_USAGE, done.stdout + done.stderr
    assert f"pip install 'fusebench[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("extra", ["", "kernels"])
@pytest.mark.parametrize("command", STORED)
def test_a_command_that_lacks_the_store_exits_64_with_the_command_that_installs_it(typed, extra, command):
    assert_named(typed(extra, command), "results")


@pytest.mark.parametrize("extra", ["", "kernels", "results"])
def test_the_dashboard_that_lacks_its_extra_exits_64_with_the_command_that_installs_it(typed, extra):
    assert_named(typed(extra, "dashboard"), "dashboard")


@pytest.mark.parametrize("extra", ["", *EXTRAS])
@pytest.mark.parametrize("command", MEASURING)
def test_measuring_without_a_checkout_exits_64_and_says_what_it_needs(typed, extra, command):
    done = typed(extra, command)
    assert done.returncode == WRONG_USAGE, done.stdout + done.stderr
    assert "checkout" in done.stderr
    assert "Traceback" not in done.stderr


def test_noise_of_what_is_stored_needs_no_checkout(typed):
    done = typed("results", "noise", "--from-store")
    assert "checkout" not in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode != FINE, done.stdout


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_help_and_version_need_no_extra(typed, metadata, extra):
    assert typed(extra, "--version").stdout.split()[-1] == metadata["Version"]
    listed = typed(extra, "--help")
    assert listed.returncode == FINE, listed.stderr
    assert all(f"\n  {name} " in listed.stdout for name in fusebench.COMMANDS)


@pytest.mark.parametrize("extra", WITH_RESULTS)
def test_what_is_stored_is_shown_judged_and_exported(typed, measured, extra):
    folder, before, after = measured
    done = typed(extra, "ingest", folder, "--db", "x.db")
    assert done.returncode == FINE, done.stderr
    points = json.loads(typed(extra, "show", "--db", "x.db", "--format", "json").stdout)
    assert {point["commit"] for point in points} == {after}
    exported = typed(extra, "export", "--db", "x.db", "--format", "csv")
    assert exported.returncode == FINE, exported.stderr
    assert len(exported.stdout.splitlines()) == 1 + 2 * len(points)
    for command in (("gate", "--base", before, "--head", after), ("store", "check"), ("store", "info")):
        done = typed(extra, *command, "--db", "x.db")
        assert done.returncode == FINE, done.stdout + done.stderr


@pytest.mark.parametrize("extra", ["results", "parquet"])
def test_parquet_is_written_with_its_extra_and_asked_for_without(typed, measured, tmp_path, extra):
    folder, *_ = measured
    assert typed(extra, "ingest", folder, "--db", "x.db").returncode == FINE
    done = typed(extra, "export", "--db", "x.db", "--output", "points.parquet")
    if extra == "results":
        assert_named(done, "parquet")
        assert not (tmp_path / "points.parquet").exists()
    else:
        assert done.returncode == FINE, done.stderr
        assert (tmp_path / "points.parquet").read_bytes().startswith(b"PAR1")


@pytest.mark.parametrize("extra", ["results", "postgres"])
def test_postgresql_is_asked_with_its_extra_and_asked_for_without(typed, extra):
    done = typed(extra, "show", "--db", "postgresql+psycopg://nobody@127.0.0.1:9/nothing")
    if extra == "results":
        assert_named(done, "postgres")
    else:
        assert done.returncode == FAILED, done.stdout + done.stderr
        assert "127.0.0.1" in done.stderr
        assert "pip install" not in done.stderr


def test_the_dashboard_answers_with_its_extra(install, measured, tmp_path):
    folder, *_ = measured
    command = [install("dashboard") / "fusebench", "dashboard", folder, "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, env=clean(tmp_path), stdout=subprocess.PIPE, text=True) as process:
        try:
            address = re.search(r"http://\S+", process.stdout.readline()).group()
            with urllib.request.urlopen(address, timeout=60) as answer:  # noqa: S310 - our own server
                assert b"fusebench" in answer.read()
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)
    assert process.returncode == FINE


@pytest.mark.parametrize("extra", WITH_KERNELS)
def test_the_kernels_run_with_their_extras(typed, extra):
    done = typed(extra, "-c", FUSED, program="python")
    assert done.returncode == FINE, done.stderr


def test_a_checkout_is_measured_with_the_bench_extra(install, wheel, tmp_path):
    checkout = wheel.parents[1]
    command = [install("bench") / "fusebench", "run", "--help"]
    done = subprocess.run(command, cwd=checkout, env=clean(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == FINE, done.stderr
    assert "--provider" in done.stdout


def test_the_wheel_holds_the_packages_and_nothing_that_was_measured(wheel):
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"fusebench.py", "fused_mlp", "results", "dashboard"}
    assert not [name for name in names if name.startswith("results/data/") or name.endswith((".db", ".jsonl"))]
    assert {f"{package}/py.typed" for package in ("fused_mlp", "results", "dashboard")} <= set(names)


def test_the_metadata_name_the_licence_the_versions_of_python_and_the_types(metadata):
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["Requires-Python"] == ">=3.11"
    classifiers = set(metadata.get_all("Classifier"))
    tested = re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", workflow()).group(1))
    assert {f"Programming Language :: Python :: {version}" for version in tested} <= classifiers
    assert "Typing :: Typed" in classifiers
    assert set(metadata.get_all("Provides-Extra")) == {*EXTRAS, *ENGINES, "dev", "libraries", "models"}


def workflow():
    return (Path(__file__).resolve().parents[2] / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
