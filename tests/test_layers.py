"""Contracts of pyproject.toml: they hold, each breaks at one import against it, and modules stay small."""

from __future__ import annotations

import copy
import os
import shutil
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("importlinter")

from importlinter.application import use_cases
from importlinter.configuration import configure
from importlinter.domain.contract import registry

ROOT = Path(__file__).parent.parent
PACKAGES = ("benchmarks", "dashboard", "kernels", "results")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
LAYERS = {contract["name"]: contract["layers"] for contract in CONTRACTS if contract["type"] == "layers"}
FACE = next(contract["name"] for contract in CONTRACTS if "face of results" in contract["name"])
CIRCLES = next(contract["name"] for contract in CONTRACTS if contract["type"] == "acyclic_siblings")
# (contract, upper layer, the layer below it): each wing but the lowest of its tower.
STEPS = [(name, upper, lower) for name, layers in LAYERS.items() for upper, lower in pairwise(layers)]
BELOW_THE_FACE = (
    "results.database.schema", "results.database.connection", "results.questions.sweeps",
    "results.files.records", "results.ingest.pipeline", "results.upkeep.rebuild", "results.output.report",
    "results.commands.show", "results.judgement.noise", "sqlalchemy", "alembic",
)  # fmt: skip
MOST_LINES, MOST_MODULES = 300, 20
LONG_MODULES = {"results/database/schema.py"}  # the tables' definition


@pytest.fixture(scope="module")
def options():
    configure()
    found = use_cases.read_user_options(str(ROOT / "pyproject.toml"))
    use_cases._register_contract_types(found)
    return found


@pytest.fixture(scope="module")
def graph(options):
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        return use_cases._build_graph(
            root_package_names=options.session_options["root_packages"],
            cache_dir=None,
            include_external_packages=True,
            exclude_type_checking_imports=False,
            verbose=False,
        )
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def is_kept(options, graph):
    """Check one contract, with one import added to the graph where `planted` names one."""
    by_name = {found["name"]: found for found in options.contracts_options}

    def check(name, planted=None):
        contract = registry.get_contract_class(by_name[name]["type"])(
            name=name, session_options=options.session_options, contract_options=by_name[name]
        )
        planted_in = copy.deepcopy(graph)
        if planted:
            importer, imported = planted
            for module in planted:
                assert module in planted_in.modules, f"{module} is no module: correct this test"
            planted_in.add_import(importer=importer, imported=imported, line_number=1, line_contents="planted")
        return contract.check(planted_in, verbose=False).kept

    return check


@pytest.mark.parametrize("name", [contract["name"] for contract in CONTRACTS])
def test_every_contract_holds(is_kept, name):
    assert is_kept(name)


@pytest.mark.parametrize(("name", "upper", "lower"), STEPS, ids=[f"{lower}→{upper}" for _, upper, lower in STEPS])
def test_an_import_from_a_wing_into_the_wing_above_it_breaks_the_towers_contract(is_kept, name, upper, lower):
    for above in upper.split(" | "):
        for below in lower.split(" | "):
            assert not is_kept(name, (below, above)), f"{below} may import {above}"


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("dashboard.figures.chart", "dashboard.figures.drawing"),
        ("results.files.records", "results.files.journal"),
        ("fused_mlp.activations", "fused_mlp.modules"),
        ("benchmarks.ruler.plan.axes", "benchmarks.ruler.sweep.measure"),
    ],
)
def test_a_circle_breaks_its_contract(is_kept, importer, imported):
    assert not is_kept(CIRCLES, (importer, imported))


@pytest.mark.parametrize("module", ["torch", "dash", "fused_mlp", "benchmarks"])
def test_an_import_into_results_of_what_a_gate_in_ci_lacks_breaks_its_contract(is_kept, module):
    (name,) = [contract["name"] for contract in CONTRACTS if "run without torch" in contract["name"]]
    assert not is_kept(name, ("results.files.records", module))


@pytest.mark.parametrize("module", BELOW_THE_FACE)
@pytest.mark.parametrize("importer", ["dashboard.pages.explore", "dashboard.command"])
def test_the_dashboard_may_import_nothing_below_the_face_of_results(is_kept, importer, module):
    assert not is_kept(FACE, (importer, module))


@pytest.mark.parametrize("module", ["results.commands.options", "results.commands.progress"])
def test_only_the_dashboards_command_shares_options_with_other_commands(is_kept, module):
    assert not is_kept(FACE, ("dashboard.views.explore_drawing", module))


def test_lint_imports_names_each_planted_import_and_its_contract(tmp_path):
    """Plant imports in the files of a copy and run the command, as CI does."""
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__", "data", "*.json", "*.so", "*.cpp", "*.cu")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    for file in ("pyproject.toml", "fusebench.py"):
        shutil.copy(ROOT / file, tmp_path)
    planted = {
        "results/files/records.py": "from results.questions.sweeps import latest_points",
        "benchmarks/ruler/plan/axes.py": "import benchmarks.ruler.campaign",
        "kernels/fused_mlp/native/build.py": "from fused_mlp import modules",
        "dashboard/figures/chart.py": "from dashboard.views import url",
        "dashboard/views/url.py": "from results.database.schema import Commit",
    }
    for file, line in planted.items():
        with (tmp_path / file).open("a") as module:
            module.write(f"\n{line}\n")
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    paths = os.pathsep.join([str(tmp_path), str(tmp_path / "kernels")])
    environment = {**os.environ, "PYTHONPATH": paths, "COLUMNS": "400", "NO_COLOR": "1"}
    ended = subprocess.run(
        [*command, "--no-cache"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == 1, ended.stdout + ended.stderr
    for name in (*LAYERS, FACE):
        assert any(line.startswith(f"{name} BROKEN") for line in ended.stdout.splitlines()), f"{name} was kept"
    for link in (
        "results.files.records -> results.questions.sweeps",
        "benchmarks.ruler.plan.axes -> benchmarks.ruler.campaign",
        "fused_mlp.native.build -> fused_mlp.modules",
        "dashboard.figures.chart -> dashboard.views.url",
        "dashboard.views.url -> results.database.schema",
    ):
        assert link in ended.stdout


def test_modules_can_be_put_in_an_order_in_which_each_imports_earlier_ones_only(graph):
    ours = {module for module in graph.modules if not graph.is_module_squashed(module)}
    imports = {module: graph.find_modules_directly_imported_by(module) & ours for module in ours}
    TopologicalSorter(imports).prepare()  # raises CycleError, which names the circle


def tracked_modules():
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [Path(name) for name in listed.stdout.split() if (ROOT / name).exists()]


def test_no_folder_holds_more_than_20_modules_side_by_side():
    folders = [path.parent.as_posix() for path in tracked_modules() if path.name != "__init__.py"]
    assert {folder: folders.count(folder) for folder in folders if folders.count(folder) > MOST_MODULES} == {}


def test_no_module_passes_300_lines_but_the_tables_definition():
    lengths = {path.as_posix(): len((ROOT / path).read_bytes().splitlines()) for path in tracked_modules()}
    assert {name: n for name, n in lengths.items() if n > MOST_LINES and name not in LONG_MODULES} == {}
