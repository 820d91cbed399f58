"""Linear → activation → Linear, by provider and shape."""

from __future__ import annotations

from benchmarks.ruler.sweep import replay as _replay


class Mlp(_replay.Recorded):
    """Linear → activation → Linear; the axes choose the points, the ruler measures them."""

    operation = "mlp"
    params = _replay.parameters("mlp")

    def setup_cache(self) -> _replay.Recording:
        """Measure the sweep once; asv's processes replay it."""
        return _replay.record("mlp")
