"""Fused MLPs for PyTorch."""
