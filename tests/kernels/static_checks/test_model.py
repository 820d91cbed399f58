"""The model's table on the kernels' page is what its command prints."""

from pathlib import Path

import pytest

from fused_mlp.static_checks.model import main, table

PAGE = Path(__file__).parents[3] / "docs" / "kernels.md"


def test_the_page_shows_what_the_command_prints():
    assert table() in PAGE.read_text(encoding="utf-8")


def test_a_shape_that_one_launch_cannot_compute_has_no_floor_of_it_and_does_not_pick_it():
    (line,) = (line for line in table().splitlines() if line.startswith("| 8192, 1024, 4096 |"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert (cells[4], cells[8]) == ("–", "–")
    assert cells[9] != "`single`"


def test_a_gated_shape_has_no_epilogue_of_cublaslt():
    (line,) = (line for line in table().splitlines() if line.startswith("| gated 16, 2048, 5632 |"))
    assert line.split("|")[7].strip() == "–"


def test_help_and_arguments_that_it_does_not_know_print_no_table(capsys):
    with pytest.raises(SystemExit) as exited:
        main(["--help"])
    said = capsys.readouterr().out
    assert (exited.value.code, "usage: python -m fused_mlp.static_checks.model" in said) == (0, True)
    assert table().splitlines()[-1] not in said
    with pytest.raises(SystemExit) as exited:
        main(["--nosuch"])
    said = capsys.readouterr()
    assert (exited.value.code, said.out) == (64, "")
    assert "unrecognized arguments: --nosuch" in said.err


def test_without_arguments_it_prints_the_table(capsys):
    assert main([]) == 0
    assert capsys.readouterr().out == f"{table()}\n"
