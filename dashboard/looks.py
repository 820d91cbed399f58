"""Looks of curves: colour, marker and dash, the same on every chart, legend and table."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True)
class Look:
    """Colour, marker and dash of one curve; colour is never the only difference."""

    colour: str
    symbol: str
    dash: str = "solid"

    def faded(self, alpha: float) -> str:
        """Return the colour as rgba with `alpha`, for a confidence band."""
        red, green, blue = (int(self.colour[i : i + 2], 16) for i in (1, 3, 5))
        return f"rgba({red},{green},{blue},{alpha})"


# Chosen for 3:1 contrast on white and on near-black, and to stay apart for deuteranopes and protanopes;
# the pairs that come closest for them (grey and teal, orange and olive) differ in the marker too.
# The baseline is grey: everything else is read against it.
KNOWN_LOOKS = {
    "eager": Look(colour="#868e96", symbol="circle"),
    "compiled": Look(colour="#2a8bd8", symbol="square"),
    "fused": Look(colour="#e8590c", symbol="diamond"),
}
OTHER_LOOKS = (
    ("#12a182", "triangle-up"),
    ("#c2479f", "cross"),
    ("#7c6cf0", "triangle-down"),
    ("#6a8f1e", "hexagon"),
    ("#d6314a", "star"),
    ("#1ca0b5", "pentagon"),
    ("#a67c00", "bowtie"),
    ("#8c6450", "triangle-left"),
    ("#4c5fd5", "hexagram"),
)
# The strongest contrasts first: blue, orange, then what stays apart from both.
PLACED_LOOKS = (
    *((look.colour, look.symbol) for name, look in reversed(KNOWN_LOOKS.items()) if name != "eager"),
    *OTHER_LOOKS[:5],
)
DASHES = ("solid", "dot", "dashdot")
LAYOUT_DASH = "dash"

# Translucent: readable on a light and on a dark page.
RULE_COLOUR = "rgba(128,128,128,0.22)"
CHOSEN_COLOUR = "rgba(128,128,128,0.55)"


def look_of(contender: str) -> Look:
    """Return the look of a contender: a function of its name alone, whatever else is shown.

    A provider keeps its colour and marker whatever the layout of its weights; the layout dashes the line.
    """
    provider, _, layout = contender.partition(":")
    look = KNOWN_LOOKS.get(provider) or _look_of_other(provider)
    return replace(look, dash=LAYOUT_DASH) if layout else look


def look_at(position: int) -> Look:
    """Return the look of the curve at `position`, for curves named by parameters; neighbours differ."""
    colour, symbol = PLACED_LOOKS[position % len(PLACED_LOOKS)]
    return Look(colour=colour, symbol=symbol, dash=DASHES[position // len(PLACED_LOOKS) % len(DASHES)])


def _look_of_other(provider: str) -> Look:
    number = zlib.crc32(provider.encode())
    colour, symbol = OTHER_LOOKS[number % len(OTHER_LOOKS)]
    return Look(colour=colour, symbol=symbol, dash=DASHES[number // len(OTHER_LOOKS) % len(DASHES)])
