"""docs/architecture.md is held to the code: its layers, its paths and every arrow of the data's way."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
LAYERS = {one["layers"][0].split(" | ")[0].rpartition(".")[0]: one["layers"] for one in CONTRACTS if "layers" in one}
DIAGRAM = re.search(r"```mermaid\n(.*?)```", PAGE, re.DOTALL)[1]
SOURCE_ROOTS = {"fused_mlp": ROOT / "kernels"}


def arrows():
    """Return (package, source, function's path, target) of each arrow."""
    package, found = "", []
    for line in DIAGRAM.splitlines():
        if box := re.match(r"\s*subgraph (\w+)(?:\[\"(.*)\"\])?", line):
            package = box[2] or box[1]
        if arrow := re.match(r"\s*(\w+)\S*?(?:\(.*?\)+|\[.*?\])? -->\|([\w.]+)\| (\w+)", line):
            found.append((package, arrow[1], arrow[2], arrow[3]))
    return found


def layers_on_the_page(package):
    section = PAGE.split(f"### `{package}`")[1].split("\n#")[0]
    rows = re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE)
    return [[f"{package}.{name}" for name in re.findall(r"`(.*?)`", row)] for row in rows]


@pytest.mark.parametrize("package", LAYERS)
def test_the_wings_on_the_page_are_the_layers_of_the_contract(package):
    assert layers_on_the_page(package) == [layer.split(" | ") for layer in LAYERS[package]]


@pytest.mark.parametrize("package", LAYERS)
def test_every_wing_is_on_the_page(package):
    folder = SOURCE_ROOTS.get(package.split(".")[0], ROOT).joinpath(*package.split("."))
    wings = {path.parent.name for path in folder.glob("*/__init__.py")}
    named = {name.rpartition(".")[2] for layer in layers_on_the_page(package) for name in layer}
    assert wings <= named


def test_every_arrow_of_the_diagram_is_understood():
    assert len(arrows()) == DIAGRAM.count("-->") > 15


@pytest.mark.parametrize(("package", "source", "path", "target"), arrows(), ids=[path for _, _, path, _ in arrows()])
def test_each_arrow_is_one_function_that_takes_its_source_and_returns_its_target(package, source, path, target):
    module, _, name = f"{package}.{path}".rpartition(".")
    file = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    functions = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)]
    [function] = [node for node in functions if node.name == name]
    takes, returns = ast.unparse(function.args), ast.unparse(function.returns)
    for value, annotation in ((source, takes), (target, returns)):
        if value[0].isupper():
            assert re.search(rf"\b{value}\b", annotation), f"{name} has {annotation}"


def test_every_path_on_the_page_exists():
    paths = re.findall(r"`((?:tests|docs|dashboard|results|benchmarks|kernels)/[\w/.]+)`", PAGE)
    paths += [f"docs/{link}" for link in re.findall(r"\]\(([\w/.]+)\)", PAGE)]
    missing = [path for path in paths if not (ROOT / path).exists() and path != "results/data"]
    assert len(paths) > 10
    assert missing == []
