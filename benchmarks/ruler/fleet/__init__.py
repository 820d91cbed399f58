"""Fleet: one sweep over several hosts and GPUs, each shard of it measured by `fleet work` wherever an engine starts it.

Imports commits and what lies below; imported by nobody. Run as `python -m benchmarks.ruler.fleet.command`.
"""
