"""SciPy's nightly results: what the machine did to many benchmarks at once is no change of theirs."""

from __future__ import annotations

import numpy as np
import pytest

from results.judgement.changes.from_histories import changes_of_place
from results.queries import history_tables
from results.store import open_store

MOVED = 0.03


@pytest.mark.slow
def test_common_mode_is_called_no_change(corpus, tmp_path):
    with open_store(str(tmp_path / "scipy.db")) as store:
        store.ingest([corpus])
        [table] = history_tables(store)
    place = changes_of_place(table)
    began = {run.commit: 0 for run in table.runs}
    for finding in place.findings:
        began[finding.first_bad] += len(finding.points)
    shares, n_common = [], 0
    with np.errstate(invalid="ignore", divide="ignore"):
        x = np.where(table.values > 0, np.log(table.values), np.nan)
    for column in range(15, x.shape[1]):
        known = ~np.isnan(x[:, column]) & (np.count_nonzero(~np.isnan(x[:, column - 10 : column]), axis=1) >= 5)
        moved = np.abs(x[known, column] - np.nanmedian(x[known, column - 10 : column], axis=1)) > MOVED
        if moved.mean() > 0.3:
            n_common += 1
            shares.append(began[table.runs[column].commit] / np.count_nonzero(moved))
    assert n_common >= 2, "the corpus has commits at which the machine moved a third of all series"
    assert max(shares) < 0.05
    assert 50 < len(place.findings) < 500
