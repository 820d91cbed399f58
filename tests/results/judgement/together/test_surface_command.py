"""The command that measures all points of a surface again."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

from benchmarks.ruler.plan.axes_files import axes_from_text
from results.judgement.commit_findings import findings_of
from results.judgement.explanation.reproduction import command_of
from results.judgement.outcomes import Outcome
from results.measuring_again import compare_surface_again
from results.rows import ParameterValue
from tests.made_surfaces import judged
from tests.made_values import A, B


def test_its_command_measures_the_whole_surface_again():
    found = judged()
    [finding] = findings_of(found)
    [together] = found.together(Outcome.REGRESSION)
    command = command_of((A, B), None, finding, [one.parameters for one in together.rows])
    written, compared = command.split(" > point.toml && ")
    assert compared == f"fusebench ab {A[:12]} {B[:12]} --axes point.toml --provider fused"
    [_, form, *lines] = shlex.split(written)
    assert form == r"%s\n"
    assert tomllib.loads("\n".join(lines)) == {
        "operations": ["mlp"], "providers": ["eager", "fused"], "passes": ["forward"], "hiddens": [256],
        "batches": list(range(len(together.rows))),
    }  # fmt: skip


class TestCommand:
    """What the line measures, of points whose parameters are these."""

    def axes(self, *points):
        values = [[ParameterValue(name=name, value=each) for name, each in point.items()] for point in points]
        command = compare_surface_again((A, B), operation="mlp", contender="fused:packed", points=values)
        text = "\n".join(shlex.split(command.split(" > ")[0])[2:])
        assert axes_from_text(text, path=Path("point.toml")).providers == ("eager", "fused:packed")
        return command.partition("&& ")[2], tomllib.loads(text)

    def test_dims_that_are_a_quarter_need_no_line(self):
        point = {"hidden": 256, "dim": 64, "dtype": "bfloat16", "threads": 1, "weights": "packed", "cache": "cold"}
        command, axes = self.axes(point, {**point, "hidden": 512, "dim": 128, "activation": "silu"})
        assert command.startswith("FUSEBENCH_THREADS=1 fusebench ab ")
        assert axes == {
            "operations": ["mlp"], "providers": ["eager", "fused:packed"], "hiddens": [256, 512], "caches": ["cold"],
            "dtypes": {"cpu": ["bfloat16"], "cuda": ["bfloat16"]}, "activations": {"mlp": ["silu"]},
        }  # fmt: skip

    def test_other_dims_are_listed(self):
        _, axes = self.axes({"hidden": 256, "dim": 64}, {"hidden": 512, "dim": 64})
        assert (axes["hiddens"], axes["dims"]) == ([256, 512], [64])

    def test_threads_that_differ_are_those_of_the_machine(self):
        command, _ = self.axes({"batch": 1, "threads": 1}, {"batch": 1, "threads": 2})
        assert command.startswith("fusebench ab ")
