"""Command `python -m benchmarks.ruler.host_cost`."""

from benchmarks.ruler.checks.host_cost import main

if __name__ == "__main__":
    main()
