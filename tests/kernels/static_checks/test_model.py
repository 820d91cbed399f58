"""The model's table on the kernels' page is what its command prints."""

from pathlib import Path

from fused_mlp.static_checks.model import table

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
