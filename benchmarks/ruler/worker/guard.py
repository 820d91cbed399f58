"""Outlives a sweep by a moment: if the sweep dies without a word, whatever its worker left running dies too.

Run as a script. argv[1] is the worker's process group; stdin is a pipe that only the sweep holds open. A byte means
that the sweep has ended the group itself; the end of the pipe without one means that the sweep was killed. The worker
dies with the sweep by itself, but a compiler it had started would go on.
"""

import contextlib
import os
import signal
import sys


def main() -> None:
    """Wait for the sweep's word or its end."""
    if not os.read(0, 1):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(int(sys.argv[1]), signal.SIGKILL)


if __name__ == "__main__":
    main()
