"""A provider's look is its own on every page, and can be told from others' by colour-blind eyes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dashboard.figures.history import looks_of
from dashboard.lines import HistoryLine
from dashboard.looks import AXIS_COLOURS, KNOWN_LOOKS, MARKERS, look_among, look_at, look_of, look_of_value
from dashboard.pages.explore_cards import legend_of
from dashboard.views.explore_choice import MOST_LINES
from results.rows import ParameterValue, SeriesRow

# Machado, Oliveira and Fernandes 2009, "A physiologically-based model for simulation of color vision deficiency",
# severity 1, on linear RGB.
DEFICIENCIES = {
    "normal": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = TO_XYZ.sum(axis=1)
PAGES = {"light": "#ffffff", "dark": "#1d1f23"}


def linear(colour):
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(colour, deficiency):
    ratio = TO_XYZ @ np.clip(np.array(DEFICIENCIES[deficiency]) @ linear(colour), 0, 1) / WHITE
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def line(provider, batch, weights="plain"):
    parameters = tuple(
        ParameterValue(name=name, value=value)
        for name, value in (("provider", provider), ("batch", batch), ("weights", weights))
        if provider or name == "batch"
    )
    series = SeriesRow(
        series_id=batch, project="p", machine="m", environment="e", benchmark="mlp", metric="latency_s", unit="s",
        version="3", interval_level=0.95, parameters=parameters,
    )  # fmt: skip
    return HistoryLine(name=f"{provider}{batch}", label="", series=(series,))


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_the_usual_providers_stay_apart_for_colour_blind_eyes(deficiency):
    for one, other in combinations(("eager", "compiled", "fused"), 2):
        distance = np.linalg.norm(lab(KNOWN_LOOKS[one].colour, deficiency) - lab(KNOWN_LOOKS[other].colour, deficiency))
        assert distance > 20, f"{one} and {other} are {distance:.0f} apart"


@pytest.mark.parametrize("dash", AXIS_COLOURS)
@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_values_of_an_axis_stay_apart_without_markers(deficiency, dash):
    for one, other in combinations(AXIS_COLOURS[dash], 2):
        distance = np.linalg.norm(lab(one, deficiency) - lab(other, deficiency))
        assert distance > 20, f"{one} and {other} are {distance:.0f} apart"


def test_values_of_an_axis_take_no_usual_providers_colour():
    looks = [look_of_value(i) for i in range(8)]
    assert len({look.colour for look in looks}) == 8
    assert not {look.colour for look in looks} & {look_of(name).colour for name in ("eager", "compiled", "fused")}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("provider", KNOWN_LOOKS)
def test_every_colour_stands_out_from_the_page(provider, page):
    luminances = [linear(colour) @ TO_XYZ[1] + 0.05 for colour in (KNOWN_LOOKS[provider].colour, PAGES[page])]
    assert max(luminances) / min(luminances) >= 3


@pytest.mark.parametrize("provider", KNOWN_LOOKS)
def test_a_value_is_readable_on_its_bar(provider):
    look = KNOWN_LOOKS[provider]
    luminances = [linear(colour) @ TO_XYZ[1] + 0.05 for colour in (look.colour, look.ink)]
    assert max(luminances) / min(luminances) >= 4.5


def test_no_two_providers_share_colour_and_marker():
    looks = [(look.colour, look.symbol) for look in KNOWN_LOOKS.values()]
    assert len(set(looks)) == len(looks)


def test_no_two_of_the_most_lines_of_a_figure_look_the_same():
    looks = [look_at(i) for i in range(MOST_LINES)]
    assert len({(look.colour, look.symbol, look.dash) for look in looks}) == MOST_LINES
    assert len({(look.colour, look.symbol) for look in looks[:49]}) == 49
    assert all(look.symbol in MARKERS for look in looks)


def test_lines_of_one_colour_have_their_markers_in_the_legend():
    few, many = ([line(None, batch) for batch in range(n)] for n in (7, MOST_LINES))
    assert [one.children[1] for one in legend_of(few, colour=None)] == [""] * 7
    keys = [(one.children[0].style["color"], one.children[0].className, one.children[1])
            for one in legend_of(many, colour=None)]  # fmt: skip
    assert len(set(keys)) == MOST_LINES


def test_a_line_of_a_provider_has_the_providers_look_on_every_page():
    assert looks_of([line("liger", 1), line("fused", 1), line("fused", 1, "packed")]) == [
        look_of("liger"), look_of("fused"), look_of("fused:packed"),
    ]  # fmt: skip


def test_several_lines_of_one_provider_share_its_colour_and_differ_in_dash():
    looks = looks_of([line("fused", batch) for batch in (1, 2, 3, 4)])
    assert {look.colour for look in looks} == {look_of("fused").colour}
    assert len({look.dash for look in looks}) == 4
    assert look_among("fused", 0) == look_of("fused")
