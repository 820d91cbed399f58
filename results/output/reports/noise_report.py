"""Noise of series → text and JSON: how much they vary, and what is invisible for it; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.metrics import SWEEP_METRICS
from results.output.plain_values import document_as_json
from results.output.terminal import UNLIMITED, Style
from results.output.text_tables import Block, Cell, Column, render_blocks
from results.rows import parameters_in_words
from results.units import ABSENT, counted, visible_from

if TYPE_CHECKING:
    from collections.abc import Iterator

    from results.judgement.repeatability import MeasuredNoise, SeriesNoise, SurfaceNoise
    from results.output.terminal import Terminal

COLUMNS = (
    Column(name="surface", stack=1),
    Column(name="points", is_right=True),
    Column(name="runs", is_right=True),
    Column(name="varies by", is_right=True),
    Column(name="so corrected", is_right=True),
    Column(name="invisible", is_right=True),
    Column(name="so corrected", is_right=True),
    Column(name="noisiest", is_note=True),
)
MUCH = 0.1
"""Floor above which more is to be done before changes are looked for."""
VARIES = "varies by: standard deviation from run to run, the median of the points."
INVISIBLE = (
    "invisible: a smaller change is found in less than four of five comparisons of two commits, each with half as many "
    "runs as here, one at least."
)
CORRECTED = "so corrected: with the machine's part taken out by eager."


def noise_as_text(noise: MeasuredNoise, terminal: Terminal = UNLIMITED, *, limit: int | None = None) -> str:
    """Render a row for each surface, the quietest first, and what follows from them; of more the `limit` noisiest."""
    n_left_out = max(0, len(noise.surfaces) - limit) if limit is not None else 0
    has_place = len(_places(noise)) > 1
    by_noise = noise.surfaces if noise.is_corrected else sorted(noise.surfaces, key=lambda surface: surface.floor)
    rows = [_row(surface, is_corrected=noise.is_corrected, has_place=has_place) for surface in by_noise[n_left_out:]]
    parts = [
        terminal.paragraph(_headline(noise), Style.HEADING),
        render_blocks(COLUMNS, [Block(title="", rows=rows)], terminal),
    ]
    if n_left_out:
        parts.append(terminal.paragraph(f"{counted(n_left_out, 'more surface')}, less noisy; all of them: --all"))
    parts += [terminal.paragraph(text) for text in (*_told(noise), _legend(noise))]
    return "\n\n".join(parts)


def _legend(noise: MeasuredNoise) -> str:
    """Return what the columns mean that have something in them."""
    varies = [VARIES] if any(surface.sd is not None for surface in noise.surfaces) else []
    return " ".join([*varies, INVISIBLE, *([CORRECTED] if noise.is_corrected else [])])


def noise_as_json(noise: MeasuredNoise) -> str:
    """Render every series; relative numbers, 0.01 for 1 %."""
    document = {
        "format": 1,
        "commit": noise.commit,
        "n_controls": noise.n_controls,
        "floor": noise.floor,
        "series": [_fields(one) for one in noise.series],
    }
    return document_as_json(document)


def _headline(noise: MeasuredNoise) -> str:
    runs = max((one.n_runs for one in noise.series), default=0)
    places = _places(noise)
    where = f" on {places[0]}" if len(places) == 1 else ""
    return f"{noise.commit[:8]}: {counted(len(noise.series), 'point')} in {counted(runs, 'run')}{where}"


def _places(noise: MeasuredNoise) -> list[str]:
    return sorted({_place(surface) for surface in noise.surfaces})


def _place(surface: SurfaceNoise) -> str:
    return f"{surface.row.machine}, {surface.row.environment}"


def _told(noise: MeasuredNoise) -> Iterator[str]:
    if noise.floor is not None:
        by = "the machine's part taken out" if noise.is_corrected else "not corrected"
        yield f"Changes under {_floor(noise.floor)} are invisible here, in half of the points ({by})."
        if noise.floor > MUCH:
            rounds = "More runs (--rounds)" if _is_ours(noise) else "More runs of the suite's own runner"
            yield f"{rounds}, or a quieter machine (fusebench doctor), make smaller changes visible."
    if not noise.n_controls:
        yield "There are no control series (eager) among them, so nothing of it is told to be the machine's."
    elif not noise.is_corrected:
        yield f"{counted(noise.n_controls, 'point')} of eager: from five on, the machine's part is taken out."
    n_processes = sum(one.n_processes for one in noise.series)
    n_disturbed = sum(one.n_disturbed for one in noise.series)
    if n_disturbed:
        yield f"{n_disturbed:,} of {n_processes:,} processes were disturbed: this is the machine as busy as it was."
    repeated = [one for one in noise.series if one.n_runs > 1]
    if repeated:
        n_false = sum(one.differs for one in repeated)
        yield f"A/A: {n_false} of {len(repeated):,} points differ between halves of these runs; each would be false."
    if n_by_history := sum(one.is_by_history for one in noise.series):
        yield (
            f"{counted(n_by_history, 'point')} with fewer than three runs at this commit: by how the history varies. "
            f"{_again(noise)}"
        )
    if n_unknown := sum(one.sd is None for one in noise.series):
        yield (
            f"{counted(n_unknown, 'point')} with too few runs to tell: what is usual among series stands for their "
            f"noise. {_again(noise)}"
        )


def _again(noise: MeasuredNoise) -> str:
    what = "fusebench noise measures" if _is_ours(noise) else "The suite's own runner can measure"
    return f"{what} the commit again."


def _is_ours(noise: MeasuredNoise) -> bool:
    """Return whether any of it is of the sweep, which our own command measures."""
    return any(one.row.metric in SWEEP_METRICS for one in noise.series)


def _row(surface: SurfaceNoise, *, is_corrected: bool, has_place: bool) -> tuple[Cell, ...]:
    row = surface.row
    # Without a correction the floors with one are shown nowhere, and may be the larger ones.
    worst = surface.worst if is_corrected else max(surface.series, key=lambda one: one.floor)
    most = worst.corrected_floor if is_corrected else worst.floor
    shared = parameters_in_words(surface.shared)
    name = f"{row.benchmark} {row.metric} [{shared}]" if shared else row.benchmark
    names = {one.name for one in surface.shared}
    at = parameters_in_words(worst.row.parameters, without=names)
    return (
        Cell(f"{name} on {_place(surface)}" if has_place else name),
        Cell(f"{len(surface.series):,}"),
        Cell(f"{max(one.n_runs for one in surface.series)}"),
        Cell(_share(surface.sd)),
        Cell(_share(surface.corrected_sd) if is_corrected else ABSENT),
        Cell(f"< {_floor(surface.floor)}"),
        Cell(f"< {_floor(surface.corrected_floor)}" if is_corrected else ABSENT),
        Cell(f"noisiest: < {_floor(most)} at {at}" if at and len(surface.series) > 1 else ""),
    )


def _share(share: float | None) -> str:
    if share is None:
        return ABSENT
    return f"{100 * share:.1f} %" if share < 1 else f"{100 * share:.0f} %"


def _floor(floor: float | None) -> str:
    return _share(floor) if floor is None or floor < 1 else visible_from(floor)


def _fields(one: SeriesNoise) -> dict[str, object]:
    row = one.row
    return {
        "project": row.project,
        "machine": row.machine,
        "environment": row.environment,
        "benchmark": row.benchmark,
        "metric": row.metric,
        "parameters": {parameter.name: parameter.value for parameter in row.parameters},
        "runs": one.n_runs,
        "processes": one.n_processes,
        "disturbed": one.n_disturbed,
        "sd": one.sd,
        "corrected_sd": one.corrected_sd,
        "floor": one.floor,
        "corrected_floor": one.corrected_floor,
        "is_by_history": one.is_by_history,
        "differs": one.differs,
    }
