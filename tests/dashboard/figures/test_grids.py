"""Columns of grids share the room of a wide page."""

from dashboard.tables.grids import Column


def test_on_a_wide_page_every_column_has_its_share_so_that_numbers_stand_near_what_they_are_of():
    name, number = (
        Column(field=one, heading=one, width=100, grows=grows).definition for one, grows in (("a", True), ("b", False))
    )
    assert number["flex"] < name["flex"] <= 3 * number["flex"]
    assert number["minWidth"] == name["minWidth"] == 100  # below that, the grid scrolls
