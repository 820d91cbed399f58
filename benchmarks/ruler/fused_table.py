"""Command `python -m benchmarks.ruler.fused_table`."""

from benchmarks.ruler.checks.fused_table import main
from benchmarks.ruler.sweep.interruption import interruptible, run_command

if __name__ == "__main__":
    with interruptible():
        run_command(main, name="python -m benchmarks.ruler.fused_table")
