"""Suite of known models: asv's parameters are their names, the ruler's the widths of their blocks."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, ClassVar

from benchmarks.ruler.plan.points import CachePolicy, Pass, Shape, contender_from_name
from benchmarks.ruler.plan.presets import PRESETS
from benchmarks.ruler.replay.suite import dtypes_here, record, suite_axes

if TYPE_CHECKING:
    from benchmarks.ruler.plan.axes import Axes
    from benchmarks.ruler.replay.suite import Recording
    from benchmarks.ruler.sweep.sweep_plan import PointKey

PARAM_NAMES = ("provider", "batch", "model", "dtype", "cache")


def parameters() -> list[tuple[object, ...]]:
    """Return the `params` of the suite, in the order of PARAM_NAMES; empty where the axes name no model."""
    of_parts = [_values(part, part.model) for part in suite_axes().parts() if part.model is not None]
    return [tuple(dict.fromkeys(chain.from_iterable(of_one))) for of_one in zip(*of_parts, strict=True)]


def _values(axes: Axes, model: str) -> tuple[tuple[object, ...], ...]:
    return axes.providers, axes.batches, (model,), dtypes_here(axes), tuple(map(str, axes.caches))


def record_models() -> Recording:
    """Measure what this run has not measured yet of the models' operations; return what asv's processes will replay."""
    operations = dict.fromkeys(PRESETS[part.model].operation for part in suite_axes().parts() if part.model is not None)
    return {key: track for operation in operations for key, track in record(operation).items()}


class ByModel:
    """Part of a suite that names points by their model, beside `Recorded`.

    Without a model in the axes asv finds no benchmark in the suite.
    """

    operation: ClassVar[str] = "models"
    param_names: ClassVar[tuple[str, ...]] = PARAM_NAMES

    def __init_subclass__(cls) -> None:
        """Leave out what the axes or the device do not have, as every suite does."""
        super().__init_subclass__()
        if not parameters():
            for name in [name for name in dir(cls) if name.startswith(("time_", "track_"))]:
                setattr(cls, name, None)

    def _key(self, pass_: Pass, *params: object) -> PointKey:
        provider, batch, model, dtype, cache = map(str, params)
        preset = PRESETS[model]
        shape = Shape(
            operation=preset.operation,
            pass_=pass_,
            dtype=dtype,
            activation=preset.activation,
            batch=int(batch),
            hidden=preset.hidden,
            dim=preset.dim,
            cache=CachePolicy(cache),
        )
        return shape, contender_from_name(provider)
