"""Providers from outside."""

import re
import sys
import textwrap
from dataclasses import replace

import pytest
import torch

from benchmarks.ruler.errors import InvalidProviderModule
from benchmarks.ruler.expectation.declarations import OURS
from benchmarks.ruler.plan.axes_files import axes_from_settings
from benchmarks.ruler.plan.plugins import (
    expectations_in_module,
    names_in_module,
    refuse_broken_module,
    refuse_taken_names,
)
from benchmarks.ruler.plan.points import Contender, Operation, Weights
from benchmarks.ruler.plan.settings import Settings
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.built import Unavailable
from benchmarks.ruler.providers.workload import error_rel, tolerance, workload


@pytest.fixture
def readme_example(request, tmp_path):
    """The file that README tells a user to write."""
    readme = (request.config.rootpath / "README.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(# my_kernel.py\n.*?)```", readme, flags=re.DOTALL)
    path = tmp_path / "my_kernel.py"
    path.write_text(example)
    return path


def test_the_example_of_the_readme_is_a_provider_and_right(readme_example, shape):
    assert axes_from_settings(Settings(provider_module=readme_example)).providers == (
        "eager",
        "compiled",
        "fused",
        "addmm",
    )
    linear = workload(replace(shape, operation=Operation.LINEAR, activation=None), device=torch.device("cpu"))
    with torch.inference_mode():
        built = providers.build(Contender(provider="addmm"), linear, module=readme_example)
        assert error_rel(linear.answer(built.function), linear.reference()) <= tolerance(linear.shape)


def test_a_provider_that_answers_with_words_is_unavailable_for_that_reason(readme_example, shape):
    load = workload(shape, device=torch.device("cpu"))
    built = providers.build(Contender(provider="addmm"), load, module=readme_example)
    assert built == Unavailable("only the bare linear is implemented")


def test_names_are_read_without_running_the_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("raise RuntimeError\nPROVIDERS = {'a': None, 'b': None}\n")
    assert names_in_module(path) == ("a", "b")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x = 1", "holds no PROVIDERS"),
        ("PROVIDERS = dict(a=1)", "names written out"),
        ("PROVIDERS = {}", "holds no PROVIDERS"),
        ("PROVIDERS = {1: None}", "names written out"),
        ("def (", "cannot be read as Python"),
        ("PROVIDERS = {'mine:packed': None}", "'mine:packed' in PROVIDERS holds a colon"),
        ("PROVIDERS = {'a,b': None}", "'a,b' in PROVIDERS holds a colon, a comma"),
    ],
)
def test_a_module_without_providers_is_refused_by_name(tmp_path, content, message):
    path = tmp_path / "mine.py"
    path.write_text(textwrap.dedent(content))
    with pytest.raises(InvalidProviderModule, match=message) as raised:
        names_in_module(path)
    assert str(path) in str(raised.value)


def test_providers_may_be_annotated(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("PROVIDERS: dict[str, object]\nPROVIDERS: dict[str, object] = {'a': None}\n")
    assert names_in_module(path) == ("a",)


@pytest.mark.parametrize("name", ["eager", "fused", "onnxruntime", "liger-mlp", "compiled-max-autotune"])
def test_a_name_of_ours_is_refused_since_ours_would_be_measured_in_its_place(tmp_path, name):
    assert {*providers.PROVIDERS, *providers.PACKED_PROVIDERS} == OURS
    path = tmp_path / "mine.py"
    path.write_text(f"PROVIDERS = {{'mine': None, {name!r}: None}}\n")
    with pytest.raises(InvalidProviderModule, match=f"mine.py: '{name}' is a provider of fusebench.*another name"):
        refuse_taken_names(path, OURS)


def test_what_a_module_raises_is_told_printably(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("PROVIDERS = {'a': None}\nraise ValueError('\x1b[31mred')\n")
    with pytest.raises(InvalidProviderModule, match=r"ValueError: \\x1b\[31mred"):
        refuse_broken_module(path)


def test_a_module_that_fails_when_it_is_run_is_refused_before_anything_is_measured(readme_example, tmp_path):
    refuse_broken_module(readme_example)
    path = tmp_path / "mine.py"
    path.write_text("PROVIDERS = {'a': build_a}\n")
    with pytest.raises(InvalidProviderModule, match=r"mine.py: fails when it is run \(NameError: .*build_a"):
        refuse_broken_module(path)


def test_an_unknown_provider_or_layout_is_unavailable_with_the_choices(shape):
    load = workload(shape, device=torch.device("cpu"))
    unknown = providers.build(Contender(provider="magic"), load)
    assert unknown.reason.startswith("no provider is called 'magic'; there are eager, compiled")
    packed = providers.build(Contender(provider="eager", weights=Weights.PACKED), load)
    assert packed.reason == "eager has no packed layout of weights"


def test_what_a_files_providers_are_expected_to_run_is_read_without_running_it(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("raise RuntimeError\nPROVIDERS = {'a': None, 'b': None}\n")
    assert expectations_in_module(path) == {}
    assert expectations_in_module(None) == {}
    path.write_text(path.read_text() + "EXPECTATIONS = {'a': 'fused:packed', 'b': {'operators': 3, 'launches': 2}}\n")
    assert expectations_in_module(path) == {"a": "fused:packed", "b": {"operators": 3, "launches": 2}}


@pytest.mark.parametrize(
    "declared",
    [
        *("{'b': 'eager'}", "{'a': 3}", "{'a': {}}", "{'a': {'kernels': 3}}", "{'a': {'operators': -1}}"),
        *("dict(a='eager')", "{'a': 'eager:sparse'}", "['a']"),
    ],
)
def test_expectations_that_say_nothing_of_their_own_providers_are_refused(tmp_path, declared):
    path = tmp_path / "mine.py"
    path.write_text(f"PROVIDERS = {{'a': None}}\nEXPECTATIONS = {declared}\n")
    with pytest.raises(InvalidProviderModule, match="EXPECTATIONS is no") as error:
        refuse_broken_module(path)
    assert '"operators": 3' in str(error.value)


def test_a_provider_file_may_import_what_lies_beside_it_and_hides_nothing(tmp_path, shape, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "kernel_beside_it.py").write_text("def build(load):\n    return load.module\n")
    (tmp_path / "torch.py").write_text("raise RuntimeError\n")
    path = tmp_path / "mine.py"
    path.write_text("import torch\nfrom kernel_beside_it import build\nPROVIDERS = {'a': build}\n")
    refuse_broken_module(path)
    load = workload(shape, device=torch.device("cpu"))
    assert providers.build(Contender(provider="a"), load, module=path).function is load.module
