"""Command `python -m benchmarks.ruler.self_check`."""

from benchmarks.ruler.checks.self_check import main
from benchmarks.ruler.sweep.interruption import interruptible, run_command

if __name__ == "__main__":
    with interruptible():
        run_command(main, name="python -m benchmarks.ruler.self_check")
