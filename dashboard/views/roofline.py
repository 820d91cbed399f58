"""Content of the page *Roofline*: the points of an operation at a commit, and the ceilings of their machine."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

from dashboard.clocks import HOST_BOUND, WHAT_IT_IS
from dashboard.figures.notes import OPEN_MARKS
from dashboard.roofs import placed
from dashboard.sweep_axes import AXES, text_of
from dashboard.views.projects import (
    PROJECT,
    commits_of_project,
    names_of_projects,
    settled_in_project,
    shown_project,
)
from dashboard.views.throughput.answer import NO_PROVIDER
from dashboard.views.url import LATEST, commit_of, unknown_parameters
from results.queries import ceilings_of, commits, latest_points, point_choices
from results.units import counted, percent, si

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dashboard.roofs import Placed
    from dashboard.sweep_axes import AxisValue
    from dashboard.views.projects import ShownProject
    from results.rows import CeilingsRow, CommitRow, PointFilter
    from results.store import Store

# Each point of the picture has a batch, a hidden dim and a model dim of its own.
ROOF_AXES = tuple(axis for axis in AXES if axis.name not in {"batch", "hidden", "dim"})
KEYS = (*(axis.name for axis in ROOF_AXES), PROJECT, "commit", "providers")
MEASURE_THEM = (
    "Only that machine can measure them: fusebench run does so there, before its points, and once more with "
    "\N{NON-BREAKING HYPHEN}\N{NON-BREAKING HYPHEN}again if something disturbed it. To see a roof now, run make "
    "bench on your own machine: that adds it to the choice, with its roof"
)


@dataclass(frozen=True, kw_only=True)
class RooflineView:
    """Points of one operation at a commit, and the roofs above them.

    chosen, options: of ROOF_AXES, by name; options of the project, too, which is that of all points. commit: None is
    each point's newest. providers: that have a point; shown: the chosen ones. n_without: points that have no place, as
    they have no value.
    """

    chosen: Mapping[str, AxisValue]
    options: Mapping[str, tuple[AxisValue, ...]]
    project: ShownProject
    commit: str | None
    commits: tuple[CommitRow, ...]
    providers: tuple[str, ...]
    shown: tuple[str, ...]
    points: tuple[Placed, ...]
    n_without: int
    ceilings: CeilingsRow | None
    problems: tuple[str, ...]

    @property
    def dtype(self) -> str:
        """Number format of all points."""
        return str(self.chosen["dtype"])

    @property
    def peak(self) -> float | None:
        """FLOP/s of the best product of the points' dtype; None where it was not measured."""
        return None if self.ceilings is None else self.ceilings.matmul_flop_per_s.get(self.dtype)

    @property
    def query(self) -> str:
        """Query string that chooses the same."""
        values = {name: text_of(value) for name, value in [*self.chosen.items(), *self.project.pairs]}
        return query_of(values, commit=self.commit, providers=self.shown, known=self.providers)


def roofline_view_of(store: Store, *, query: str) -> RooflineView:
    """Query the store for what the URL's `query` shows; a sweep must be stored."""
    wanted = dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True))
    problems = unknown_parameters(wanted, known=KEYS)
    choices, known = point_choices(store), commits(store)
    there = [row for row in known if row.sweep_machines]
    found = settled_in_project(choices, ROOF_AXES, wanted=wanted, commits=there, problems=problems)
    columns = found.columns
    project = shown_project(found.project, stored=names_of_projects(known), points=choices)
    there = [row for row in there if columns["machine"] in row.sweep_machines]
    measured = commits_of_project(there, project.name)
    commit = commit_of(wanted.get("commit", LATEST), measured, problems)
    axes: PointFilter = {**columns, "project": project.name}  # type: ignore[typeddict-item]  # each is a filter's name
    rows = latest_points(store, revision=commit, **axes)
    rows = [row for row in rows if row.activation == columns["activation"]]
    ceilings = ceilings_of(store, machine=str(columns["machine"]), environment=str(columns["environment"]))
    points = placed(rows, ceilings=ceilings)
    providers = tuple(sorted({one.row.contender for one in points}, key=lambda name: (name != "eager", name)))
    shown = _shown(wanted.get("providers"), providers, problems)
    return RooflineView(
        chosen={axis.name: columns[axis.column] for axis in ROOF_AXES},
        options=found.options,
        project=project,
        commit=commit,
        commits=tuple(measured),
        providers=providers,
        shown=shown,
        points=tuple(one for one in points if one.row.contender in shown),
        n_without=len(rows) - len(points),
        ceilings=ceilings,
        problems=tuple(problems),
    )


def query_of(
    values: Mapping[str, str | None], *, commit: str | None, providers: Sequence[str], known: Sequence[str]
) -> str:
    """Write the choices as a query string. All of the `known` providers equals no choice."""
    pairs = [(name, value) for name, value in values.items() if value is not None]
    pairs.append(("commit", LATEST if commit is None else commit[:12]))
    if set(providers) != set(known):
        pairs.append(("providers", ",".join(providers)))
    return "?" + urlencode(pairs, safe=",:")


def answer_of_roofline(view: RooflineView) -> str:
    """Write which provider comes nearest to its roof, at how many of its points the machine is used well."""
    if not view.points:
        if view.providers:
            return NO_PROVIDER.sentence
        # Of a point without a value it is not asked how much work it is.
        what = "has a value" if view.n_without else "was measured here"
        return f"No point {what} with this choice"
    known = [one for one in view.points if one.share is not None]
    if not known:
        best = max(view.points, key=lambda one: one.flop_per_s)
        where = f"batch {best.row.batch}, hidden {best.row.hidden}"
        return f"{best.row.contender} reaches most, {si(best.flop_per_s, 'FLOP/s')} at {where}; no roof is known here"
    nearest = max(known, key=_share)
    where = f"batch {nearest.row.batch}, hidden {nearest.row.hidden}"
    return f"{nearest.row.contender} comes nearest to its roof: {percent(_share(nearest))} at {where}"


def details_of_roofline(view: RooflineView) -> list[str]:
    """Write each provider's median share of its roof, how many points lie below a bandwidth, and what is missing."""
    found = []
    known = [one for one in view.points if one.share is not None]
    if known:
        medians = {
            name: median(_share(one) for one in known if one.row.contender == name)
            for name in dict.fromkeys(one.row.contender for one in known)
        }
        ordered = sorted(medians.items(), key=lambda item: -item[1])
        found.append(f"Median share of the roof: {', '.join(f'{name} {percent(share)}' for name, share in ordered)}.")
        found += _of_the_device(known)
        n_below = sum(one.is_below_slope for one in known)
        parts = (
            ("the bandwidth of the level their data live in", n_below),
            ("the best product", len(known) - n_below),
        )
        roofs = ", ".join(f"{what} at {counted(n, 'point')}" for what, n in parts if n)
        found.append(f"The roof is {roofs}.")
    if n_beyond := sum(one.is_beyond for one in view.points):
        found.append(
            f"{counted(n_beyond, 'point')} more than 10 % above their roof, so those ceilings are not valid: "
            "fusebench run --again measures them anew."
        )
    found += missing_roofs(view)
    if view.n_without:
        found.append(f"{counted(view.n_without, 'point')} without a value, so without a place here.")
    return found


def _of_the_device(points: Sequence[Placed]) -> list[str]:
    """Write that the places are by wall time, how many tell of the host, and what the kernels alone reach."""
    shares: dict[str, list[float]] = {}
    for one in points:
        if (share := one.share_on_device) is not None:
            shares.setdefault(one.row.contender, []).append(share)
    if not shares:
        return []
    n_bound = sum(one.row.is_host_bound for one in points)
    bound = f": {n_bound} of {counted(len(points), 'point')} are {HOST_BOUND}, as {WHAT_IT_IS}" if n_bound else ""
    medians = sorted(((median(each), name) for name, each in shares.items()), reverse=True)
    names = ", ".join(f"{name} {percent(share)}" for share, name in medians)
    return [f"That is by wall time{bound}.", f"Median share of the roof by device time: {names}."]


def note_of_roofline(view: RooflineView) -> str:
    """Write how many points of which commits are shown, and when the ceilings were measured."""
    shapes = {(one.row.batch, one.row.hidden, one.row.dim) for one in view.points}
    where = {one.row.commit for one in view.points}
    commit = f"commit {next(iter(where))[:10]}" if len(where) == 1 else counted(len(where), "commit")
    parts = [f"{counted(len(view.points), 'point')} at {counted(len(shapes), 'shape')}, {commit}"]
    if view.ceilings is not None and view.ceilings.measured_at is not None:
        slow = view.ceilings.slow_in_words
        parts.append(f"ceilings measured {view.ceilings.measured_at:%Y-%m-%d}{f' {slow}' if slow else ''}")
    if any(one.row.disturbed for one in view.points):
        parts.append(OPEN_MARKS)
    return " · ".join(parts)


def missing_roofs(view: RooflineView) -> list[str]:
    """Write which roofs are not known, and what measures them."""
    place = f"{view.chosen['machine']} in {view.chosen['environment']}"
    if view.ceilings is None:
        return [f"No ceilings of {place} are stored, so no roof is drawn. {MEASURE_THEM}."]
    if view.peak is None:
        return [
            f"No ceiling of products in {view.dtype} is stored of {place}, so its roof is not drawn. {MEASURE_THEM}."
        ]
    if not view.ceilings.bandwidth_bytes_per_s:
        return [f"Only the bandwidth of a copy is stored of {place}, none by size of the data. {MEASURE_THEM}."]
    return []


def _share(one: Placed) -> float:
    return one.share or 0.0


def _shown(requested: str | None, known: Sequence[str], problems: list[str]) -> tuple[str, ...]:
    if requested is None:
        return tuple(known)
    names = [name for name in requested.split(",") if name]
    unknown = [name for name in names if name not in known]
    if unknown:
        problems.append(f"No provider {', '.join(unknown)[:60]} here; there are {', '.join(known)}.")
    chosen = tuple(name for name in known if name in names)
    return chosen if chosen or not names else tuple(known)
