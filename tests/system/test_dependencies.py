"""Every import is declared by the extra that its folder is installed with, and every declared package is used."""

from __future__ import annotations

import ast
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
OURS = {"fused_mlp", "benchmarks", "results", "dashboard", "fusebench", "tests", "tools"}
# Folder → the extras that its users install.
EXTRAS = {
    "fusebench.py": (),
    "kernels/fused_mlp": ("kernels",),
    "benchmarks": ("bench", "peers", "fleet-slurm", "fleet-ray"),
    "results": ("results", "postgres", "parquet"),
    "dashboard": ("dashboard",),
    "tools": ("dev", "models"),
    "tests": ("dev", "peers", "models", "libraries", "fleet-slurm", "fleet-ray"),
}
# Module → why nothing declares it.
NOT_DECLARED = {
    "otava": "it pins another numpy: bench_judgement takes it from a folder of its own, where there is one",
    "kubernetes_validate": "make fleet-test installs it, for a job file of the documentation",
    "onnx": "onnxscript, of the extra peers, brings it: a test of exports looks for it",
    "sky": "SkyPilot reads a job file of the documentation, where it is installed",
}
# What others make that tests and tools work with, and the engines of a fleet: extras that development does not install.
OF_OTHER_EXTRAS = {
    "liger_kernel", "onnxruntime", "onnxscript", "peft", "ray", "submitit", "timm", "torchao", "torchvision",
    "transformers",
}  # fmt: skip
NOT_IMPORTED = {
    "asv": "the sweep starts it as a command",
    "asv-runner": "asv runs the suites with it",
    "import-linter": "make check",
    "mypy": "make check",
    "ninja": "torch.utils.cpp_extension builds with it",
    "numpy": "torch warns at import where it is missing",
    "pre-commit": "the hooks of .pre-commit-config.yaml",
    "psycopg": "SQLAlchemy's driver for PostgreSQL",
    "pytest-timeout": "the timeout in pyproject.toml",
    "pytest-xdist": "make test",
    "ruff": "make check",
    "virtualenv": "asv makes an environment of each commit with it",
}


def declared(*extras):
    """Return the distributions that the base and `extras` declare, our own extras resolved."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = [*project["dependencies"]]
    for extra in extras:
        requirements += project["optional-dependencies"][extra]
    names = set()
    for requirement in map(Requirement, requirements):
        if requirement.name == project["name"]:
            names |= declared(*requirement.extras)
        else:
            names.add(canonicalize_name(requirement.name))
    return names


def imported(place):
    """Return the distributions that Python files at `place` import, and the top-level names that no package has."""
    path = ROOT / place
    files = list(path.rglob("*.py")) if path.is_dir() else [path]
    modules = {
        name.split(".")[0]
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        for name in names_in(node)
    }
    known = packages_distributions()
    # Tests import tools by their file's or folder's name.
    scripts = {path.stem for path in (ROOT / "tools").iterdir()}
    own = OURS | scripts | {file.stem for file in files}
    foreign = modules - own - NOT_DECLARED.keys() - set(sys.stdlib_module_names)
    return {canonicalize_name(known[module][0]) for module in foreign & known.keys()}, foreign - known.keys()


def names_in(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level:
        return [node.module]
    match node:
        case ast.Call(
            func=ast.Attribute(attr="import_module" | "importorskip") | ast.Name(id="import_module"),
            args=[ast.Constant(value=str(name)), *_],
        ):
            return [name]
    return []


@pytest.mark.parametrize("place", EXTRAS)
def test_what_a_folder_imports_is_declared(place):
    distributions, unknown = imported(place)
    assert distributions <= declared(*EXTRAS[place])
    # Types that only a type checker knows, and what is not installed for development.
    assert unknown <= OF_OTHER_EXTRAS | {"_typeshed"}


@pytest.mark.parametrize(
    ("place", "beneath"),
    [("kernels/fused_mlp", ()), ("benchmarks", ("kernels",)), ("results", ()), ("dashboard", ("results",))],
)
def test_an_extra_declares_nothing_that_its_folder_does_not_use(place, beneath):
    own = declared(*EXTRAS[place]) - declared(*beneath)
    distributions, unknown = imported(place)
    assert own - distributions - {canonicalize_name(name) for name in unknown} <= NOT_IMPORTED.keys()


def test_development_declares_nothing_that_nobody_uses():
    used = set().union(*(imported(place)[0] for place in EXTRAS))
    assert declared("dev") - used <= NOT_IMPORTED.keys()
    assert NOT_IMPORTED.keys() <= declared("dev")
