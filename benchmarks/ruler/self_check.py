"""Command `python -m benchmarks.ruler.self_check`."""

from benchmarks.ruler.checks.self_check import main

if __name__ == "__main__":
    main()
