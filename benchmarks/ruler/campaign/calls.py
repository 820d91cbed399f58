"""Pieces of a campaign one after the other: all of a budget's, or those of one of the calls of a rented machine.

A call ends by its deadline, whatever a piece is at, and leaves an archive all the while: it may be killed, too.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.campaign.pack import MOST_ARCHIVE_BYTES, archive_path, pack
from benchmarks.ruler.campaign.settings import Budget, CampaignSettings, Status, kept_report, table_path
from benchmarks.ruler.errors import RulerError
from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.plan.settings import ROOT
from benchmarks.ruler.sweep.interruption import Interrupted
from benchmarks.ruler.worker.parent_death import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Iterable

# Of a rented half hour, where each command may take ten minutes and the last seconds are for the archive.
MINUTES_OF_A_CALL = 9.5
_PACKED_EVERY_S, _LAST_PACK_S, _LEAST_S = 30.0, 10.0, 5.0
# Longer than one group of all contenders takes, compiling included, which is what a piece may be at.
_MOST_BEYOND_S = 120.0


@dataclass(frozen=True, kw_only=True)
class Stint:
    """Piece of a campaign and the most seconds after which it begins nothing new."""

    piece: str
    seconds: float


def _stints(**seconds: float) -> tuple[Stint, ...]:
    return tuple(Stint(piece=name.replace("_", "-"), seconds=most) for name, most in seconds.items())


# First whether anything is wrong, then what is called most often, then what explains it: what was never measured first.
CALLS = {
    1: _stints(machine=20, smoke=150, correctness=240, ceilings=60, host_cost=30),
    2: _stints(sweep=510, table=15),
    3: _stints(article=60, asv=40, training=90, worst=120, profiles=90, autotuned=120, table=15),
}
_ALL = ("correctness", "ceilings", "host-cost", "tune", "sweep", "table", "asv", "pack")
PIECES_OF = {
    Budget.QUICK: _ALL,
    Budget.HALF_HOUR: (*(stint.piece for stints in CALLS.values() for stint in stints), "pack"),
    Budget.FULL: _ALL,
}


def run_all(settings: CampaignSettings, *, seconds: float) -> int:
    """Run each piece of the budget in a process of its own, even if others failed; print the table and a summary."""
    stints = [Stint(piece=piece, seconds=seconds) for piece in dict.fromkeys(PIECES_OF[settings.budget])]
    return _run(settings, stints, deadline=math.inf, copy_to=None)


def run_call(settings: CampaignSettings, number: int, *, deadline: float, copy_to: Path | None) -> int:
    """Run the pieces of call `number` until `deadline`, Unix time in seconds; keep archive and table in `copy_to`, too.

    Packs all the while, so that a kill loses half a minute at most.
    """
    return _run(settings, CALLS[number], deadline=deadline - _LAST_PACK_S, copy_to=copy_to)


def _run(settings: CampaignSettings, stints: Iterable[Stint], *, deadline: float, copy_to: Path | None) -> int:
    codes: dict[str, int | None] = {}
    try:
        for stint in stints:
            print(f"== {stint.piece}", flush=True)  # noqa: T201 - a command
            seconds = min(stint.seconds, deadline - time.time())
            if seconds < _LEAST_S:
                codes[stint.piece] = None
                print("no time is left for it in this call", flush=True)  # noqa: T201 - the same
                continue
            codes[stint.piece] = _run_piece(settings, stint.piece, seconds, deadline=deadline, copy_to=copy_to)
            if deadline < math.inf:
                _hand_over(settings, copy_to)
    except Interrupted:
        print("Interrupted; the next run goes on from here.")  # noqa: T201 - the same
        raise
    finally:
        if deadline < math.inf:
            _hand_over(settings, copy_to)
    if (table := table_path(settings)).exists():
        print(f"\n{table.read_text(encoding='utf-8')}")  # noqa: T201 - the same
    return _summed_up(settings, codes)


def _run_piece(
    settings: CampaignSettings, piece: str, seconds: float, *, deadline: float, copy_to: Path | None
) -> int | None:
    """Run a piece to its end; return its exit code, or None if it was ended: by the deadline, or as it hung."""
    (settings.out / "reports" / f"{piece}.json").unlink(missing_ok=True)
    command = [
        *(sys.executable, "-m", "benchmarks.ruler.campaign", piece),
        *("--device", settings.device, "--budget", settings.budget, "--out", str(settings.out)),
        *("--seconds", str(seconds), *(["--uncommitted"] if settings.ruler.is_uncommitted else [])),
    ]
    # One that hangs takes what is left of a call from the pieces after it, so it may not.
    end = min(deadline, time.time() + seconds + _MOST_BEYOND_S) if deadline < math.inf else math.inf
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        preexec_fn=end_with_parent,  # noqa: PLW1509 - no thread is running yet
    )
    try:
        while (now := time.time()) < end:
            try:
                return process.wait(timeout=min(_PACKED_EVERY_S, end - now))
            except subprocess.TimeoutExpired:
                if deadline < math.inf:
                    _hand_over(settings, copy_to)
        whose = "the call's" if end == deadline else "its"
        print(f"{piece}: {whose} time is up, and it is ended", flush=True)  # noqa: T201 - a command
        return None
    finally:
        _ensure_ended(process)


def _ensure_ended(process: subprocess.Popen[bytes]) -> None:
    """End a process that has not ended; one that waits for a driver may outlive even that, and is not waited for."""
    for end in (process.terminate, process.kill):
        if process.poll() is None:
            end()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=_LAST_PACK_S / 3)


def _hand_over(settings: CampaignSettings, copy_to: Path | None) -> None:
    """Pack what there is and copy archive and table; what keeps that from happening is printed and ends nothing."""
    try:
        pack(settings)
        if copy_to is not None:
            _copy(archive_path(settings), table_path(settings), copy_to=copy_to)
    except (OSError, RulerError) as error:
        print(f"pack: {error}", flush=True)  # noqa: T201 - a command


def _copy(*paths: Path, copy_to: Path) -> None:
    for path in filter(Path.exists, paths):
        if path.stat().st_size > MOST_ARCHIVE_BYTES:
            print(f"pack: {path} is too large to be let out; what lies in {copy_to} stays", flush=True)  # noqa: T201 - a command
            continue
        beside = copy_to / f"{path.name}.partial"
        shutil.copyfile(path, beside)
        beside.replace(copy_to / path.name)


def _summed_up(settings: CampaignSettings, codes: dict[str, int | None]) -> int:
    reports = {piece: kept_report(settings, piece) for piece in codes}
    for piece, report in reports.items():
        ended = "unfinished: the time was up" if codes[piece] is None else f"failed: ended with {codes[piece]}"
        said = f"{report.status}: {report.words}" if report else ended
        print(f"{piece:<12} {said}")  # noqa: T201 - a command
    kept = {piece: report for piece, report in reports.items() if report is not None}
    unfinished = [
        piece
        for piece in codes
        if (piece in kept and kept[piece].status is Status.UNFINISHED) or (piece not in kept and codes[piece] is None)
    ]
    if unfinished:
        print(f"Unfinished: {', '.join(unfinished)}. The same command goes on from here.")  # noqa: T201 - a command
    elif not any(report.measured for report in kept.values()):
        print("Nothing was left to measure.")  # noqa: T201 - the same
    ended_badly = any(code is not None and piece not in kept for piece, code in codes.items())
    failed = ended_badly or any(report.status is Status.FAILED for report in kept.values())
    return ExitCode.FAILED if failed else ExitCode.FINE
