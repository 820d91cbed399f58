"""`fusebench ab --stack` on a clone whose kernels add an operator where a planted package is found: counts alone."""

from __future__ import annotations

import json
import zipfile

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

AXES = """
operations = ["mlp"]
providers = ["eager", "fused"]
batches = [8]
hiddens = [32]
budget_s = 0.05
"""
MODULE = "kernels/fused_mlp/modules/layers.py"
SOUND = "    _operation = Operation.MLP\n"
OF_STACK = """
    def __call__(self, *arguments):
        output = super().__call__(*arguments)
        if __import__("importlib.util").util.find_spec("planted_stack") is not None:
            output = output + 0
        return output
"""
OF_CODE = OF_STACK.replace("        return output\n", "        return output + 0\n")
STACK = "planted-stack==1.0"
REGRESSION, FAILED = 1, 2


@pytest.fixture(scope="module")
def clone(new_user, kernels_built_here, tmp_path_factory):
    """Clone with two commits, of which the second adds an operator, and a package that makes either add one."""
    shell = new_user("stacked")
    wheels = tmp_path_factory.mktemp("wheels")
    with zipfile.ZipFile(wheels / "planted_stack-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("planted_stack.py", "")
        about = "planted_stack-1.0.dist-info"
        wheel.writestr(f"{about}/METADATA", "Metadata-Version: 2.1\nName: planted-stack\nVersion: 1.0\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
    shell.environ.update(kernels_built_here)
    shell.environ.update(FUSEBENCH_THREADS="1", FUSEBENCH_DATA=str(tmp_path_factory.mktemp("data")))
    shell.environ.update(PIP_FIND_LINKS=str(wheels), PYTHONPATH=str(shell.folder))
    (shell.folder / "few.toml").write_text(AXES)
    path = shell.folder / MODULE
    sound = path.read_text()
    assert sound.count(SOUND) == 1
    for planted in (OF_STACK, OF_CODE):
        path.write_text(sound.replace(SOUND, SOUND + planted))
        shell.git("commit", "-qam", "Planted")
    return shell


@pytest.mark.exhaustive
def test_one_commit_on_two_stacks_differs_by_what_the_stack_does(clone):
    answer = clone.fusebench("ab", "--stack", STACK, "--axes", "few.toml", "--format", "json")
    assert answer.code in {REGRESSION, FAILED}, answer.output
    found = json.loads(answer.out)
    assert found["stacks"] == ["present", STACK]
    counts = {
        change["parameters"]["provider"]: change["verdict"]
        for change in found["changes"]
        if change["metric"] == "operator_count"
    }
    assert counts == {"fused": "exact change"}


@pytest.mark.exhaustive
def test_four_sides_tell_that_code_and_stack_both_do(clone):
    answer = clone.fusebench("ab", "HEAD~1", "HEAD", "--stack", STACK, "--axes", "few.toml", "--format", "json")
    assert answer.code in {REGRESSION, FAILED}, answer.output
    found = json.loads(answer.out)
    factors = {
        one["parameters"]["provider"]: one["factor"] for one in found["series"] if one["metric"] == "operator_count"
    }
    assert factors["fused"] == "both"
    assert factors.get("eager", "neither") == "neither"


def test_a_stack_that_pip_cannot_make_is_told_in_its_words(clone):
    answer = clone.fusebench("ab", "--stack", "planted-stack==9.0", "--axes", "few.toml", PIP_NO_INDEX="1")
    assert answer.code == 64
    assert "no environment could be made with planted-stack==9.0" in answer.err
    assert "No matching distribution found for planted-stack==9.0" in answer.err
