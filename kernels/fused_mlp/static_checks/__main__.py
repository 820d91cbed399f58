"""The command: a table of every kernel, configuration and target; exits with 1 if one does not fit."""

from __future__ import annotations

import argparse
import sys

from fused_mlp.static_checks import KERNEL_FILES, committed_configurations
from fused_mlp.static_checks.footprints import SHARED_MEMORY_LIMIT_BYTES, compile_for, faults_in


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 if a kernel does not fit, else 0."""
    parser = argparse.ArgumentParser(prog="python -m fused_mlp.static_checks", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", default="", help="kernels and configurations whose name holds TEXT")
    parser.add_argument(
        "--also", metavar="MODULE[:FUNCTION]", action="append", default=[], help="further configurations to check"
    )
    chosen = parser.parse_args(arguments)
    print("| target | kernel, dtype, tile, activation | registers | shared memory, bytes | instructions | fits |")  # noqa: T201 - as below
    print("|---|---|---|---|---|---|")  # noqa: T201 - this is a command
    failed = False
    for capability in SHARED_MEMORY_LIMIT_BYTES:
        for _, configuration in committed_configurations(capability=capability, offers=(*KERNEL_FILES, *chosen.also)):
            if chosen.only not in str(configuration):
                continue
            footprint = compile_for(configuration, capability=capability)
            faults = faults_in(footprint, capability=capability, instructions=configuration.instructions)
            failed = failed or bool(faults)
            cells = (
                f"sm_{capability}",
                configuration,
                footprint.registers,
                footprint.shared_memory_bytes,
                ", ".join(sorted(footprint.instructions)),
                "; ".join(faults) or "yes",
            )
            print("|", " | ".join(map(str, cells)), "|")  # noqa: T201 - as above
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
