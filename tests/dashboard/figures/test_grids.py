"""Columns of grids share the room of a wide page; a change has its sign."""

from dashboard.tables.grids import Column
from dashboard.tables.profiles import DIFFERENCE_COLUMNS


def test_a_change_is_written_with_its_sign_and_a_quantity_without():
    formats = [Column(field="a", heading="A", unit="s", is_change=one).definition["valueFormatter"] for one in (1, 0)]
    assert [one["function"] for one in formats] == ["change(params.value, 's')", "quantity(params.value, 's')"]
    assert next(one for one in DIFFERENCE_COLUMNS if one.field == "change_s").is_change


def test_on_a_wide_page_every_column_has_its_share_so_that_numbers_stand_near_what_they_are_of():
    name, number = (
        Column(field=one, heading=one, width=100, grows=grows).definition for one, grows in (("a", True), ("b", False))
    )
    assert number["flex"] < name["flex"] <= 3 * number["flex"]
    assert number["minWidth"] == name["minWidth"] == 100  # below that, the grid scrolls
