"""Fixtures that every floor's tests may use."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def journals():
    """The module tests/journals.py: realistic journals, and what they hold."""
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
