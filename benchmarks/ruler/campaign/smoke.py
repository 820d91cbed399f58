"""First checks of a device, each recorded before the next: one that kills its process is known by then.

The checks (smoke_checks.py) run in a process of their own, which is started again after one that was lost.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.campaign.settings import CampaignSettings, Report, Status, code_measured
from benchmarks.ruler.command_line import Parser
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import ROOT, environment_from_settings
from benchmarks.ruler.record.durable import append_durably
from benchmarks.ruler.worker.parent_death import end_with_parent
from benchmarks.ruler.worker.process import python_path

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.ruler.campaign.smoke_checks import Check

_MODULE = "benchmarks.ruler.campaign.smoke"
_LOST, _HUNG = "the process that ran it was lost", "it gave no sign for as long as any check may take"
_BEGUN = "begun"
# A process that ends as often without having finished a check will not finish any.
_MOST_PROCESSES = 10
# Longer than any check takes, its kernels' compilation included; nvcc takes longer than Triton.
_LONGEST_S, _LONGEST_WITH_NVCC_S = 60.0, 150.0


def smoke(settings: CampaignSettings) -> Report:
    """Run the checks that are not recorded yet for this code, until the time is up."""
    path, code = settings.out / "smoke.jsonl", code_measured(settings.ruler)
    before = marks(path, code=code)
    status = os.EX_TEMPFAIL
    for _ in range(_MOST_PROCESSES):
        if settings.seconds_left() <= 0:
            break
        status = _checked_in_a_process(settings, path, code)
        _give_up_on_begun(path, code=code, reason=_HUNG if status == -signal.SIGALRM else _LOST)
        if status in {os.EX_OK, os.EX_TEMPFAIL, os.EX_UNAVAILABLE}:
            break
    if status == os.EX_UNAVAILABLE:
        return Report(status=Status.ABSENT, words=f"torch sees no {settings.device} device here")
    found = marks(path, code=code)
    wrong = {name: line["reason"] for name, line in found.items() if line["mark"] == "wrong"}
    for name, reason in wrong.items():
        print(f"  {name}: {reason}", flush=True)  # noqa: T201 - a command
    counted = Counter(line["mark"] for line in found.values())
    measured = len(found) - len(before)
    words = f"{counted['right']} right, {counted['absent']} absent, {len(wrong)} wrong; {measured} of them now"
    if wrong:
        return Report(status=Status.FAILED, words=words, measured=measured)
    return Report(status=Status.DONE if status == os.EX_OK else Status.UNFINISHED, words=words, measured=measured)


def marks(path: Path, *, code: str) -> dict[str, dict[str, Any]]:
    """Return by name the lines of checks that are recorded for `code`; a torn line is ignored."""
    return {name: line for name, line in _newest(path, code=code).items() if line["mark"] != _BEGUN}


def _newest(path: Path, *, code: str) -> dict[str, dict[str, Any]]:
    found = {}
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if line["code"] == code:
            found[line["check"]] = line
    return found


def _give_up_on_begun(path: Path, *, code: str, reason: str) -> None:
    for name, line in _newest(path, code=code).items():
        if line["mark"] == _BEGUN:
            _append(path, code=code, check=name, mark="wrong", reason=reason)


def _append(path: Path, **line: str | None) -> None:
    append_durably(path, json.dumps(line) + "\n")


def _checked_in_a_process(settings: CampaignSettings, path: Path, code: str) -> int:
    command = [sys.executable, "-m", _MODULE, settings.device, str(path), code, str(settings.until)]
    environ = {**environment_from_settings(settings.ruler), "PYTHONPATH": python_path()}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environ,
        stdin=subprocess.DEVNULL,
        preexec_fn=end_with_parent,  # noqa: PLW1509 - no thread is running yet
    ) as process:
        try:
            # What one check takes beyond the time; one that hangs ends its process itself.
            return process.wait(timeout=settings.seconds_left() + _LONGEST_WITH_NVCC_S + 5)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
        except BaseException:
            process.kill()
            raise


def run_checks(found: Mapping[str, Check], path: Path, *, code: str, until: float) -> int:
    """Run the checks that are not recorded yet and record each; return the exit code of the process they run in."""
    from benchmarks.ruler.campaign.smoke_checks import Finding, Mark  # noqa: PLC0415 - needs torch
    from benchmarks.ruler.measure.attempt import is_device_fault  # noqa: PLC0415 - the same

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    known = marks(path, code=code)
    for name, check in found.items():
        if name in known:
            continue
        if time.time() >= until:
            return os.EX_TEMPFAIL
        _append(path, code=code, check=name, mark=_BEGUN, reason=None)
        is_lost = False
        # Ends this process: a kernel that hangs is waited for outside Python.
        signal.setitimer(signal.ITIMER_REAL, _LONGEST_WITH_NVCC_S if "fused-cuda" in name else _LONGEST_S)
        try:
            finding = check()
        except Exception as error:  # noqa: BLE001 - whatever a kernel raises is its check's result
            finding = Finding(mark=Mark.WRONG, reason=f"{type(error).__name__}: {error}"[:500])
            is_lost = is_device_fault(error)
        signal.setitimer(signal.ITIMER_REAL, 0)
        _append(path, code=code, check=name, mark=finding.mark, reason=finding.reason)
        if is_lost:
            return os.EX_SOFTWARE
    return os.EX_OK


def main(arguments: list[str]) -> int:
    """Run the checks of a device in this process; return its exit code, 64 at wrong arguments."""
    parser = Parser(prog=f"python -m {_MODULE}", description="Run the checks of a device, as the campaign does.")
    parser.add_argument("device", choices=list(DeviceKind), type=DeviceKind)
    parser.add_argument("file", type=Path, help="file of results, JSON lines, which is appended to")
    parser.add_argument("code", help="hash of the code that is checked")
    parser.add_argument("until", type=float, help="when nothing new begins any more, in seconds since 1970")
    asked = parser.parse_args(arguments)

    import torch  # noqa: PLC0415 - only in the process that needs it

    from benchmarks.ruler.campaign.smoke_checks import checks  # noqa: PLC0415 - the same

    if asked.device == DeviceKind.CUDA and not torch.cuda.is_available():
        return os.EX_UNAVAILABLE
    return run_checks(checks(torch.device(asked.device)), asked.file, code=asked.code, until=asked.until)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
