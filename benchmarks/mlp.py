"""Linear → activation → Linear, by provider and shape."""

from __future__ import annotations

from benchmarks.ruler.replay import suite as _suite


class Mlp(_suite.Recorded):
    """Linear → activation → Linear; the axes choose the points, the ruler measures them."""

    operation = "mlp"
    params = _suite.parameters("mlp")

    def setup_cache(self) -> _suite.Recording:
        """Measure the sweep once; asv's processes replay it."""
        return _suite.record("mlp")
