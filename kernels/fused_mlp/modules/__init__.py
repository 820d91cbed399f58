"""Offer the operations as torch.nn modules; pack weights; fuse other people's models.

Imports the operations and everything below; imported by nothing in fused_mlp but its public face.
"""
