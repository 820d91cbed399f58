"""Register the operations with torch: schemas, fake kernels, autograd, argument checks.

Imports choice and below; imported by the operations.
"""
