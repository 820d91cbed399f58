"""act(x·Wᵀ + b), by provider and shape."""

from __future__ import annotations

from benchmarks.ruler.replay import suite as _suite


class Linear(_suite.Recorded):
    """act(x·Wᵀ + b); the axes choose the points, the ruler measures them."""

    operation = "linear"
    params = _suite.parameters("linear")

    def setup_cache(self) -> _suite.Recording:
        """Measure the sweep once; asv's processes replay it."""
        return _suite.record("linear")
