"""Fuse MLPs in other people's models: plan from their code, put fused blocks in, take them out again.

Imports the modules and everything below; imported by nothing in fused_mlp but its public face.
"""
