"""Command `python -m benchmarks.ruler.campaign PIECE`: everything that needs a GPU, in independent pieces.

Each piece keeps to a time, goes on where the last run of it ended, and needs no network. `all` runs each once; `call-1`
to `call-3` are the half hour of a rented machine; `unpack ARCHIVE` puts back what another machine has packed;
`asv-record JOURNAL` makes asv's record of a run; `cells` prints what to compile ahead of the half hour.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.campaign.calls import CALLS, MINUTES_OF_A_CALL, run_all, run_call
from benchmarks.ruler.campaign.settings import Budget, CampaignSettings, Report, Status, keep_report
from benchmarks.ruler.command_line import Parser
from benchmarks.ruler.errors import InvalidSettings, RulerError
from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.plan.campaign_axes import ARTICLE, HALF_HOUR, cells_ahead
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import ROOT, Settings, settings_from_environment
from benchmarks.ruler.sweep.interruption import ended_by_exit_code, interruptible

if TYPE_CHECKING:
    import argparse

# Piece → where it is: imported only to be run, so that what is missing can be said first.
_FOLDER = "benchmarks.ruler.campaign"
PIECES = {
    "machine": f"{_FOLDER}.machine_description:describe_machine",
    "smoke": f"{_FOLDER}.smoke:smoke",
    "correctness": f"{_FOLDER}.correctness:check_kernels",
    "ceilings": f"{_FOLDER}.pieces:measure_ceilings",
    "host-cost": f"{_FOLDER}.pieces:measure_host_cost",
    "tune": f"{_FOLDER}.pieces:tune",
    "sweep": f"{_FOLDER}.sweeps:sweep",
    "table": f"{_FOLDER}.sweeps:compare",
    "worst": f"{_FOLDER}.second_look:tune_worst",
    "autotuned": f"{_FOLDER}.second_look:measure_autotuned",
    "training": f"{_FOLDER}.second_look:measure_training",
    "profiles": f"{_FOLDER}.second_look:profile_some",
    "article": f"{_FOLDER}.second_look:measure_article",
    "asv": f"{_FOLDER}.sweeps:prove_asv",
    "pack": f"{_FOLDER}.pack:pack",
}
_CALLS = {f"call-{number}": number for number in CALLS}
# Of the files of others: what each command takes beside its name.
_ON_FILES = {"unpack": "ARCHIVE", "asv-record": "JOURNAL"}
# Seconds after which a piece begins nothing new; what it is at then comes on top.
SECONDS = {Budget.QUICK: 60.0, Budget.HALF_HOUR: 150.0, Budget.FULL: 400.0}
_NEEDED = ("torch", "asv", "asv_runner", "click", "rich")
_NEEDED_ON_CUDA = ("triton", "pynvml")


def main() -> None:
    """Run one piece, or several, and exit with 0, or 2 if something failed."""
    options = _parser().parse_args()
    os.chdir(ROOT)
    with ended_by_exit_code(name=options.piece), interruptible():
        sys.exit(_performed(options))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog=f"python -m {_FOLDER}", description=__doc__.splitlines()[0])
    parser.add_argument("piece", choices=["all", *_CALLS, *PIECES, *_ON_FILES, "cells"])
    parser.add_argument("file", nargs="?", type=_absolute, help="ARCHIVE to unpack, JOURNAL to make asv's record of")
    parser.add_argument("--device", choices=list(DeviceKind), type=DeviceKind, default=DeviceKind.CUDA)
    parser.add_argument("--budget", choices=list(Budget), type=Budget, default=Budget.QUICK)
    parser.add_argument("--seconds", type=float, help="time of each piece, instead of the budget's 60, 150 or 400")
    parser.add_argument("--began", type=float, help="when a call began, in seconds since 1970, if not now")
    parser.add_argument("--minutes", type=float, default=MINUTES_OF_A_CALL, help=f"of a call [{MINUTES_OF_A_CALL:g}]")
    parser.add_argument("--copy-to", type=_absolute, help="folder that gets a call's archive and table, too")
    parser.add_argument("--out", type=_absolute, help="folder of the campaign's own files")
    parser.add_argument("--uncommitted", action="store_true", help="measure what no commit holds, beside the record")
    return parser


def _absolute(text: str) -> Path | None:
    return Path(text).resolve() if text else None


def _performed(options: argparse.Namespace) -> int:
    """Do what the options ask for; return the exit code."""
    if wanted := _ON_FILES.get(options.piece):
        if options.file is None:
            raise InvalidSettings(f"{options.piece} {wanted}: name the file")
        return _unpacked(options) if options.piece == "unpack" else _recorded_for_asv(options)
    if options.piece == "cells":
        print(" ".join([*cells_ahead(HALF_HOUR), *cells_ahead(ARTICLE)]))  # noqa: T201 - a command
        return ExitCode.FINE
    if missing := missing_packages(options.device):
        print(missing, file=sys.stderr)  # noqa: T201 - a command
        return ExitCode.WRONG_USAGE
    settings = _settings(options)
    if number := _CALLS.get(options.piece):
        deadline = (options.began or time.time()) + 60 * options.minutes
        in_half_an_hour = replace(settings, budget=Budget.HALF_HOUR)
        return run_call(in_half_an_hour, number, deadline=deadline, copy_to=options.copy_to)
    seconds = options.seconds or SECONDS[options.budget]
    return run_all(settings, seconds=seconds) if options.piece == "all" else run_piece(settings, options.piece)


def _settings(options: argparse.Namespace) -> CampaignSettings:
    ruler, out = _ruler_and_folder(options)
    out.mkdir(parents=True, exist_ok=True)
    if options.uncommitted:
        is_given = ruler.data_dir != Settings().data_dir
        ruler = replace(ruler, is_uncommitted=True, data_dir=ruler.data_dir if is_given else out / "data")
    seconds = options.seconds or SECONDS[options.budget]
    return CampaignSettings(
        ruler=ruler, device=options.device, budget=options.budget, out=out, until=time.time() + seconds
    )


def _ruler_and_folder(options: argparse.Namespace) -> tuple[Settings, Path]:
    ruler = replace(settings_from_environment(), device=options.device)
    out: Path = options.out or ruler.data_dir / "campaign" / options.device
    return ruler, out.resolve()


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
    return ExitCode.FAILED if report.status is Status.FAILED else ExitCode.FINE


def _unpacked(options: argparse.Namespace) -> int:
    from benchmarks.ruler.campaign.unpack import unpack  # noqa: PLC0415 - as a piece

    ruler, out = _ruler_and_folder(options)
    found = unpack(options.file, data_dir=ruler.data_dir, out=out)
    about = f"commit {found.commit[:8]} on {found.machine}"
    print(f"unpacked {found.n_new} of {found.n_files} files of {about}; the others are here")  # noqa: T201 - a command
    for name in found.kept:
        print(f"{name} differs from what is here, which stays; the archive's lies beside it")  # noqa: T201 - the same
    return ExitCode.FINE


def _recorded_for_asv(options: argparse.Namespace) -> int:
    from benchmarks.ruler.campaign.asv_record import record_for_asv  # noqa: PLC0415 - as a piece

    folder = record_for_asv(options.file, settings_from_environment())
    print(f"asv's record is in {folder}")  # noqa: T201 - a command
    return ExitCode.FINE


if __name__ == "__main__":
    main()
