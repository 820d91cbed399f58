"""Acknowledgements that are about nothing stored are noted by every ingest, with what does not fit."""

from __future__ import annotations

import pytest

from results.ingest.unmatched_decisions import MOST_NAMED

A = f"abcdef12{'a' * 32}"


@pytest.fixture
def noted(opened, tmp_path, write_asv_run, timed):
    """Ingest one commit of one benchmark with some acknowledgements, as changes of one that fits; the notes."""
    write_asv_run(tmp_path / "tree", {"s.time_it": timed(1e-3)}, commit=A, date=1_700_000_000_000)

    def ingest(*changes):
        tables = []
        for change in changes:
            fields = {"project": "p", "commit": A, "decision": "accepted", "benchmark": "s.time_it", **change}
            tables += ["[[acknowledgement]]", *(f'{name} = "{value}"' for name, value in fields.items())]
        (tmp_path / "decisions.toml").write_text("\n".join(["format = 1", *tables]))
        return opened.ingest([tmp_path], project="p").notes

    return ingest


def test_what_fits_is_not_noted(noted):
    assert noted({}) == ()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"commit": A[:8]}, f"of s.time_it at abcdef12 is about nothing stored: write the full hash, {A}"),
        ({"commit": "f" * 40}, f"at {'f' * 12} is about nothing stored: its commit was not measured"),
        ({"benchmark": "s.tim_it"}, f"of s.tim_it at {A[:12]} is about nothing stored: no series that was measured"),
        ({"project": "q"}, "no project q is stored"),
    ],
    ids=["short hash", "unknown commit", "misspelt series", "unknown project"],
)
def test_what_does_not_fit_is_named_each_time(noted, change, words):
    for _ in range(2):
        [note] = noted({}, change)
        assert words in note
        assert "decisions.toml: the acknowledgement" in note


def test_of_many_the_first_are_named_and_the_others_counted(noted):
    notes = noted(*({"benchmark": f"s.time_{i}"} for i in range(MOST_NAMED + 3)))
    assert len(notes) == MOST_NAMED + 1
    assert notes[-1] == "3 more acknowledgements are about nothing stored"


def test_an_acknowledgement_that_a_later_one_replaces_is_about_something(noted):
    assert noted({}, {"decision": "to_fix"}) == ()
