"""MLP blocks of known models, by provider, batch and model; the axes `models` hold all presets."""

from __future__ import annotations

from benchmarks.ruler.replay import models as _models
from benchmarks.ruler.replay import suite as _suite


class Models(_models.ByModel, _suite.Recorded):
    """A model's block; the axes choose the models, the ruler measures them."""

    params = _models.parameters()

    def setup_cache(self) -> _suite.Recording:
        """Measure the sweep once; asv's processes replay it."""
        return _models.record_models()
