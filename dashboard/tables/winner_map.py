"""Winner maps: which provider to run at each batch and hidden dim of an operation, and by how much."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from math import log
from statistics import median
from typing import TYPE_CHECKING

from dashboard.addresses import throughput_address
from dashboard.clocks import clocks_of_shapes
from dashboard.sweep_axes import text_of
from results.judgement.winners import BASELINE, Standing, ranking_of
from results.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from results.judgement.winners import Ranking
    from results.rows import PointRow


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One shape of a map. ranking: None where nothing is ok there. link: the shape's page *Throughput*."""

    batch: int
    hidden: int
    ranking: Ranking | None
    link: str


@dataclass(frozen=True, kw_only=True)
class WinnerMap:
    """Rankings of an operation and pass over batch and hidden dim; `cells` by both, without what was not measured.

    others: activations that were measured besides this one. clocks: by which clock the shapes are ranked, and what the
    other one says; None where a device's time is not known.
    """

    operation: str
    pass_: str
    activation: str | None
    batches: tuple[int, ...]
    hiddens: tuple[int, ...]
    cells: Mapping[tuple[int, int], Cell]
    others: tuple[str, ...]
    clocks: str | None = None

    @property
    def title(self) -> str:
        """Name of the operation with its activation and pass."""
        activation = f" · {self.activation}" if self.activation else ""
        passes = " · forward + backward" if self.pass_.endswith("backward") else ""
        return f"{self.operation}{activation}{passes}"

    @property
    def contenders(self) -> tuple[str, ...]:
        """All that lead somewhere, the one that leads most often first."""
        leaders = Counter(cell.ranking.leader.contender for cell in self.cells.values() if cell.ranking)
        return tuple(name for name, _ in leaders.most_common())


@dataclass(frozen=True, kw_only=True)
class Headline:
    """Speedups of a contender over eager at the shapes of a map. middle: their median; n_disturbed: of all n."""

    title: str
    contender: str
    n: int
    n_disturbed: int
    middle: float
    least: PointRow
    most: PointRow


def winner_maps_of(rows: Sequence[PointRow], *, order: Mapping[str, int]) -> tuple[WinnerMap, ...]:
    """Return a map for each operation and pass of `rows`, which share machine, environment, dtype, cache and threads.

    `order`: of each commit its place in the history.

    Of several activations the one with most shapes is shown, and of each hidden dim the model dim next to a quarter
    of it. At each shape only the newest commit that measured it counts, so that no ranking mixes commits.
    """
    of_map: dict[tuple[str, str], dict[str | None, list[PointRow]]] = {}
    for row in rows:
        of_map.setdefault((row.operation, row.pass_), {}).setdefault(row.activation, []).append(row)
    return tuple(
        _map(operation, pass_, by_activation, order=order)
        for (operation, pass_), by_activation in sorted(of_map.items(), key=lambda item: _order(*item[0]))
    )


def headlines_of(
    rows: Sequence[PointRow], maps: Iterable[WinnerMap], *, order: Mapping[str, int]
) -> tuple[Headline, ...]:
    """Return the speedups of each contender but the baseline at the shapes of `maps`, the greatest median first.

    Of a map those measured at less than half as many shapes as another one come last: their medians are of others.
    """
    found: list[Headline] = []
    for one in maps:
        shapes = _shapes([row for row in rows if _is_of(row, one)], order=order)
        of_contender: dict[str, list[PointRow]] = {}
        for row in (row for of_shape in shapes.values() for row in of_shape):
            if row.provider != BASELINE and row.speedup_vs_eager is not None:
                of_contender.setdefault(row.contender, []).append(row)
        headlines = [_headline(one.title, name, timed) for name, timed in of_contender.items()]
        most = max((headline.n for headline in headlines), default=0)
        few = {headline.contender for headline in headlines if 2 * headline.n < most}
        for is_of_few in (False, True):
            of_kind = (headline for headline in headlines if (headline.contender in few) is is_of_few)
            found += sorted(of_kind, key=lambda headline: -headline.middle)
    return tuple(found)


def map_in_words(one: WinnerMap) -> str:
    """Write who is fastest at how many shapes, and where it is not known."""
    rankings = [cell.ranking for cell in one.cells.values()]
    known = [ranking for ranking in rankings if ranking is not None]

    def leaders(standing: Standing | None) -> str:
        names = Counter(ranking.leader.contender for ranking in known if ranking.standing is standing)
        return ", ".join(f"{name} at {n}" for name, n in names.most_common())

    n_of = {standing: sum(ranking.standing is standing for ranking in known) for standing in (*Standing, None)}
    parts = (
        [f"fastest: {leaders(Standing.FASTEST)} of {counted(len(rankings), 'shape')}"] if n_of[Standing.FASTEST] else []
    )
    if n_of[Standing.TIED]:
        parts.append(f"tied at {n_of[Standing.TIED]}")
    if n_of[Standing.UNDECIDED]:
        parts.append(f"undecided at {n_of[Standing.UNDECIDED]} (least time: {leaders(Standing.UNDECIDED)})")
    if n_of[None]:
        parts.append(f"without a rival at {n_of[None]} ({leaders(None)})")
    if n_failing := len(rankings) - len(known):
        parts.append(f"nothing ok at {n_failing}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _map(
    operation: str, pass_: str, by_activation: Mapping[str | None, Sequence[PointRow]], *, order: Mapping[str, int]
) -> WinnerMap:
    shapes_of = {activation: _shapes(rows, order=order) for activation, rows in by_activation.items()}
    activation = max(shapes_of, key=lambda each: (len(shapes_of[each]), each is not None, each))
    shapes = shapes_of[activation]
    # The page behind a link shows the newest commit that measured any batch of its hidden dim.
    newest = {
        hidden: max((order[rows[0].commit] for (_, at), rows in shapes.items() if at == hidden), default=0)
        for _, hidden in shapes
    }
    cells = {
        (batch, hidden): Cell(
            batch=batch,
            hidden=hidden,
            ranking=ranking_of(rows),
            link=throughput_address(rows[0], is_newest=order[rows[0].commit] == newest[hidden]),
        )
        for (batch, hidden), rows in shapes.items()
    }
    return WinnerMap(
        operation=operation,
        pass_=pass_,
        activation=activation,
        batches=tuple(sorted({batch for batch, _ in shapes})),
        hiddens=tuple(sorted({hidden for _, hidden in shapes})),
        cells=cells,
        others=tuple(sorted(text_of(each) for each in by_activation if each != activation)),
        clocks=clocks_of_shapes(shapes.values()),
    )


def _shapes(rows: Sequence[PointRow], *, order: Mapping[str, int]) -> dict[tuple[int, int], list[PointRow]]:
    """Group points by batch and hidden dim: at the model dim next to a quarter of it, and the newest commit."""
    dims: dict[int, set[int]] = {}
    for row in rows:
        dims.setdefault(row.hidden, set()).add(row.dim)
    dim_of = {hidden: min(found, key=partial(_distance_from_quarter, hidden=hidden)) for hidden, found in dims.items()}
    shapes: dict[tuple[int, int], list[PointRow]] = {}
    for row in rows:
        if row.dim == dim_of[row.hidden]:
            shapes.setdefault((row.batch, row.hidden), []).append(row)
    newest = {shape: max((row.commit for row in found), key=lambda at: order[at]) for shape, found in shapes.items()}
    return {shape: [row for row in found if row.commit == newest[shape]] for shape, found in shapes.items()}


def _distance_from_quarter(dim: int, *, hidden: int) -> float:
    return abs(log(4 * dim / hidden))


def _is_of(row: PointRow, one: WinnerMap) -> bool:
    return (row.operation, row.pass_, row.activation) == (one.operation, one.pass_, one.activation)


def _headline(title: str, contender: str, rows: Sequence[PointRow]) -> Headline:
    ordered = sorted(rows, key=lambda row: row.speedup_vs_eager or 0.0)
    return Headline(
        title=title,
        contender=contender,
        n=len(ordered),
        n_disturbed=sum(row.disturbed is not None for row in ordered),
        middle=median(row.speedup_vs_eager or 0.0 for row in ordered),
        least=ordered[0],
        most=ordered[-1],
    )


def _order(operation: str, pass_: str) -> tuple[bool, str, str]:
    """Order the pass forward first, then by name."""
    return (pass_.endswith("backward"), operation, pass_)
