"""(act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ, by provider and shape."""

from __future__ import annotations

from benchmarks.ruler.sweep import replay as _replay


class GatedMlp(_replay.Recorded):
    """(act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ; the axes choose the points, the ruler measures them."""

    operation = "gated_mlp"
    params = _replay.parameters("gated_mlp")

    def setup_cache(self) -> _replay.Recording:
        """Measure the sweep once; asv's processes replay it."""
        return _replay.record("gated_mlp")
