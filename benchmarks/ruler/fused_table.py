"""Command `python -m benchmarks.ruler.fused_table`."""

from benchmarks.ruler.checks.fused_table import main

if __name__ == "__main__":
    main()
