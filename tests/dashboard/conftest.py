from __future__ import annotations

import importlib.util
import json
import os
import shutil
import sqlite3
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from werkzeug.serving import make_server

from results.rows import CommitRow, PointRow
from results.store import open_store
from tests.in_chromium import FLAGS, settle

START = datetime(2026, 3, 1, 12, tzinfo=UTC)

PLAIN = dict(  # noqa: C408 - read as the call it becomes
    project="fusebench", commit="a" * 40, commit_date=START, commit_subject="First", machine="desk",
    environment="py3.11-cpu-t2", ruler_version="1", operation="mlp", provider="eager", dtype="float32",
    pass_="forward",  # noqa: S106 - a pass of the network
    activation="gelu", batch=64, hidden=1024, dim=256, cache="warm", weights="plain", threads=2,
    state="ok", reason=None, disturbed=None, provider_detail=None, latency_s=1e-3, latency_ci_low_s=0.95e-3,
    latency_ci_high_s=1.1e-3, sample_count=30, device_time_s=None, host_time_s=None, operator_time_s=None,
    kernel_launches=None, operator_count=3, peak_memory_bytes=None, rows_per_s=64e3, tflop_per_s=0.067,
    gb_per_s=None, floor_s=None, percent_of_floor=None, speedup_vs_eager=1.0, speedup_ci_low=0.97,
    speedup_ci_high=1.02, bound="compute", compile_time_s=None, prepare_time_s=None, error_rel=1e-7,
    run_id="r1", point_id=1, measured_at=START,
)  # fmt: skip

NUMBERS = (
    "latency_s", "latency_ci_low_s", "latency_ci_high_s", "rows_per_s", "tflop_per_s", "speedup_vs_eager",
    "speedup_ci_low", "speedup_ci_high", "bound", "error_rel", "operator_count", "sample_count",
)  # fmt: skip


@pytest.fixture(scope="session")
def point():
    """Build a point: the plain one with changes. Rates follow from latency; only an ok point has numbers."""

    def build(**changes):
        row = {**PLAIN, **changes}
        if row["state"] != "ok":
            return PointRow(**{**row, **dict.fromkeys(NUMBERS), "reason": "no compiler", **changes})
        latency_s = row["latency_s"]
        derived = {
            "rows_per_s": row["batch"] / latency_s,
            "tflop_per_s": 4 * row["batch"] * row["hidden"] * row["dim"] / latency_s / 1e12,
            "latency_ci_low_s": 0.95 * latency_s,
            "latency_ci_high_s": 1.1 * latency_s,
        }
        return PointRow(**{**row, **derived, **changes})

    return build


@pytest.fixture(scope="session")
def history(point):
    """Build points of several commits, a day apart: commit i, or only its provider p, changed by `change(i, p)`."""

    def build(n_commits, *, providers=("eager", "fused"), change=lambda _i, _provider: {}):
        return [
            point(
                **{
                    "commit": f"{i:040x}",
                    "commit_date": START + timedelta(days=i),
                    "commit_subject": f"Commit {i}",
                    "provider": provider,
                    **change(i, provider),
                }
            )
            for i in range(n_commits)
            for provider in providers
        ]

    return build


@pytest.fixture(scope="session")
def commit():
    """Build a commit of the store."""

    def build(name, **changes):
        row = CommitRow(
            project="fusebench",
            commit=name,
            date=START,
            subject="A subject",
            machines=frozenset({"laptop"}),
            sweep_machines=frozenset(),
        )
        return replace(row, **changes)

    return build


@pytest.fixture(scope="session")
def write_asv_tree(write_asv_run):
    """Write another project's asv results, commit a, b, c … a day apart: a timing over `size` and a track.

    `times`: for each commit the seconds at size 1 and 10; `tracked`: of each commit, in cells.
    """

    def write(folder, *, times, tracked=(), versions=None):
        described = {
            "ops.time_sort": {"type": "time", "unit": "seconds", "params": [["1", "10"], ["'a'"]],
                              "param_names": ["size", "kind"]},
            "ops.track_size": {"type": "track", "unit": "cells", "params": [], "param_names": []},
        }  # fmt: skip
        folder.mkdir(parents=True)
        for name, benchmark in described.items():
            benchmark.update(name=name, version="v1", code="")
        (folder / "benchmarks.json").write_text(json.dumps({**described, "version": 2}))
        for i, seconds in enumerate(times):
            version = versions[i] if versions else "v1"
            results = {
                "ops.time_sort": {
                    "result": seconds, "params": described["ops.time_sort"]["params"], "version": version,
                    "stats_ci_99_a": [s and 0.9 * s for s in seconds],
                    "stats_ci_99_b": [s and 1.1 * s for s in seconds],
                    "stats_number": [1, 1], "stats_repeat": [10, 10],
                },
            }  # fmt: skip
            if tracked:
                results["ops.track_size"] = {"result": [tracked[i]], "params": [], "version": version}
            date = int((START + timedelta(days=i)).timestamp() * 1000)
            write_asv_run(folder, results, commit="abcdef"[i] * 40, date=date)
        return folder

    return write


@pytest.fixture(scope="session")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("FUSEBENCH_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        except api.Error as error:
            pytest.skip(f"no Chromium to drive: {error.message.splitlines()[0]}")
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def fill(journals):
    """Fill a database with the sweeps of each project; its path."""

    def build(folder, sweeps_of):
        for project, sweeps in sweeps_of.items():
            journals.write_journals(folder / project, sweeps)
            for path in (folder / project).rglob("*.jsonl"):
                path.write_text(path.read_text().replace('"project": "fusebench"', f'"project": "{project}"'))
        with open_store(str(folder / "fusebench.db")) as store:
            store.ingest([folder / project for project in sweeps_of])
        return str(folder / "fusebench.db")

    return build


@pytest.fixture
def shown_store(journal_store, journals):
    return journal_store(journals.history(5, states={("gated_mlp", "compiled"): "crashed"}))


@pytest.fixture
def address(shown_store):
    from dashboard.app import create_app

    server = make_server("127.0.0.1", 0, create_app(shown_store).server, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()


@pytest.fixture
def visit(browser, address):
    """Open a fresh page at a path of the dashboard; at the end no page may have complained or left the host."""
    complaints, elsewhere, contexts = [], [], []

    def watch(request):
        parts = urlsplit(request.url)
        if parts.scheme.startswith(("http", "ws")) and parts.netloc != urlsplit(address).netloc:
            elsewhere.append(request.url)

    def open_page(url="/throughput", graph="#throughput-batch-graph", **options):
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text) if said.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", watch)
        page.goto(url if url.startswith("http") else address + url)
        settle(page, graph=graph)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert elsewhere == []


@pytest.fixture(scope="session")
def made_profiles():
    """Import tests/dashboard/profiles/made_profiles.py, which writes profiles with stacks, traces and ceilings."""
    name = "fusebench_made_profiles"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / "profiles" / "made_profiles.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture
def profiled_store(tmp_path, made_profiles):
    """Open a store of made profiles: of a GPU and of a CPU, of two commits each."""
    stores = []

    def build(**options):
        folder = made_profiles.write_profiles(tmp_path / f"profiles{len(stores)}", **options)
        store = open_store(str(folder / "fusebench.db"))
        stores.append(store)
        assert store.ingest([folder]).problems == ()
        return store

    yield build
    for store in stores:
        store.close()


@pytest.fixture(scope="module")
def planted(tmp_path_factory, journals):
    """A store of 40 commits in which mlp's fused is 6 % slower from the 26th on, and linear's compiled faster."""
    sweeps = journals.history(40, operations=("linear", "mlp"), batches=(1, 16, 64), hiddens=(256,))
    for number, sweep in enumerate(sweeps):
        wobble = 1 + 0.004 * ((number * 7) % 5 - 2)
        for operation in sweep.operations:
            for provider in sweep.providers:
                sweep.slowdowns[operation, provider] = wobble
        if number >= 25:
            sweep.slowdowns["mlp", "fused"] = 1.06 * wobble
            sweep.slowdowns["linear", "compiled"] = 0.9 * wobble
    folder = tmp_path_factory.mktemp("planted")
    journals.write_journals(folder, sweeps)
    with open_store(str(folder / "fusebench.db")) as store:
        store.ingest([folder])
        yield store


@pytest.fixture
def own(tmp_path, planted):
    """A copy of the planted store, to write to."""
    path = tmp_path / "own.db"
    with sqlite3.connect(planted.engine.url.database) as source, sqlite3.connect(path) as copy:
        source.backup(copy)
    source.close()
    copy.close()
    with open_store(str(path)) as store:
        yield store
