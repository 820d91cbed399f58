"""Command `python -m benchmarks.tune` (benchmarks.ruler.tuning.command). asv imports this file: it imports nothing."""

if __name__ == "__main__":
    from benchmarks.ruler.sweep.interruption import run_command
    from benchmarks.ruler.tuning.command import main

    run_command(main, name="python -m benchmarks.tune")
