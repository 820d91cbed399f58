"""Offer the operations as torch.nn modules; pack weights.

Imports the operations and everything below; imported by `models` and the public face.
"""
