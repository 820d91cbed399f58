"""Refuse to time on a machine on which others work: exit 3 if its load stays above a limit.

Run as `python -m ci.load --most 0.3 --wait 120`. The load is the share of all processors that others keep busy.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ci.workflow import message, output

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

REFUSED = 3
SECONDS = 5.0


def busy_share(before: Sequence[int], after: Sequence[int]) -> float:
    """Return the share of time that all processors were busy between two first lines of /proc/stat, 0 to 1.

    Fields: user, nice, system, idle, iowait, irq, softirq, steal, in ticks. What a hypervisor stole counts as busy.
    """
    spent = [b - a for a, b in zip(before[:8], after[:8], strict=True)]
    total = sum(spent)
    return 1.0 - (spent[3] + spent[4]) / total if total else 0.0


def waited_for_calm(
    look: Callable[[], float], *, most: float, wait_s: float, clock: Callable[[], float] = time.monotonic
) -> tuple[bool, float]:
    """Look until the load is at most `most` or `wait_s` are over; whether it is, and the least load that was seen."""
    ends, least = clock() + wait_s, 1.0
    while True:
        least = min(least, look())
        if least <= most:
            return True, least
        if clock() >= ends:
            return False, least


def main(arguments: Sequence[str] | None = None) -> int:
    """Look at this machine; 0 if it is calm, 3 if not."""
    parser = argparse.ArgumentParser(prog="ci.load", description=__doc__)
    parser.add_argument("--most", type=float, default=0.3, help="largest share of all processors")
    parser.add_argument("--wait", type=float, default=120.0, help="seconds to wait for less")
    asked = parser.parse_args(arguments)
    is_calm, load = waited_for_calm(_look, most=asked.most, wait_s=asked.wait)
    output("calm", str(is_calm).lower())
    if not is_calm:
        message(
            "warning",
            f"The machine is busy: others kept {100 * load:.0f} % of it busy or more for {asked.wait:g} s, the limit "
            f"is {100 * asked.most:.0f} %. Nothing is timed; exact metrics are judged all the same.",
        )
    return 0 if is_calm else REFUSED


def _look() -> float:
    before = _ticks()
    time.sleep(SECONDS)
    return busy_share(before, _ticks())


def _ticks() -> list[int]:
    return [int(field) for field in Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]]


if __name__ == "__main__":
    sys.exit(main())
