"""What asv is started with: its configuration for a folder of record of its own, the machine's name, the kernels."""

import json

from benchmarks.ruler.plan.settings import ROOT, Settings
from benchmarks.ruler.record.provenance import is_editable, machine_name
from benchmarks.ruler.sweep import asv_process
from benchmarks.ruler.sweep.asv_process import asv_configuration, asv_run, name_machine


def test_a_folder_of_its_own_has_asv_build_commits_with_the_files_of_the_checkout(tmp_path):
    # In the configuration that asv reads, {conf_dir} is the folder it lies in, which has no constraints.txt.
    values = json.loads(asv_configuration(tmp_path).read_text())
    assert f" {ROOT}/constraints.txt " in values["install_command"][0]
    assert "{conf_dir}" not in json.dumps(values)
    assert "{wheel_file}" in values["install_command"][0]


def test_asv_finds_the_kernels_that_this_process_does_whatever_folder_it_runs_in(tmp_path, monkeypatch):
    started = {}

    class Started:
        def __init__(self, _, *, env, **__):
            started.update(env)

        def poll(self):
            return 0

    monkeypatch.setenv("PYTHONPATH", "kernels:.")
    monkeypatch.setenv("ASV_PYTHONPATH", "/of/the/user")
    monkeypatch.setattr(asv_process.subprocess, "Popen", Started)
    for without in ("name_machine", "adopt_orphans", "end_children"):
        monkeypatch.setattr(asv_process, without, lambda *_, **__: None)
    with asv_run(Settings(data_dir=tmp_path), machine="m", commit=40 * "0", log=tmp_path / "log"):
        pass
    assert str(ROOT) in started["ASV_PYTHONPATH"].split(":")
    assert started["ASV_PYTHONPATH"].endswith(":/of/the/user")
    assert (str(ROOT / "kernels") in started["ASV_PYTHONPATH"].split(":")) is is_editable()


def test_a_name_for_one_run_does_not_become_every_later_runs(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    usual = machine_name(Settings())
    with (tmp_path / "log").open("wb") as log:
        name_machine("scratch", output=log.fileno())
    assert set(json.loads((tmp_path / ".asv-machine.json").read_text())) == {"version", "scratch", usual}
    assert machine_name(Settings()) == usual
    assert machine_name(Settings(machine="scratch")) == "scratch"
