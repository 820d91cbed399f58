"""The command on a database of its own, and commits of which the later ones are slower."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from fusebench import cli
from results.database.schema import Commit
from results.database.transactions import writing
from results.exit_codes import ExitCode
from results.store import open_store


@pytest.fixture
def fusebench(tmp_path, monkeypatch):
    """Run the real command outside of any repository, on a database and a decisions file of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FUSEBENCH_DB", str(tmp_path / "known.db"))

    def run(*arguments):
        return CliRunner().invoke(cli, [str(argument) for argument in arguments], standalone_mode=False)

    return run


@pytest.fixture
def measured(fusebench, tmp_path, journals):
    """Ingest one commit for each factor by which `mlp fused` is slower than at first; their hashes."""

    def ingest(*factors, **changes):
        sweeps = [
            replace(sweep, slowdowns={("mlp", "fused"): factor}, **changes)
            for sweep, factor in zip(journals.history(len(factors), operations=("mlp",)), factors, strict=True)
        ]
        journals.write_journals(tmp_path / "data", sweeps)
        assert fusebench("ingest", "data").return_value == ExitCode.FINE
        return [sweep.commit for sweep in sweeps]

    return ingest


@pytest.fixture
def with_gone(fusebench, tmp_path, journals):
    """Ingest one commit for each letter, which measured `mlp fused` (m) or did not (-); their hashes."""

    def ingest(measured, **changes):
        sweeps = [
            replace(sweep, providers=("eager", "fused") if has_fused == "m" else ("eager",), **changes)
            for sweep, has_fused in zip(journals.history(len(measured), operations=("mlp",)), measured, strict=True)
        ]
        journals.write_journals(tmp_path / "data", sweeps)
        assert fusebench("ingest", "data").return_value == ExitCode.FINE
        return [sweep.commit for sweep in sweeps]

    return ingest


@pytest.fixture
def beside(tmp_path):
    """Have all stored commits be on the main line but the given ones, as a repository would tell it."""

    def mark(*commits):
        with open_store(str(tmp_path / "known.db")) as store, writing(store.engine) as connection:
            connection.execute(sa.update(Commit).values(is_on_main_line=True))
            connection.execute(sa.update(Commit).where(Commit.hash.in_(commits)).values(is_on_main_line=False))

    return mark
