"""Names and looks of curves that are coloured by an axis, or drawn side by side for several commits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dashboard.figures.notes import SHORTEST_HASH
from dashboard.looks import DASHES, MORE_DASHES, look_of, look_of_value
from dashboard.scales import Colour

if TYPE_CHECKING:
    from dashboard.looks import Look
    from results.rows import PointRow


@dataclass(frozen=True, kw_only=True)
class Colouring:
    """Axis that colours curves. `values`: of that axis, in order; `commits`: side by side, the oldest first.

    A provider keeps its marker whatever colours it. By provider, the newest commit's curve has the provider's own
    dash, and others have other dashes.
    """

    by: Colour = Colour.PROVIDER
    values: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()

    def name_of(self, row: PointRow) -> str:
        """Return the name of the curve that a point is on."""
        parts = [row.contender]
        if self.by in {Colour.DTYPE, Colour.MACHINE}:
            parts.append(str(getattr(row, self.by)))
        if len(self.commits) > 1:
            parts.append(row.commit[:SHORTEST_HASH])
        return " · ".join(parts)

    def look_of(self, row: PointRow) -> Look:
        """Return the look of the curve that a point is on."""
        own = look_of(row.contender)
        if self.by is not Colour.PROVIDER:
            coloured = self.look_of_value(str(getattr(row, self.by)))
            own = replace(own, colour=coloured.colour, dash=coloured.dash if own.dash in DASHES else own.dash)
        if self.by is Colour.COMMIT or row.commit not in self.commits:
            return own
        return replace(own, dash=self._dash_of(row.commit, own))

    def look_of_value(self, value: str) -> Look:
        """Return the colour of a value of the axis."""
        return look_of_value(self.values.index(value) if value in self.values else len(self.values))

    def legend(self) -> list[tuple[Look, str]]:
        """Return what the legend shows besides the providers: the axis's values, or the commits by their dashes."""
        if self.by is Colour.COMMIT:
            return [(self.look_of_value(value), value[:SHORTEST_HASH]) for value in self.values]
        coloured = [(self.look_of_value(value), value) for value in self.values if self.by is not Colour.PROVIDER]
        grey = look_of("eager")
        several = self.commits if len(self.commits) > 1 else ()
        dashes = [(replace(grey, dash=self._dash_of(one, grey)), one[:SHORTEST_HASH]) for one in several]
        return [*coloured, *dashes]

    def _dash_of(self, commit: str, own: Look) -> str:
        dashes = (own.dash, *(dash for dash in MORE_DASHES if dash != own.dash))
        return dashes[(len(self.commits) - 1 - self.commits.index(commit)) % len(dashes)]


BY_PROVIDER = Colouring()
