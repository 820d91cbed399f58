"""asv's configuration for a folder of record of its own."""

import json

from benchmarks.ruler.plan.settings import ROOT
from benchmarks.ruler.sweep.asv_process import asv_configuration


def test_a_folder_of_its_own_has_asv_build_commits_with_the_files_of_the_checkout(tmp_path):
    # In the configuration that asv reads, {conf_dir} is the folder it lies in, which has no constraints.txt.
    values = json.loads(asv_configuration(tmp_path).read_text())
    assert f" {ROOT}/constraints.txt " in values["install_command"][0]
    assert "{conf_dir}" not in json.dumps(values)
    assert "{wheel_file}" in values["install_command"][0]
