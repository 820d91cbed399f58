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

    @property
    def ink(self) -> str:
        """Black or white, whichever is the more readable on the colour: WCAG 2's relative luminance decides."""
        parts = [int(self.colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        return "#ffffff" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.0556 else "#111111"


# Chosen for 3:1 contrast on white and on near-black, and to stay apart for deuteranopes and protanopes; where two come
# close for them the markers differ, too. The baseline is grey: everything else is read against it.
KNOWN_LOOKS = {
    "eager": Look(colour="#868e96", symbol="circle"),
    "compiled": Look(colour="#2a8bd8", symbol="square"),
    "fused": Look(colour="#e8590c", symbol="diamond"),
    # What compilers make is cool, what is fused by hand is warm; no two share colour and marker.
    "packed-eager": Look(colour="#868e96", symbol="hexagon", dash="dot"),
    "compiled-dynamic": Look(colour="#1ca0b5", symbol="pentagon"),
    "compiled-frozen": Look(colour="#1ca0b5", symbol="square", dash="dot"),
    "compiled-cudagraphs": Look(colour="#4c5fd5", symbol="hexagram"),
    "compiled-max-autotune": Look(colour="#7c6cf0", symbol="triangle-down"),
    "compiled-max-autotune-no-cudagraphs": Look(colour="#7c6cf0", symbol="triangle-up", dash="dot"),
    "compiled-max-autotune-tma": Look(colour="#7c6cf0", symbol="star", dash="dashdot"),
    "fused-hoisted": Look(colour="#e8590c", symbol="triangle-right", dash="dot"),
    "fused-captured": Look(colour="#d6314a", symbol="star"),
    "fused-epilogue": Look(colour="#d6314a", symbol="triangle-up", dash="dot"),
    "fused-onednn": Look(colour="#d6314a", symbol="pentagon", dash="dashdot"),
    "fused-pure": Look(colour="#a67c00", symbol="bowtie"),
    "fused-pointwise": Look(colour="#a67c00", symbol="triangle-left", dash="dot"),
    "fused-single": Look(colour="#b93f96", symbol="cross"),
    "fused-cuda": Look(colour="#b93f96", symbol="star", dash="dot"),
    "fused-cublaslt": Look(colour="#8c6450", symbol="triangle-left"),
    "fused-cpp": Look(colour="#8c6450", symbol="hexagon", dash="dot"),
    "liger": Look(colour="#12a182", symbol="triangle-up"),
    "liger-mlp": Look(colour="#12a182", symbol="triangle-down", dash="dot"),
    "addmm-activation": Look(colour="#6a8f1e", symbol="hexagon"),
    "onnxruntime": Look(colour="#6a8f1e", symbol="hexagram", dash="dot"),
}
OTHER_LOOKS = (
    ("#12a182", "triangle-up"),
    ("#b93f96", "cross"),
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
    *((KNOWN_LOOKS[name].colour, KNOWN_LOOKS[name].symbol) for name in ("fused", "compiled")),
    *OTHER_LOOKS[:5],
)
# Of an axis that is no provider: none of the usual providers' colours. Markers are the providers', so those of one dash
# stay apart by colour alone.
AXIS_COLOURS = {
    "solid": ("#4c5fd5", "#b93f96", "#6a8f1e", "#8c6450"),
    "dot": ("#1ca0b5", "#d6314a", "#7c6cf0", "#a67c00"),
}
# Markers in text.
MARKERS = {
    "circle": "●", "square": "■", "diamond": "◆", "pentagon": "⬟", "hexagon": "⬢", "hexagram": "✶", "star": "★",
    "cross": "✚", "bowtie": "⧓", "triangle-up": "▲", "triangle-down": "▼", "triangle-left": "◀", "triangle-right": "▶",
}  # fmt: skip
DASHES = ("solid", "dot", "dashdot")
LAYOUT_DASH = "dash"
MORE_DASHES = (*DASHES, LAYOUT_DASH)
"""Of curves among which none has a layout."""

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
    """Return the look of the curve at `position`, for curves named by parameters; of 196 no two are the same.

    A colour that comes again has another marker, and another dash unless it came four times.
    """
    n = len(PLACED_LOOKS)
    colour, _ = PLACED_LOOKS[position % n]
    _, symbol = PLACED_LOOKS[(position + position // n) % n]
    return Look(colour=colour, symbol=symbol, dash=MORE_DASHES[position // n % len(MORE_DASHES)])


def look_of_value(position: int) -> Look:
    """Return the colour and dash of the value at `position` of an axis that colours curves; eight differ."""
    looks = [Look(colour=colour, symbol="circle", dash=dash) for dash, row in AXIS_COLOURS.items() for colour in row]
    return looks[position % len(looks)]


def look_of_side(name: str, position: int, *, is_provider: bool) -> Look:
    """Return the look of a side of a comparison: a provider's own, else the one at its position."""
    return look_of(name) if is_provider else look_at(position)


def look_among(contender: str, number: int) -> Look:
    """Return the look of the contender's curve `number`, from 0, among several of its own: dashes tell them apart."""
    look = look_of(contender)
    dashes = (look.dash, *(dash for dash in MORE_DASHES if dash != look.dash))
    return replace(look, dash=dashes[number % len(dashes)])


def _look_of_other(provider: str) -> Look:
    number = zlib.crc32(provider.encode())
    colour, symbol = OTHER_LOOKS[number % len(OTHER_LOOKS)]
    return Look(colour=colour, symbol=symbol, dash=DASHES[number // len(OTHER_LOOKS) % len(DASHES)])
