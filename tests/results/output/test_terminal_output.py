"""Texts for people: they fit the terminal, colour has a meaning, long answers are cut to what matters."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from results.commands.ingest import ingest
from results.commands.judging.gate import gate
from results.commands.profile import profile
from results.commands.show import show
from results.commands.status import status
from results.commands.store import store as store_command
from results.output.terminal import Style, Terminal
from results.output.text_tables import Block, Cell, Column, render_blocks
from results.queries import commits
from results.store import OpenMode, open_store

MADE = Path(__file__).parents[1] / "made_at_13d2965" / "data.tar.xz"
ROOT = Path(__file__).parents[3]
WIDTHS = (80, 100, 120, 160, 200)
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The database of points measured at 13d2965."""
    folder = tmp_path_factory.mktemp("made")
    with tarfile.open(MADE) as packed:
        packed.extractall(folder, filter="data")
    db = str(folder / "fusebench.db")
    invoke(ingest, folder / "local", "--db", db)
    return db


@pytest.fixture(scope="module")
def scipy(corpus, tmp_path_factory):
    """SciPy's results in a database; and its two newest commits."""
    db = str(tmp_path_factory.mktemp("scipy") / "scipy.db")
    invoke(ingest, corpus, "--db", db, "--project", "scipy")
    with open_store(db, mode=OpenMode.READ) as store:
        newest = [row.commit for row in commits(store)][:2]
    return db, newest


def invoke(command, *arguments, **variables):
    environ = {"COLUMNS": None, "NO_COLOR": None, "FORCE_COLOR": None, "TERM": "xterm", **variables}
    return CliRunner().invoke(command, list(map(str, arguments)), standalone_mode=False, env=environ, color=True)


def lines_of(command, *arguments, width, **variables):
    answer = invoke(command, *arguments, COLUMNS=str(width), **variables)
    assert answer.exception is None, answer.exception
    return ANSI.sub("", answer.stdout).splitlines()


def assert_fits(lines, width):
    assert [line for line in lines if cell_len(line) > width] == []


def answers(made):
    point = ("--where", "operation=mlp", "--where", "provider=fused", "--where", "batch=16", "--where", "hidden=1024")
    return [
        (show, "--db", made),
        (show, "--db", made, "--all"),
        (profile, "--db", made, *point),
        (status, "--db", made),
        (store_command, "check", "--db", made),
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_no_answer_about_our_own_points_is_wider_than_the_terminal(made, width):
    for command, *arguments in answers(made):
        lines = lines_of(command, *arguments, width=width)
        assert lines
        assert_fits(lines, width)


@pytest.mark.parametrize("width", WIDTHS)
def test_no_answer_about_somebody_elses_suite_is_wider_than_the_terminal(scipy, width):
    db, (newest, before) = scipy
    for command, *arguments in (
        (show, newest, "--db", db),
        (show, newest, "--db", db, "--all"),
        (gate, "--base", before, "--head", newest, "--db", db),
        (status, "--db", db),
    ):
        assert_fits(lines_of(command, *arguments, width=width), width)


@pytest.mark.parametrize("width", WIDTHS)
def test_every_row_keeps_to_one_line_with_its_batch_provider_latency_and_speedup(made, width):
    points = json.loads(invoke(show, "--db", made, "--format", "json").stdout)
    lines = lines_of(show, "--db", made, "--all", width=width)
    rows = [line for line in lines if re.match(r" *\d+  \w+ +\d", line)]
    assert len(rows) == len(points) == 36
    headings = [line for line in lines if line.startswith("batch")]
    assert len(set(headings)) == 1
    assert {"provider", "latency", "eager", "remark"} <= set(headings[0].split())


@pytest.mark.parametrize(
    "text", ["基准测试" * 30, "b.time_x, 参数=" + "日本語 " * 40, "🚀" * 50 + " ok", "plain words " * 20, "x" * 200, ""]
)
def test_a_paragraph_fits_by_the_width_of_its_characters_and_loses_none(text):
    lines = Terminal(width=60).paragraph(text).splitlines()
    assert_fits(lines, 60)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(line.strip() for line in lines)


def test_a_wide_terminal_shows_columns_that_a_narrow_one_leaves_out(made):
    def headings(width):
        return next(line for line in lines_of(show, "--db", made, width=width) if line.startswith("batch"))

    assert "TFLOP/s" not in headings(80)
    assert "operators" not in headings(80)
    assert {"TFLOP/s", "operators", "rows/s"} <= set(headings(120).split())


def test_a_pipe_without_columns_leaves_nothing_out(made):
    heading = next(line for line in invoke(show, "--db", made).stdout.splitlines() if line.startswith("batch"))
    assert {"TFLOP/s", "operators", "rows/s", "bound", "remark"} <= set(heading.split())


def test_names_wider_than_the_terminal_stand_above_their_rows_and_keep_every_letter():
    columns = (Column(name="benchmark", stack=1), Column(name="value", is_right=True))
    name = "suite." + "x" * 100
    text = render_blocks(
        columns, [Block(title="", rows=[(Cell(name), Cell("1 s")), (Cell(name), Cell("2 s"))])], Terminal(width=80)
    )
    assert text.replace("\n", "").replace(" ", "").count("x" * 100) == 1
    assert [line.strip() for line in text.splitlines()][-2:] == ["1 s", "2 s"]
    assert_fits(text.splitlines(), 80)


def test_long_answers_are_the_twenty_most_important_rows_and_a_count(journal_store, journals):
    store = journal_store([journals.Sweep(batches=(1, 16, 64, 256, 1024))])
    lines = lines_of(show, "--db", store.name, width=100)
    rows = [line for line in lines if re.match(r" *\d+  \w+ +\d", line)]
    assert len(rows) == 20
    assert lines[-1] == "Shown: 20 of 90 points: failed ones, then the fastest of each shape. All: --all"
    assert all("fastest" in line for line in rows)
    assert len(lines_of(show, "--db", store.name, "--all", width=100)) > 90


def test_an_answer_that_is_not_long_is_printed_whole(made):
    lines = lines_of(show, "--db", made, width=100)
    assert lines == lines_of(show, "--db", made, "--all", width=100)


def test_a_failed_point_is_among_the_most_important(journal_store, journals):
    states = {("mlp", "compiled"): "crashed"}
    store = journal_store([journals.Sweep(batches=(1, 16, 64, 256, 1024), states=states)])
    lines = lines_of(show, "--db", store.name, width=100)
    assert sum("  crashed" in line for line in lines) == 10
    assert "Shown: 20 of" in lines[-1]


def test_failed_values_of_a_suite_come_with_the_slowest_ones(scipy):
    db, (newest, _) = scipy
    lines = lines_of(show, newest, "--db", db, width=200)
    assert sum(line.endswith("  failed") for line in lines) == 10
    assert re.fullmatch(r"Shown: 20 of [\d,]+ values: failed ones, then the slowest. All: --all", lines[-1])


def test_a_gate_lists_twenty_changes_of_a_kind_and_counts_the_rest(tmp_path, write_asv_run, timed):
    for commit, factor in (("a" * 40, 1.0), ("b" * 40, 2.0)):
        suite = {f"suite.time_{i}": timed(1e-3 * (factor + i / 1000)) for i in range(30)}
        # If all moved together, it would be the machine.
        suite |= {f"steady.time_{i}": timed(1e-3) for i in range(40)}
        date = 1_700_000_000_000 + int(factor) * 1000
        write_asv_run(tmp_path / "tree", suite, commit=commit, date=date)
    invoke(ingest, tmp_path / "tree", "--db", tmp_path / "x.db")
    judged = ("--base", "a" * 40, "--head", "b" * 40, "--db", tmp_path / "x.db")
    answer = invoke(gate, *judged).stdout
    assert answer.count("suite.time_") == 20
    assert "Regressions (20 of 30, the largest changes)" in answer
    assert "10 more changes are not listed; all of them: --all" in answer
    assert invoke(gate, *judged, "--all").stdout.count("suite.time_") == 30
    comment = invoke(gate, *judged, "--format", "markdown").stdout
    assert "### Regressions (30)" in comment
    assert comment.split("<details>")[0].count("suite.time_") == 10


@pytest.mark.parametrize(
    ("variables", "is_coloured"),
    [
        ({}, False),  # a pipe
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, False),
    ],
)
def test_colour_goes_where_it_is_wanted(made, variables, is_coloured):
    text = invoke(show, "--db", made, **variables).stdout
    assert bool(ANSI.search(text)) == is_coloured
    if is_coloured:
        assert "\x1b[32mfastest\x1b[0m" in text


def test_colour_changes_no_letter(made):
    plain = invoke(show, "--db", made, COLUMNS="100").stdout
    assert ANSI.sub("", invoke(show, "--db", made, COLUMNS="100", FORCE_COLOR="1").stdout) == plain


def test_only_what_has_a_meaning_is_coloured():
    coloured = Terminal(has_colour=True)
    assert coloured.styled("text", Style.PLAIN) == "text"
    assert len({coloured.styled("text", style) for style in Style}) == len(Style)


def typed_at_terminal(*arguments, width, **variables):
    """What `fusebench ARGUMENTS…` writes to a terminal of that width."""
    import fcntl
    import struct
    import termios

    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    dropped = {"COLUMNS", "NO_COLOR", "FORCE_COLOR"}
    environ = {name: value for name, value in os.environ.items() if name not in dropped}
    command = [sys.executable, "-m", "fusebench", *map(str, arguments)]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**environ, "TERM": "xterm", **variables},
        stdout=follower,
        stderr=follower,
        stdin=follower,
    ):
        os.close(follower)
        written = bytearray()
        while True:
            try:
                read = os.read(leader, 65536)
            except OSError:  # the other side is closed
                break
            if not read:
                break
            written += read
    os.close(leader)
    return written.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_gets_its_own_width_and_colours(made, width):
    text = typed_at_terminal("show", "--db", made, width=width)
    assert ANSI.search(text)
    assert_fits(ANSI.sub("", text).splitlines(), width)
    assert ("TFLOP/s" in text) == (width == 120)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_without_colours_gets_none(made, variables):
    assert "\x1b" not in typed_at_terminal("show", "--db", made, width=80, **variables)


def test_progress_of_an_ingest_says_what_is_left_and_fits_80_columns(tmp_path, write_asv_run, timed):
    for number in range(30):
        write_asv_run(tmp_path / "tree", {"suite.time_it": timed(1e-3)}, commit=f"{number:08x}".ljust(40, "0"))
    text = typed_at_terminal("ingest", tmp_path / "tree", "--db", tmp_path / "x.db", width=80)
    drawn = [line for line in re.split(r"[\r\n]", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)) if "files, " in line]
    assert any(line.rstrip().endswith("left") for line in drawn)
    assert "31/31 files" in drawn[-1]
    assert_fits([line.rstrip() for line in drawn], 80)
