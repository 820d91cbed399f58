"""The scripts of a rented machine on one that is made up: what they look at, install and call."""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.made_repositories import git

ROOT = Path(__file__).parents[3]
# Stands for the machine's Python: says which version it is, notes how it was called, and unpacks wheels.
PYTHON = """#!/bin/bash
case "$*" in
*version_info*) echo {version} ;;
*"import pip"*) exit {without_pip} ;;
"-m pip"*) mkdir -p device/site ;;
"-m zipfile"*) exec {real} "$@" ;;
*) echo "$FUSEBENCH_MACHINE $*" >>{log}; echo "$PYTHONPATH" >{log}.path ;;
esac
"""


class Rented:
    """A machine with a bundle, in a folder of its own."""

    def __init__(self, folder):
        self.root, self.log = folder / "root", folder / "log"
        self.device, self.programs = self.root / "device", folder / "bin"
        for each in (self.device / "bundle" / "wheels", self.root / "kernels", self.programs):
            each.mkdir(parents=True)
        for script in (ROOT / "device").glob("*.sh"):
            shutil.copy(script, self.device)
        (self.root / "kernels" / "a.py").write_text("a = 1\n")
        digest = hashlib.sha256(b"a = 1\n").hexdigest()
        for name, text in {
            "COMMIT": f"{'c' * 40}\n",
            "PYTHON": "3.12\n",
            "requirements.txt": "asv\n",
            "files.sha256": f"{digest}  kernels/a.py\n",
        }.items():
            (self.device / "bundle" / name).write_text(text)
        with zipfile.ZipFile(self.device / "bundle" / "wheels" / "asv-1-py3-none-any.whl", "w") as wheel:
            wheel.writestr("asv.py", "")
        self.has("python3")

    def has(self, name, script=None, *, version="3.12", has_pip=True):
        """Give the machine a program: by default the Python."""
        path = self.programs / name
        written = PYTHON.format(
            version=version, without_pip=int(not has_pip), real=shlex.quote(sys.executable), log=self.log
        )
        path.write_text(written if script is None else f"#!/bin/bash\n{script}\n")
        path.chmod(0o755)

    def call(self, number=1, **environ):
        """Run a call; return how it ended and what it called."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("FUSEBENCH_")}
        done = subprocess.run(
            ["bash", f"device/call-{number}.sh"],
            cwd=self.root,
            env={**kept, "PATH": f"{self.programs}:{os.environ['PATH']}", **environ},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return done, [line for line in lines if "benchmarks.ruler.campaign" in line]


@pytest.fixture
def rented(tmp_path):
    return Rented(tmp_path)


@pytest.mark.parametrize(
    ("gpu", "machine"),
    [
        ("NVIDIA H100 80GB HBM3, Disabled", "h100"),
        ("NVIDIA H200, Disabled", "h200"),
        ("NVIDIA H100 PCIe, Disabled", "h100-pcie"),
        ("NVIDIA H200 NVL, Disabled", "h200-nvl"),
        ("NVIDIA GH200 480GB, Disabled", "gh200-480gb"),
        ("NVIDIA H100 80GB HBM3, Enabled", "h100-mig"),
        ("NVIDIA L4, [N/A]", "l4"),
    ],
)
def test_gpus_whose_times_differ_are_machines_of_their_own(rented, gpu, machine):
    rented.has("nvidia-smi", f"echo '{gpu}'")
    done, called = rented.call()
    assert done.returncode == 0, done.stderr
    assert called[-1].startswith(f"{machine} -u -m benchmarks.ruler.campaign call-1 --began ")
    assert called[-1].endswith("--device cuda")


@pytest.mark.parametrize("script", ["exit 9", "sleep 60"])
def test_a_driver_that_fails_or_hangs_ends_the_call_with_what_to_say(rented, script):
    rented.has("nvidia-smi", script)
    rented.has("timeout", 'shift; [ "$(tail -n 1 "$(command -v "$1")")" = "sleep 60" ] && exit 124; exec "$@"')
    done, called = rented.call()
    assert done.returncode == 64
    assert "say FUSEBENCH_MACHINE=<name>" in done.stderr
    assert called == []


def test_another_python_than_the_bundles_is_named_with_the_mend(rented):
    rented.has("python3", version="3.11")
    done, called = rented.call(FUSEBENCH_MACHINE="h100")
    assert done.returncode == 64
    assert "make gpu-half-hour BUNDLE_PYTHON=3.11" in done.stderr
    assert called == []


def test_a_python_without_pip_gets_the_wheels_all_the_same(rented):
    rented.has("python3", has_pip=False)
    assert rented.call(FUSEBENCH_MACHINE="h100")[0].returncode == 0
    assert (rented.device / "site" / "asv.py").exists()


def test_files_that_are_not_the_commits_are_refused(rented):
    (rented.root / "kernels" / "a.py").write_text("a = 2\n")
    done, called = rented.call(FUSEBENCH_MACHINE="h100")
    assert (done.returncode, called) == (64, [])
    assert "differ from commit cccc" in done.stderr


def test_an_archive_is_unpacked_once_and_again_if_that_was_killed(rented):
    state = rented.root / "results" / "data" / "local" / "campaign" / "cuda"
    (rented.device / "archive").mkdir()
    (rented.device / "archive" / "one.tar.gz").write_bytes(b"")
    # What a kill left behind: a folder, and not all of it.
    state.mkdir(parents=True)
    for _ in range(2):
        _, called = rented.call(FUSEBENCH_MACHINE="h100")
    assert [line.split()[4] for line in called] == ["unpack", "call-1", "call-1"]


def test_archive_and_table_go_to_out_wherever_it_is_relative_to(rented):
    _, called = rented.call(3, FUSEBENCH_MACHINE="h100", OUT="there", FUSEBENCH_MINUTES="2")
    assert f"--minutes 2 --copy-to {rented.root / 'there'} --device cuda" in called[-1]
    assert (rented.root / "there").is_dir()


def test_the_kernels_that_were_carried_are_measured_whatever_is_installed(rented):
    rented.call(FUSEBENCH_MACHINE="h100", PYTHONPATH="/theirs")
    found = rented.log.with_name("log.path").read_text().strip()
    assert found == f"{rented.root / 'kernels'}:{rented.device / 'site'}:/theirs"


def test_where_there_is_git_the_commit_itself_is_measured_whatever_history_was_carried(rented, tmp_path):
    origin = tmp_path / "origin"
    shutil.copytree(rented.root / "kernels", origin / "kernels")
    for folder in (origin, rented.root):
        git(folder.parent, "init", "-q", str(folder))
        git(folder, "add", "kernels")
        git(folder, "commit", "-qm", f"in {folder.name}")
    commit = git(origin, "rev-parse", "HEAD")
    (rented.device / "bundle" / "COMMIT").write_text(f"{commit}\n")
    git(origin, "bundle", "create", "-q", str(rented.device / "bundle" / "fusebench.bundle"), "HEAD", "--branches")
    assert git(rented.root, "rev-parse", "HEAD") != commit
    checkout = rented.device / "checkout"
    for _ in range(2):
        done, _ = rented.call(FUSEBENCH_MACHINE="h100")
        assert (done.returncode, done.stderr) == (0, "")
        assert rented.log.with_name("log.path").read_text().startswith(f"{checkout / 'kernels'}:")
        assert git(checkout, "rev-parse", "HEAD") == commit
        (checkout / "kept").touch()
    assert (checkout / "kept").exists()


def test_where_no_checkout_can_be_made_the_files_are_measured_as_they_were_carried(rented):
    done, called = rented.call(FUSEBENCH_MACHINE="h100")
    assert done.returncode == 0
    assert "no checkout of cccc" in done.stderr
    assert len(called) == 1


def test_each_call_has_what_launches_kernels_compiled_beside_it(rented):
    for number in (1, 2, 3):
        rented.call(number, FUSEBENCH_MACHINE="h100")
    assert rented.log.read_text().count("ensure_calls_built()") == 3
