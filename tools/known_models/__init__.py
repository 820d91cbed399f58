"""Models that people run, their MLPs fused and unfused, and their speed: what `fused_models` shows."""
