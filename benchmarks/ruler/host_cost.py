"""Command `python -m benchmarks.ruler.host_cost`."""

from benchmarks.ruler.checks.host_cost import main
from benchmarks.ruler.sweep.interruption import interruptible, run_command

if __name__ == "__main__":
    with interruptible():
        run_command(main, name="python -m benchmarks.ruler.host_cost")
