from __future__ import annotations

import logging

import click
import pytest

from dashboard.serving.request_log import FORMAT, LONGEST_RECORD, MOST_BYTES, MOST_OLD_FILES, CutFormatter, begin_log


@pytest.fixture
def loggers():
    root = logging.getLogger()
    before = list(root.handlers)
    yield root
    for handler in set(root.handlers) - set(before):
        root.removeHandler(handler)
        handler.close()


def record(message, **more):
    return logging.makeLogRecord({"msg": message, "levelname": "ERROR", **more})


def test_a_record_is_cut_in_its_middle():
    text = CutFormatter(FORMAT).format(record("a" + "x" * 50_000 + "z"))
    assert len(text) < LONGEST_RECORD + 100
    assert text.endswith("z")
    assert "characters …" in text


def test_a_record_writes_nothing_into_the_terminal_but_text():
    assert "\x1b" not in CutFormatter(FORMAT).format(record("\x1b[2J"))


def test_the_file_never_grows_beyond_its_share(tmp_path, loggers):
    path = tmp_path / "dashboard.log"
    begin_log(path)
    for _ in range(5 * MOST_BYTES // LONGEST_RECORD):
        logging.getLogger("dashboard").error("x" * 2 * LONGEST_RECORD)
    files = list(tmp_path.iterdir())
    assert len(files) == 1 + MOST_OLD_FILES
    assert max(file.stat().st_size for file in files) <= MOST_BYTES


def test_a_log_that_cannot_be_written_is_wrong_usage(tmp_path, loggers):
    with pytest.raises(click.UsageError, match="--log"):
        begin_log(tmp_path / "no-folder" / "dashboard.log")
