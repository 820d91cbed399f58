"""Taking an acknowledgement back keeps it as a withdrawal, and all else of the file as it was written."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from results.files.decisions import decisions_from_bytes, withdraw_acknowledgements
from results.files.records import Decided

EVE = Decided(note="it was the code", by="Eve", at=datetime(2026, 3, 2, tzinfo=UTC))
JOINED = '[[continuation]]\nproject = "p"\nbenchmark = "s.time_it"\nold = "version-1"\nnew = "version-2"\n'


def others(file):
    """The file but for what was taken back."""
    return file.read_text().partition("\n[[withdrawal]]")[0]


@pytest.mark.parametrize("written", ["tables", "tables in a table", "a list"])
def test_taking_one_out_leaves_order_and_comments_of_the_others(tmp_path, written):
    def known(commit):
        return f'[[acknowledgement]]\nproject = "p"\ncommit = "{commit}"  # theirs\ndecision = "accepted"\n'

    within = "[acknowledgement.parameters]\nbatch = 1\n" if written == "tables in a table" else ""
    first, second = f"# the first\n{known('a')}\n", f"# of both\n\n# the second\n{known('b')}{within}\n"
    last, joined = f"# the last\n{known('c')}# the end\n", f"# between\n{JOINED}\n"
    head = "# ours\nformat = 1\n\n"
    file = tmp_path / "decisions.toml"
    if written == "a list":
        one = '{project = "p", commit = "%s", decision = "accepted"}'
        first, second, last = (one % commit for commit in "abc")
        file.write_text(f"{head}acknowledgement = [{first}, {second}, {last}]")
    else:
        file.write_text(head + first + joined + second + last)
    assert len(withdraw_acknowledgements(file, lambda record: record.commit == "b", withdrawn=EVE)) == 1
    if written != "a list":
        assert others(file) == head + first + joined + "# of both\n\n# the second\n" + last
    assert len(withdraw_acknowledgements(file, lambda record: record.commit != "b", withdrawn=EVE)) == 2
    left = decisions_from_bytes(file.read_bytes(), path="x")
    assert not left.acknowledgements
    assert [(one.acknowledgement.commit, one.withdrawn) for one in left.withdrawals] == [(c, EVE) for c in "bac"]
    if written != "a list":
        of_comments = "# the first\n{}# of both\n\n# the second\n# the last\n# the end\n"
        assert others(file) == head + of_comments.format(joined)


def test_a_file_with_a_byte_order_mark_is_read_and_edited(tmp_path):
    file = tmp_path / "decisions.toml"
    one = '[[acknowledgement]]\nproject = "p"\ncommit = "%s"\ndecision = "accepted"\n'
    file.write_text(f"format = 1\n{one % 'a'}{one % 'b'}", encoding="utf-8-sig")
    assert len(withdraw_acknowledgements(file, lambda record: record.commit == "a", withdrawn=EVE)) == 1
    assert [one.commit for one in decisions_from_bytes(file.read_bytes(), path="").acknowledgements] == ["b"]
