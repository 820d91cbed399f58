"""Compile and load the C++ and CUDA libraries; call them without Python overhead.

Imports fused_mlp's vocabulary and errors; imported by choice, ops and the operations.
"""
