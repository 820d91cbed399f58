"""Command `python -m benchmarks.tune` (benchmarks.ruler.tuning.command). asv imports this file: it imports nothing."""

if __name__ == "__main__":
    from benchmarks.ruler.tuning.command import main

    main(prog_name="python -m benchmarks.tune")
