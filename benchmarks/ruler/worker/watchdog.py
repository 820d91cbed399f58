"""Kills a worker's process group if the sweep that started it dies.

Run as a script. argv[1] is the process group; stdin is a pipe that only the sweep holds open. A byte means that the
sweep has ended the group itself; the end of the pipe without one means that the sweep was killed. The worker dies with
the sweep by itself, but a compiler it had started would go on.
"""

import contextlib
import os
import signal
import sys


def main() -> None:
    """Wait for a byte or the end of the pipe."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Whoever ends the sweep politely may end this one too; there is still a group to look after.
        signal.signal(signum, signal.SIG_IGN)
    if not os.read(0, 1):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(int(sys.argv[1]), signal.SIGKILL)


if __name__ == "__main__":
    main()
