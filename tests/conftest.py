"""Fixtures of all folders' tests, hypothesis profiles, and which combinations of parameters run at every change."""

from __future__ import annotations

import getpass
import importlib.util
import json
import os
import sys
import tempfile
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from tests.postgresql import PostgresqlDatabases
from tests.sampling import covering_sample

ROOT = Path(__file__).resolve().parents[1]

settings.register_profile("ci", max_examples=30, deadline=None)
settings.register_profile("exhaustive", max_examples=1000, deadline=None)
settings.load_profile("ci")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark all but a covering sample of each test marked `sample` as exhaustive."""
    families = {}
    for item in items:
        if item.get_closest_marker("sample"):
            families.setdefault((item.parent.nodeid, item.originalname), []).append(item)
    for family in families.values():
        sampled = covering_sample([parameters_of(item) for item in family])
        for position, item in enumerate(family):
            if position not in sampled:
                item.add_marker("exhaustive")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Keep a file's tests on one worker, for their fixtures, and so all files that share the one measured clone.

    xdist's own groups (`--dist loadgroup`) have no effect under pytest 9.2, which no longer reads the id they change.
    """
    if config.getoption("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class SharedFixtures(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid)

    return SharedFixtures(config, log)


@cache
def group_of_file(path):
    return "measured_clone" if "measured_clone" in (ROOT / path).read_text(encoding="utf-8") else path


def group_of(nodeid):
    """Return which tests share a worker with the test `nodeid`."""
    return group_of_file(nodeid.split("::", 1)[0])


def parameters_of(item):
    return {name: repr(value) for name, value in item.callspec.params.items()} if hasattr(item, "callspec") else {}


@pytest.fixture(scope="session", autouse=True)
def machine():
    """Give each worker a temporary folder, and so a lock on measuring, of its own: none waits for another's sweep."""
    with tempfile.TemporaryDirectory(prefix="fusebench-tests-") as folder, pytest.MonkeyPatch.context() as patch:
        Path(folder).chmod(0o755)  # some tests run commands as another user
        # What is compiled is the same for all.
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", os.environ.get("TORCHINDUCTOR_CACHE_DIR", default_inductor_cache()))
        patch.setenv("TMPDIR", folder)
        patch.setenv("FUSEBENCH_LOCK_FILE", str(Path(folder, "measuring.lock")))
        patch.setattr(tempfile, "tempdir", None)
        # A worker is told how wide the terminal of its parent is; commands ask for that first.
        patch.delenv("COLUMNS", raising=False)
        patch.delenv("LINES", raising=False)
        yield


def default_inductor_cache():
    return str(Path(tempfile.gettempdir()) / f"torchinductor_{getpass.getuser()}")


@pytest.fixture(scope="session")
def databases():
    """A function: the URL of a new, empty database of a kind, as a context manager that takes it back."""
    with ExitStack() as stack:
        lenders = []

        @contextmanager
        def new(kind, folder):
            if kind == "sqlite":
                yield str(folder / "store.db")
                return
            if not lenders:
                lenders.append(stack.enter_context(closing(PostgresqlDatabases())))
            url = lenders[0].lend()
            yield url
            lenders[0].give_back(url)

        yield new


@pytest.fixture(scope="session")
def journals():
    """Import tests/journals.py, which writes realistic journals."""
    name = "fusebench_test_journals"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("journals.py"))
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture
def journal_store(tmp_path, journals):
    """Open a new store filled with the journals of the given sweeps (three commits of everything by default)."""
    from results.store import open_store

    stores = []

    def build(sweeps=None):
        folder = tmp_path / f"data{len(stores)}"
        journals.write_journals(folder, journals.history() if sweeps is None else sweeps)
        store = open_store(str(folder / "fusebench.db"))
        stores.append(store)
        store.ingest([folder])
        return store

    yield build
    for store in stores:
        store.close()


COLUMNS = [
    "result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b", "stats_q_25",
    "stats_q_75", "stats_number", "stats_repeat", "samples", "profile",
]  # fmt: skip


@pytest.fixture(scope="session")
def write_asv_run():
    """Write an asv result file (and machine.json) below a results folder: `results` maps names to columns."""

    def write(folder, results, *, commit="c" * 40, machine="laptop", date=1_700_000_000_000, env="virtualenv-py3.11"):
        rows = {}
        for name, columns in results.items():
            row = [columns.get(column) for column in COLUMNS]
            while row and row[-1] is None:
                row.pop()
            rows[name] = row
        path = Path(folder, machine, f"{commit[:8]}-{env}.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "machine.json").write_text(json.dumps({"machine": machine, "cpu": "x", "version": 1}))
        content = {
            "commit_hash": commit, "env_name": env, "date": date, "params": {"machine": machine},
            "python": "3.11", "requirements": {}, "env_vars": {}, "result_columns": COLUMNS, "results": rows,
            "durations": {}, "version": 2,
        }  # fmt: skip
        path.write_text(json.dumps(content))
        return path

    return write
