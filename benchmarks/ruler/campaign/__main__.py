"""Command `python -m benchmarks.ruler.campaign PIECE`: everything that needs a GPU, in independent pieces.

Each piece keeps to a time, goes on where the last run of it ended, and needs no network. `all` runs each once.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.ruler.campaign.settings import Budget, CampaignSettings, Report, Status, keep_report, kept_report
from benchmarks.ruler.errors import RulerError
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import ROOT, Settings, settings_from_environment

FINE, FAILED, WRONG_USAGE = 0, 2, 64
# Piece → where it is: imported only to be run, so that what is missing can be said first.
PIECES = {
    "correctness": "benchmarks.ruler.campaign.correctness:check_kernels",
    "ceilings": "benchmarks.ruler.campaign.pieces:measure_ceilings",
    "host-cost": "benchmarks.ruler.campaign.pieces:measure_host_cost",
    "tune": "benchmarks.ruler.campaign.pieces:tune",
    "sweep": "benchmarks.ruler.campaign.pieces:sweep",
    "table": "benchmarks.ruler.campaign.pieces:compare",
    "pack": "benchmarks.ruler.campaign.pack:pack",
}
# Seconds after which a piece begins nothing new; what it is at then, and asv's replay, come on top.
SECONDS = {Budget.QUICK: 60.0, Budget.FULL: 400.0}
_NEEDED = ("torch", "asv", "asv_runner", "click", "rich")
_NEEDED_ON_CUDA = ("triton", "pynvml")


def main() -> None:
    """Run one piece, or all of them, and exit with 0, or 2 if something failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ruler.campaign", description=__doc__.splitlines()[0])
    parser.add_argument("piece", choices=["all", *PIECES])
    parser.add_argument("--device", choices=list(DeviceKind), type=DeviceKind, default=DeviceKind.CUDA)
    parser.add_argument("--budget", choices=list(Budget), type=Budget, default=Budget.QUICK)
    parser.add_argument("--seconds", type=float, help="time of each piece, instead of the budget's 60 or 400")
    parser.add_argument("--out", type=Path, help="folder of the campaign's own files")
    parser.add_argument("--uncommitted", action="store_true", help="measure what no commit holds, beside the record")
    options = parser.parse_args()
    os.chdir(ROOT)
    if missing := missing_packages(options.device):
        print(missing, file=sys.stderr)  # noqa: T201 - a command
        sys.exit(WRONG_USAGE)
    ruler = replace(settings_from_environment(), device=options.device)
    out = (options.out or ruler.data_dir / "campaign" / options.device).resolve()
    out.mkdir(parents=True, exist_ok=True)
    if options.uncommitted:
        is_given = ruler.data_dir != Settings().data_dir
        ruler = replace(ruler, is_uncommitted=True, data_dir=ruler.data_dir if is_given else out / "data")
    seconds = options.seconds or SECONDS[options.budget]
    settings = CampaignSettings(
        ruler=ruler, device=options.device, budget=options.budget, out=out, until=time.time() + seconds
    )
    sys.exit(run_all(settings, seconds=seconds) if options.piece == "all" else run_piece(settings, options.piece))


def missing_packages(device: DeviceKind) -> str | None:
    """Return which packages a campaign on `device` lacks here and how to install them, or None."""
    needed = (*_NEEDED, *(_NEEDED_ON_CUDA if device is DeviceKind.CUDA else ()))
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if not missing:
        return None
    return (
        f"a campaign on {device} needs {', '.join(missing)}, not installed for {sys.executable}.\n"
        "With a network: make setup. Without one: `make gpu-bundle` on a machine that has it, carry the folder here, "
        "then\n  python3 -m pip install --no-index --find-links wheels -r requirements.txt\n"
        "torch and triton are not in that folder: it uses the ones this machine has (docs/gpu-campaign.md)."
    )


def run_piece(settings: CampaignSettings, piece: str) -> int:
    """Run one piece, print its report and return the exit code."""
    module, function = PIECES[piece].split(":")
    try:
        report: Report = getattr(importlib.import_module(module), function)(settings)
    except RulerError as error:
        report = Report(status=Status.FAILED, words=str(error))
    keep_report(settings, piece, report)
    print(f"{piece}: {report.status}: {report.words}", flush=True)  # noqa: T201 - a command
    return FAILED if report.status is Status.FAILED else FINE


def run_all(settings: CampaignSettings, *, seconds: float) -> int:
    """Run each piece in a process of its own, even if others failed; then the table and a summary."""
    common = ["--device", settings.device, "--budget", settings.budget, "--out", str(settings.out)]
    common += ["--seconds", str(seconds), *(["--uncommitted"] if settings.ruler.is_uncommitted else [])]
    codes = {}
    for piece in PIECES:
        print(f"== {piece}", flush=True)  # noqa: T201 - a command
        (settings.out / "reports" / f"{piece}.json").unlink(missing_ok=True)
        command = [sys.executable, "-m", "benchmarks.ruler.campaign", piece, *common]
        with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL) as process:
            try:
                codes[piece] = process.wait()
            except KeyboardInterrupt:
                process.wait()
                print("Interrupted; the next run goes on from here.")  # noqa: T201 - a command
                return 130
    table = settings.out / f"table-{settings.device}.md"
    if table.exists():
        print(f"\n{table.read_text(encoding='utf-8')}")  # noqa: T201 - the same
    return _summed_up(settings, codes)


def _summed_up(settings: CampaignSettings, codes: dict[str, int]) -> int:
    reports = {piece: kept_report(settings, piece) for piece in PIECES}
    for piece, report in reports.items():
        said = f"{report.status}: {report.words}" if report else f"failed: ended with {codes[piece]}"
        print(f"{piece:<12} {said}")  # noqa: T201 - a command
    kept = [report for report in reports.values() if report is not None]
    unfinished = [piece for piece, report in reports.items() if report and report.status is Status.UNFINISHED]
    if unfinished:
        print(f"Unfinished: {', '.join(unfinished)}. The same command goes on from here.")  # noqa: T201 - a command
    elif not any(report.measured for report in kept):
        print("Nothing was left to measure.")  # noqa: T201 - the same
    return FAILED if len(kept) < len(PIECES) or any(report.status is Status.FAILED for report in kept) else FINE


if __name__ == "__main__":
    main()
