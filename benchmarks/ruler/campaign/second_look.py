"""Pieces of a campaign that explain what its sweep has found: the worst points, inductor's autotuning, profiles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.ruler.campaign.settings import CampaignSettings, Report, Status
from benchmarks.ruler.campaign.sweeps import measure_axes, recorded_sweep
from benchmarks.ruler.checks.comparison import Quantity, ratio_to_best
from benchmarks.ruler.plan.campaign_axes import ARTICLE, HALF_HOUR, HALF_HOUR_AUTOTUNED, HALF_HOUR_TRAINING, for_device
from benchmarks.ruler.plan.filters import Filters
from benchmarks.ruler.plan.points import Contender, DeviceKind
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.sweep.lock import machine_lock
from benchmarks.ruler.worker.protocol import Task

if TYPE_CHECKING:
    from benchmarks.ruler.plan.points import Shape
    from benchmarks.ruler.sweep.sweep_plan import Sweep
    from benchmarks.ruler.tuning.cells import Cell

_N_WORST, _ALTERNATIVES = 6, 4
_OURS = Contender(provider="fused")
# Four shapes that differ most: few rows and many, of a small and of a large block.
_PROFILED = {
    DeviceKind.CUDA: Filters(batch=("1", "512"), hidden=("4096", "14336")),
    DeviceKind.CPU: Filters(batch=("1", "64"), hidden=("256", "896")),
}


def worst_shapes(sweep: Sweep) -> tuple[Shape, ...]:
    """Return the shapes where `fused` is furthest behind the best rival, the worst first; at most six.

    By device time where there is any: what the host costs, no tile changes.
    """
    quantity = Quantity.DEVICE if sweep.plan.device is DeviceKind.CUDA else Quantity.WALL
    ratios: dict[Shape, float] = {}
    for shape in dict.fromkeys(shape for shape, _ in sweep.points()):
        timed = {
            contender: line.outcome
            for (at, contender), line in sweep.recorded.timings.items()
            if at == shape and line.outcome.state is State.OK
        }
        rivals = {str(each): one for each, one in timed.items() if not each.provider.startswith("fused")}
        if _OURS in timed and (found := ratio_to_best(timed[_OURS], rivals, quantity=quantity)) is not None:
            ratios[shape] = found.median
    return tuple(sorted(ratios, key=lambda shape: ratios[shape])[:_N_WORST])


def tune_worst(settings: CampaignSettings) -> Report:
    """Time at the worst shapes every level by its rule and with four other tiles each."""
    from benchmarks.ruler.tuning.candidates import this_machine  # noqa: PLC0415 - what it needs is said first
    from benchmarks.ruler.tuning.cell_timing import DeviceContextLost  # noqa: PLC0415 - the same
    from benchmarks.ruler.tuning.command import tune  # noqa: PLC0415 - the same

    shapes = worst_shapes(recorded_sweep(settings))
    if not shapes:
        return Report(status=Status.UNFINISHED, words="the sweep has measured nothing yet")
    ruler, path = settings.ruler, settings.out / f"worst-{settings.device}.jsonl"
    machine = this_machine(settings.device)
    with machine_lock(ruler.lock_file, say=print, waits=ruler.waits_for_lock):
        try:
            tuned = tune(
                [_cell(shape, settings.device) for shape in shapes],
                machine,
                path=path,
                say=print,
                budget_s=settings.seconds_left(),
                most_tiles=_ALTERNATIVES,
            )
        except DeviceContextLost as lost:
            words = f"{lost.candidate} brought the device down ({lost}); call again, and it is left out"
            return Report(status=Status.FAILED, words=words)
    words = f"{len(tuned.lines)} of {len(shapes)} worst shapes, {tuned.n_measured} of them now, in {path.name}"
    status = Status.UNFINISHED if tuned.n_left else Status.DONE
    return Report(status=status, words=words, measured=tuned.n_measured)


def _cell(shape: Shape, device: DeviceKind) -> Cell:
    from benchmarks.ruler.tuning.cells import Cell, Question  # noqa: PLC0415 - as above
    from fused_mlp import vocabulary  # noqa: PLC0415 - the same

    weights = vocabulary.Weights.PLAIN if device is DeviceKind.CUDA else vocabulary.Weights.PACKED
    return Cell(
        question=Question.WAY,
        operation=vocabulary.Operation(shape.operation),
        number_format=vocabulary.NumberFormat(shape.dtype),
        weights=weights,
        shapes=((shape.batch, shape.dim, shape.hidden),),
    )


def measure_autotuned(settings: CampaignSettings) -> Report:
    """Measure four groups anew with what inductor finds by trying among the rivals."""
    ruler = replace(settings.ruler, axes=for_device(HALF_HOUR_AUTOTUNED, settings.device).name)
    return measure_axes(settings, ruler, tasks=(Task.TIME,))


def measure_training(settings: CampaignSettings) -> Report:
    """Measure one forward and backward at four shapes, and profile them."""
    ruler = replace(settings.ruler, axes=for_device(HALF_HOUR_TRAINING, settings.device).name)
    return measure_axes(settings, ruler, tasks=(Task.TIME, Task.PROFILE))


def profile_some(settings: CampaignSettings) -> Report:
    """Profile what is timed at four shapes, and keep a trace of each contender."""
    asked = _PROFILED[settings.device]
    ruler = replace(
        settings.ruler,
        axes=for_device(HALF_HOUR, settings.device).name,
        filters=replace(settings.ruler.filters, batch=asked.batch, hidden=asked.hidden),
        traced_batches=asked.batch,
    )
    return measure_axes(settings, ruler, tasks=(Task.PROFILE,))


def measure_article(settings: CampaignSettings) -> Report:
    """Measure the article's two cases, and profile them: its point is what runs."""
    ruler = replace(settings.ruler, axes=for_device(ARTICLE, settings.device).name)
    return measure_axes(settings, ruler, tasks=(Task.TIME, Task.PROFILE))
