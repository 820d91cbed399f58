"""Settings: one value from the environment, one environment from the value, and nobody else looks."""

import ast
import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.ruler.errors import InvalidSettings
from benchmarks.ruler.plan.filters import Filters
from benchmarks.ruler.plan.points import Allocator, DeviceKind
from benchmarks.ruler.plan.settings import Settings, environment_from_settings, settings_from_environment

ROOT = Path(__file__).parents[3]
words = st.text("abcdefghijklmnop0123456789:-", min_size=1)
texts = st.text(st.characters(exclude_categories=["C"]))
lists = st.lists(words).map(tuple)
paths = words.map(lambda word: Path("/data") / word)
some_settings = st.builds(
    Settings,
    data_dir=paths,
    axes=words,
    filters=st.builds(Filters, **{field.name: lists for field in fields(Filters)}),
    provider_module=st.none() | paths,
    machine=st.none() | words,
    device=st.none() | st.sampled_from(DeviceKind),
    threads=st.integers(1, 512),
    allocator=st.sampled_from(Allocator),
    run_id=st.none() | words,
    commit=st.none() | words,
    is_uncommitted=st.booleans(),
    waits_for_lock=st.booleans(),
    lock_file=paths,
    point_limit_s=st.floats(1e-3, 1e6),
    until=st.none() | st.floats(1.0, 1e12),
    last_visit=st.none() | st.integers(1, 9),
    traced_batches=st.lists(st.integers(1, 10**6).map(str)).map(tuple),
    conditions=st.dictionaries(words, st.text(st.characters(exclude_categories=["C"])), max_size=3).map(
        lambda found: tuple(found.items())
    ),
    host=st.none() | words,
    plan=st.none() | paths,
    progress=st.none() | paths,
    asv_commit=st.none() | words,
)


@given(some_settings)
def test_settings_survive_the_environment_of_a_child(settings):
    assert settings_from_environment(environment_from_settings(settings, {})) == settings


@given(some_settings, some_settings)
def test_a_child_has_its_own_settings_and_none_of_its_parents(settings, parents):
    inherited = environment_from_settings(parents, {"PATH": "/bin"})
    environ = environment_from_settings(settings, inherited)
    assert settings_from_environment(environ) == settings
    assert environ["PATH"] == "/bin"


def test_an_empty_variable_counts_as_unset():
    assert settings_from_environment({"FUSEBENCH_BATCH": "", "FUSEBENCH_DATA": ""}) == Settings()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("FUSEBENCH_THREADS", "many", "a whole number from 1 on"),
        ("FUSEBENCH_THREADS", "1.5", "a whole number from 1 on"),
        ("FUSEBENCH_THREADS", "1_6", "a whole number from 1 on"),
        ("FUSEBENCH_THREADS", "0", "from 1 on"),
        ("FUSEBENCH_ALLOCATOR", "jemalloc", "choose from retaining, returning"),
        ("FUSEBENCH_DEVICE", "gpu", "choose from cpu, cuda"),
        ("FUSEBENCH_LOCK", "perhaps", "choose from fail, wait"),
        ("FUSEBENCH_CONDITIONS", "rack 7", "a JSON object of texts"),
        ("FUSEBENCH_CONDITIONS", '{"rack": 7}', "object of texts"),
        ("FUSEBENCH_UNTIL", "soon", "a number of seconds since 1970"),
        ("FUSEBENCH_POINT_LIMIT_S", "long", "a number of seconds above 0"),
        ("FUSEBENCH_UNTIL", "nan", "a number of seconds since 1970"),
        ("FUSEBENCH_POINT_LIMIT_S", "-1", "above 0"),
        ("FUSEBENCH_POINT_LIMIT_S", "nan", "above 0"),
        ("FUSEBENCH_UNCOMMITTED", "yes", "choose from 0, 1"),
        ("FUSEBENCH_MACHINE", "../elsewhere", "without /"),
        ("FUSEBENCH_MACHINE", "x" * 201, "at most 200 bytes"),
        ("FUSEBENCH_TRACES", "all", "whole numbers from 1 on"),
        ("FUSEBENCH_TRACES", "16,", "whole numbers from 1 on"),
    ],
)
def test_a_variable_that_cannot_be_parsed_is_named(name, text, message):
    with pytest.raises(InvalidSettings, match=f"{name}={text}: .*{message}"):
        settings_from_environment({name: text})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("FUSEBENCH_MACHINE", "box\udcff"),
        ("FUSEBENCH_MACHINE", "box\n"),
        ("FUSEBENCH_HOST", "\x1b[31m"),
        ("FUSEBENCH_RUN_ID", "\udcff"),
        ("FUSEBENCH_CONDITIONS", '{"rack": "\\ud800"}'),
        ("FUSEBENCH_CONDITIONS", '{"\\u0000": "7"}'),
    ],
)
def test_a_text_that_no_journal_or_database_holds_is_refused_and_told_printably(name, text):
    with pytest.raises(InvalidSettings, match=f"(?s){name}=.*: a text in UTF-8 without control characters") as raised:
        settings_from_environment({name: text})
    str(raised.value).encode()
    assert "\x1b" not in str(raised.value)


MISSPELT = {
    "FUSEBENCH_THREDS": "FUSEBENCH_THREADS",
    "FUSEBENCH_THREAD": "FUSEBENCH_THREADS",
    "FUSEBENCH_POINT_LIMIT": "FUSEBENCH_POINT_LIMIT_S",
    "FUSEBENCH_PROVIDERS": "FUSEBENCH_PROVIDER",
    "FUSEBENCH_MACHIEN": "FUSEBENCH_MACHINE",
    "FUSEBENCH_HOTS": "FUSEBENCH_HOST",
    "FUSEBENCH_BACTH": "FUSEBENCH_BATCH",
    "FUSEBENCH_BATCHES": "FUSEBENCH_BATCH",
    "FUSEBENCH_PASSES": "FUSEBENCH_PASS",
    "FUSEBENCH_AXIS": "FUSEBENCH_AXES",
    "fusebench_threads": "FUSEBENCH_THREADS",
    "FUSEBENCH_Threads": "FUSEBENCH_THREADS",
}


@pytest.mark.parametrize(("name", "meant"), MISSPELT.items())
def test_a_variable_that_is_nearly_a_setting_is_refused_and_not_ignored(name, meant):
    with pytest.raises(InvalidSettings, match=f"{name} is no setting: {meant} is"):
        settings_from_environment({name: "1"})


@pytest.mark.parametrize("name", ["DATE", "COST", "PORT", "PATCH", "COMMIT_SHA", "RUN_NUMBER", "DATA_URL", "SERVICE"])
def test_a_variable_of_somebody_elses_that_means_another_thing_is_let_through(name):
    assert settings_from_environment({f"FUSEBENCH_{name}": "1"}) == settings_from_environment({})


def test_no_variable_of_ours_is_taken_for_a_misspelt_setting():
    folders = ("benchmarks", "results", "dashboard", "kernels", "tools", "tests", "device", ".github")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".sh", ".yml"}]
    texts = [path.read_text(encoding="utf-8") for path in (*files, ROOT / "Makefile", ROOT / "action.yml")]
    named = {name for text in texts for name in re.findall(r"FUSEBENCH_[A-Z_]*[A-Z]", text)} - MISSPELT.keys()
    assert {"FUSEBENCH_DB", "FUSEBENCH_TREES", "FUSEBENCH_DASHBOARD_PASSWORD"} <= named
    assert {name for name in named if "is no setting" in _refusal(name)} == set()


def _refusal(name):
    try:
        settings_from_environment({name: "1"})
    except InvalidSettings as refused:
        return str(refused)
    return ""


def test_every_variable_is_documented():
    documented = (ROOT / "docs" / "measuring.md").read_text(encoding="utf-8")
    source = (ROOT / "benchmarks" / "ruler" / "plan" / "settings.py").read_text(encoding="utf-8")
    names = {node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}
    variables = {name for name in names if isinstance(name, str) and name.startswith("FUSEBENCH_")}
    filters = {"FUSEBENCH_" + name for name in ("OPERATION", "PROVIDER", "DTYPE", "PASS", "BATCH", "HIDDEN")}
    assert len(variables) > 15
    assert {name for name in variables - filters if f"`{name}" not in documented} == set()


def test_every_section_that_how_we_measure_refers_to_exists():
    text = (ROOT / "docs" / "measuring.md").read_text(encoding="utf-8")
    named = set(re.findall(r"see \*([^*]+)\*", text))
    assert named
    assert named <= set(re.findall(r"^## (.+)$", text, re.MULTILINE))


# What starts a process passes on the environment; what a library of others reads there is set where it is measured.
EDGES = {
    *("plan/settings.py", "worker/process.py", "checks/scratch.py", "commits/wheels.py"),
    # git is asked about this checkout, whatever a hook says.
    "record/provenance.py",
    # What a scheduler calls this node and which GPU it left us.
    *("fleet/host.py", "fleet/engines/local.py"),
}


def test_only_the_settings_and_the_edges_that_start_processes_touch_the_environment():
    ruler = ROOT / "benchmarks" / "ruler"
    files = [*ruler.rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")]
    touching = {
        str(path.relative_to(ruler)) if path.is_relative_to(ruler) else path.name
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Attribute) and node.attr in {"environ", "environb", "getenv", "putenv", "unsetenv"})
        or (isinstance(node, ast.ImportFrom) and node.module == "os")
    }
    assert len(files) > 60
    assert touching == EDGES
