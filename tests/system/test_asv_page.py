"""asv's page beside the dashboard: it shows the store's values, and asks no other machine for anything."""

from __future__ import annotations

import json
import tarfile

import pytest
from asv_page.libraries import PACKAGES, LibraryMissingError, place_libraries
from asv_page.site import Opened, publish

from results.queries import history_tables
from results.store import open_store
from results.upkeep.generated import fill_with_sweeps

ONE = Opened("mlp", "latency_s")
INDEX = (
    '<script src="https://code.example/jquery-3.3.1.min.js" integrity="sha256-x" crossorigin="anonymous"></script>'
    '<link href="asv.css">'
)


@pytest.mark.slow  # asv publish
def test_the_curve_that_asv_publishes_is_the_stores(tmp_path):
    with open_store(str(tmp_path / "made.db")) as store:
        fill_with_sweeps(store, n_commits=3)
        (table,) = history_tables(store, project="generated", benchmark="mlp", metric="latency_s")
        pages = publish(store, [ONE], project="generated", folder=tmp_path / "asv")
    index = json.loads((pages / "index.json").read_text())
    assert len(index["revision_to_hash"]) == len(table.runs) == 3
    assert len(index["benchmarks"]) == 12
    (curve,) = (pages / "graphs").rglob(f"machine-generated/{ONE.name}.json")
    published = json.loads(curve.read_text())
    assert sorted(published[-1][1]) == sorted(table.values[:, -1].tolist())


def pages_with(tmp_path, index):
    pages, kept = tmp_path / "html", tmp_path / "kept"
    pages.mkdir()
    kept.mkdir()
    (pages / "index.html").write_text(index)
    package, member = PACKAGES["jquery-3.3.1.min.js"]
    script = tmp_path / "script.js"
    script.write_text("jQuery")
    with tarfile.open(kept / f"{package.replace('@', '-')}.tgz", "w:gz") as packed:
        packed.add(script, f"package/{member}")
    return pages, kept


def test_libraries_lie_beside_the_page_afterwards(tmp_path):
    pages, kept = pages_with(tmp_path, INDEX)
    place_libraries(pages, kept=kept)
    expected = '<script src="jquery-3.3.1.min.js"></script><link href="asv.css">'
    assert (pages / "index.html").read_text() == expected
    assert (pages / "jquery-3.3.1.min.js").read_text() == "jQuery"


def test_a_library_that_no_package_stands_for_is_named(tmp_path):
    pages, kept = pages_with(tmp_path, INDEX.replace("jquery-3.3.1", "other-1"))
    with pytest.raises(LibraryMissingError, match=r"asks for other-1\.min\.js"):
        place_libraries(pages, kept=kept)
