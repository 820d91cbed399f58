"""Traces of torch.profiler, read: memory and least bytes of operators, the device's gaps, calls of its runtime.

Pure, and without torch: a saved trace of any machine gives the same summary anywhere.
"""
