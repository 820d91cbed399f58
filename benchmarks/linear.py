"""act(x·Wᵀ + b), by provider and shape."""

from __future__ import annotations

from benchmarks.ruler.sweep import replay as _replay


class Linear(_replay.Recorded):
    """act(x·Wᵀ + b); the axes choose the points, the ruler measures them."""

    operation = "linear"
    params = _replay.parameters("linear")

    def setup_cache(self) -> _replay.Recording:
        """Measure the sweep once; asv's processes replay it."""
        return _replay.record("linear")
