"""Triton building blocks shared by the operations: tiles, products, launches, workspaces.

Imports fused_mlp's vocabulary and errors; imported by the operations and choice.
"""
