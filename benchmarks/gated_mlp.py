"""(act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ, by provider and shape."""

from __future__ import annotations

from benchmarks.ruler.replay import suite as _suite


class GatedMlp(_suite.Recorded):
    """(act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ; the axes choose the points, the ruler measures them."""

    operation = "gated_mlp"
    params = _suite.parameters("gated_mlp")

    def setup_cache(self) -> _suite.Recording:
        """Measure the sweep once; asv's processes replay it."""
        return _suite.record("gated_mlp")
