"""`fusebench run` before it measures: what it refuses, where it would record, how it ends."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.ruler.errors import InvalidSettings, JournalError
from benchmarks.ruler.plan.settings import ROOT, Settings
from benchmarks.ruler.record.outcome import Visit
from benchmarks.ruler.replay import suite
from benchmarks.ruler.sweep import run as sweep_run
from benchmarks.ruler.sweep.asv_process import AsvEnd, name_machine
from benchmarks.ruler.sweep.lock import machine_lock
from benchmarks.ruler.sweep.run import run_asv
from benchmarks.ruler.sweep.sweep_plan import Recorded
from benchmarks.ruler.worker.process import refuse_unusable_cache
from results.commands.measuring import tower
from results.commands.measuring.run import run
from results.exit_codes import ExitCode


@pytest.fixture
def data_folder(monkeypatch):
    """The folder of record that `fusebench run` hands to the measuring half; None for the checkout's own."""

    def called(*options):
        environs = []
        monkeypatch.setattr(tower, "run_to_end", lambda _, __, environ, **___: environs.append(environ) or 64)
        assert CliRunner().invoke(run, [*options], standalone_mode=False).return_value == 64
        return environs[0].get("FUSEBENCH_DATA")

    monkeypatch.delenv("FUSEBENCH_DATA", raising=False)
    monkeypatch.delenv("FUSEBENCH_UNCOMMITTED", raising=False)
    return called


def test_what_no_commit_holds_is_not_recorded_whether_an_option_or_the_environment_asks_for_it(
    data_folder, monkeypatch
):
    assert data_folder() is None
    assert not Path(data_folder("--uncommitted")).exists()
    monkeypatch.setenv("FUSEBENCH_UNCOMMITTED", "1")
    assert not Path(data_folder()).exists()
    monkeypatch.setenv("FUSEBENCH_DATA", "/data/mine")
    assert data_folder() == "/data/mine"


@pytest.mark.parametrize("named", [None, Path("/data/mine")])
def test_plain_asv_keeps_what_no_commit_holds_out_of_the_checkouts_record(monkeypatch, named):
    settings = Settings(is_uncommitted=True, **({"data_dir": named} if named else {}))
    used = []

    def measured(settings, *, operation):
        assert operation == "mlp"
        used.append(settings.data_dir)
        return Recorded(timings={}, profiles={})

    monkeypatch.setattr(suite, "suite_settings", lambda: settings)
    monkeypatch.setattr(suite, "measure", measured)
    assert suite.record("mlp") == {}
    assert (used == [named]) if named else (used != [Settings().data_dir] and not used[0].exists())


def test_asv_is_given_the_samples_that_the_value_is_from(monkeypatch, timing_line):
    """A disturbed visit that does not count for `fusebench show` does not count for asv, either."""
    visits = tuple(
        Visit(measured_at=str(i), n_samples=1, median_s=float(i), disturbed="someone compiled" if i == 2 else None)
        for i in (1, 2, 3)
    )
    outcome = replace(timing_line.outcome, samples_s=(1.0, 2.0, 3.0), visits=visits)
    key = (timing_line.head.shape, timing_line.head.contender)
    found = Recorded(timings={key: replace(timing_line, outcome=outcome)}, profiles={})
    monkeypatch.setattr(suite, "suite_settings", Settings)
    monkeypatch.setattr(suite, "measure", lambda _, **_options: found)
    (track,) = suite.record(timing_line.head.shape.operation).values()
    assert track.samples_s == (1.0, 3.0)


def test_relative_paths_start_from_the_checkout_in_asvs_own_processes(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FUSEBENCH_DATA", "mine")
    monkeypatch.setenv("FUSEBENCH_AXES", "my.toml")
    settings = suite.suite_settings.__wrapped__()
    assert (settings.data_dir, settings.axes) == (ROOT / "mine", str(ROOT / "my.toml"))
    assert Path.cwd() == tmp_path


def test_a_folder_of_record_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    sweep = type("Planned", (), {"plan": type("Plan", (), {"run": None})})
    with pytest.raises(JournalError, match=f"{tmp_path}/file/data: cannot be written"):
        run_asv(None, Settings(data_dir=tmp_path / "file" / "data"), sweep, None)


def test_a_reader_that_leaves_ends_the_run_like_a_signal_and_not_as_a_regression():
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "benchmarks.ruler.sweep.run", "--axes", "nope"]
    ended = subprocess.run(command, cwd=ROOT, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (128 + signal.SIGPIPE, b"")


def test_an_option_without_its_value_is_named():
    ended = _fusebench("run", "--axes")
    assert ended.returncode == 64
    assert "Option '--axes' requires an argument" in ended.stderr


def test_a_module_that_showing_needs_is_asked_for_before_anything_is_measured():
    ended = _fusebench("run", "--axes", "nope", without="msgspec")
    assert ended.returncode == 64
    assert "needs msgspec" in ended.stderr
    assert "no axes" not in ended.stdout


def test_a_provider_module_that_is_being_tried_ends_with_the_run(tmp_path):
    module, pid_file = tmp_path / "slow.py", tmp_path / "pid"
    module.write_text(
        f"import os, time\nopen({str(pid_file)!r}, 'w').write(str(os.getpid()) + '.')\n"
        "time.sleep(120)\nPROVIDERS = {'a': 1}\n"
    )
    code = "import sys, pathlib, benchmarks.ruler.plan.plugins as p; p.refuse_broken_module(pathlib.Path(sys.argv[1]))"
    trying = subprocess.Popen([sys.executable, "-c", code, str(module)], cwd=ROOT)
    _wait_until(lambda: pid_file.exists() and pid_file.read_text().endswith("."))
    trying.kill()
    trying.wait()
    tried = Path("/proc") / pid_file.read_text().rstrip(".")
    _wait_until(lambda: not tried.exists() or (tried / "stat").read_text().rpartition(")")[2].split()[0] == "Z")


def _fusebench(*arguments, without=None):
    code = f"import sys; sys.modules[{without!r}] = None; import fusebench; fusebench.main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def _wait_until(is_true):
    deadline = time.monotonic() + 120
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_signal_while_the_run_is_still_being_imported_is_answered_without_a_traceback(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "if 'benchmarks.ruler.sweep.run' in sys.orig_argv: os.kill(os.getpid(), signal.SIGINT)\n"
    )
    command = [sys.executable, "-m", "fusebench", "run", "--axes", "nope"]
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    ended = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "")
    assert "Interrupted (SIGINT)" in ended.stdout


ASV_WITH_A_HELPER = """
import pathlib, subprocess, sys
if "run" in sys.argv:
    helper = subprocess.Popen(["sleep", "300"], start_new_session=True)
    pathlib.Path(__file__).with_name("helper").write_text(str(helper.pid))
"""
RUN_IT = """
import pathlib, sys
from benchmarks.ruler.plan.settings import Settings
from benchmarks.ruler.sweep.asv_process import asv_run
folder = pathlib.Path(sys.argv[1])
with asv_run(Settings(data_dir=folder), machine="m", commit="c0ffee", log=folder / "log") as process:
    process.wait()
"""


def test_what_asv_leaves_behind_when_it_is_ended_does_not_outlive_the_run(tmp_path):
    (tmp_path / "asv.py").write_text(ASV_WITH_A_HELPER)
    environ = {**os.environ, "PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", RUN_IT, str(tmp_path)], cwd=ROOT, env=environ, check=True, timeout=60)
    assert not (Path("/proc") / (tmp_path / "helper").read_text()).exists()


def test_users_of_one_machine_share_its_lock():
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        path = folder / "lock"
        path.touch()
        path.chmod(0o444)
        pid = os.fork()
        if not pid:
            code = 1
            try:
                if os.getuid() == 0:
                    os.setuid(65534)
                with machine_lock(path, say=print, waits=False):
                    code = 0
            finally:
                os._exit(code)
        assert os.waitpid(pid, 0)[1] == 0
    finally:
        shutil.rmtree(folder)


def test_the_lock_is_the_same_whatever_the_temporary_folder(tmp_path):
    script = "from benchmarks.ruler.plan.settings import settings_from_environment as s; print(s().lock_file)"
    others = {name: value for name, value in os.environ.items() if name != "FUSEBENCH_LOCK_FILE"}
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**others, "TMPDIR": str(folder)},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for folder in (tmp_path, "/tmp", "/var/tmp")  # noqa: S108 - names only
    }
    assert len(found) == 1


def test_a_lock_that_is_a_link_is_refused_and_what_it_names_kept(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "lock").symlink_to(precious)
    with pytest.raises(InvalidSettings, match=r"it is a link.*FUSEBENCH_LOCK_FILE"):
        machine_lock(tmp_path / "lock", say=print).__enter__()
    assert precious.read_text() == "mine"


def test_a_lock_in_a_folder_that_is_not_there_is_named(tmp_path):
    path = tmp_path / "nowhere" / "lock"
    with pytest.raises(InvalidSettings, match=f"{path}: cannot be"), machine_lock(path, say=print):
        pass


@pytest.mark.parametrize(
    ("option", "why"),
    [("--operation", "no point has"), ("--batch", "no point has"), ("--axes", "empty"), ("--provider-module", "empty")],
)
def test_an_empty_value_is_refused_and_does_not_measure_everything(option, why):
    command = [sys.executable, "-m", "benchmarks.ruler.sweep.run", "--uncommitted", option, ""]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == ExitCode.WRONG_USAGE
    assert why in done.stdout + done.stderr


def test_a_heading_is_printed_once_the_options_are_right_and_not_before(monkeypatch, tmp_path):
    def stop(*_):
        raise InvalidSettings("stopped before measuring")

    monkeypatch.setattr("benchmarks.ruler.sweep.run.announce", stop)
    monkeypatch.setenv("FUSEBENCH_DATA", str(tmp_path))
    asked = ["--directly", "noise", "--uncommitted", "--heading", "Round 1 of 5"]
    for operation, is_printed in (("mlp", True), ("no-such-operation", False)):
        said = CliRunner().invoke(sweep_run.main, [*asked, "--operation", operation])
        assert said.exit_code == ExitCode.WRONG_USAGE
        assert ("Round 1 of 5" in said.output) is is_printed
        assert ("stopped before measuring" in said.output) is is_printed


def test_a_home_that_asv_cannot_write_is_told_with_what_to_do(monkeypatch, tmp_path):
    home = tmp_path / "home"
    home.touch()
    monkeypatch.setenv("HOME", str(home))
    with (tmp_path / "log").open("wb") as log, pytest.raises(InvalidSettings, match=f"{home}/.*; set HOME to a folder"):
        name_machine("box", output=log.fileno())


def test_a_cache_of_the_compiler_that_cannot_be_made_is_refused_and_blamed_on_no_contender(tmp_path):
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "x"
    command = [sys.executable, "-m", "benchmarks.ruler.sweep.run", "--uncommitted"]
    environ = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(folder), "FUSEBENCH_DATA": str(tmp_path / "data")}
    ended = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert f"TORCHINDUCTOR_CACHE_DIR={folder}: cannot be made (Not a directory)" in ended.stdout
    assert ended.returncode == ExitCode.WRONG_USAGE
    refuse_unusable_cache({"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "new")})
    refuse_unusable_cache({})


def test_a_run_of_which_nothing_was_recorded_chooses_nothing_to_show(monkeypatch, tmp_path, lock):
    log, selection = tmp_path / "log", tmp_path / "selection.json"
    log.write_text("Error: asv fell over\n")
    monkeypatch.setattr(sweep_run, "run_asv", lambda _, __, sweep, ___: (sweep, AsvEnd(status=1, log=log)))
    environ = {"FUSEBENCH_DATA": str(tmp_path / "data"), "FUSEBENCH_LOCK_FILE": str(lock), "FUSEBENCH_DEVICE": "cpu"}
    done = CliRunner().invoke(sweep_run.main, ["--uncommitted", "--selection", str(selection)], env=environ)
    assert done.exit_code == ExitCode.FAILED
    assert "asv fell over" in done.output
    assert not selection.exists()
