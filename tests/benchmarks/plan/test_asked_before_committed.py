"""What is asked wrongly is told before a checkout that differs from its commit."""

import pytest
from click.testing import CliRunner

from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.record import provenance
from benchmarks.ruler.sweep import run as sweep_run


@pytest.fixture
def told(monkeypatch, tmp_path):
    """Run the command in a checkout with a changed kernel; return what it says."""
    monkeypatch.setattr(provenance, "is_editable", lambda: True)
    monkeypatch.setattr(provenance, "uncommitted_files", lambda: ["kernels/fused_mlp/ops.py"])
    monkeypatch.chdir(tmp_path)

    def run(*options):
        environ = {"FUSEBENCH_DATA": str(tmp_path / "data"), "FUSEBENCH_DEVICE": "cpu"}
        said = CliRunner().invoke(sweep_run.main, options, env=environ)
        assert said.exit_code == ExitCode.WRONG_USAGE
        return said.output

    return run


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--operation", "mpl"), "did you mean mlp?"),
        (("--provider", "fusde"), "did you mean fused?"),
        (("--dtype", "float46"), "no point has dtype 'float46'"),
        (("--batch", "17"), "no point has batch '17'"),
        (("--axes", "quikc"), "quikc"),
        (("--axes", "nowhere.toml"), "nowhere.toml"),
        (("--directly", "noise", "--pass", "backward"), "no point has pass 'backward'"),
        (("--provider-module", "nowhere.py"), "nowhere.py"),
    ],
)
def test_a_misspelt_option_is_told_first(told, options, why):
    said = told(*options)
    assert why in said
    assert "differs from HEAD" not in said


def test_values_that_no_point_has_together_are_told_first(told, tmp_path):
    path = tmp_path / "two.toml"
    path.write_text('operations = ["linear"]\nproviders = ["eager"]\nbatches = [16]\nhiddens = [256]\n')
    assert "differs from HEAD" in told("--axes", str(path), "--batch", "16")
    assert "differs from HEAD" not in told("--axes", str(path), "--batch", "17")


def test_what_is_asked_rightly_is_told_of_the_checkout(told):
    assert "kernels/fused_mlp/ops.py differs from HEAD" in told("--operation", "mlp")
