"""Judge two commits of a project by results that lie in files: the step of action.yml that decides.

Takes its settings from the environment, so that no text of a pull request becomes a part of a command: FUSEBENCH_BASE
and FUSEBENCH_HEAD (revisions), FUSEBENCH_RESULTS (files or folders of journals or asv results, one a line),
FUSEBENCH_OPTIONS (of `fusebench gate`, as a shell splits them), FUSEBENCH_OUT (folder for the reports). Sets the
outputs `exit-code`, `verdict` and `report`.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

from ci.workflow import message, output, summary
from results.output.report import ReportFormat, unjudged

REPORTS = {"markdown": "comment.md", "json": "findings.json", "junit": "junit.xml"}
STORE = ("fusebench.db", "fusebench.db-wal", "fusebench.db-shm")
VERDICTS = {0: "fine", 1: "regression", 2: "failed", 3: "nothing comparable"}
WRONG_USAGE = 64


def main() -> int:
    """Ingest and judge; 0 where there is an answer, whatever it is, so that it can be posted before it counts."""
    base, head = os.environ.get("FUSEBENCH_BASE", ""), os.environ.get("FUSEBENCH_HEAD", "")
    folder = Path(os.environ.get("FUSEBENCH_OUT", "."))
    results = [line for line in os.environ.get("FUSEBENCH_RESULTS", "").splitlines() if line.strip()]
    if not base or not head or not results:
        message("error", "base, head and results have to be given: two revisions, and where the results lie.")
        return WRONG_USAGE
    folder.mkdir(parents=True, exist_ok=True)
    for file in (*REPORTS.values(), *STORE):  # of an earlier use in the same job, which had other results
        (folder / file).unlink(missing_ok=True)
    try:
        options = shlex.split(os.environ.get("FUSEBENCH_OPTIONS", ""))
    except ValueError as error:
        why = f"options are not what a shell could split ({error}): {os.environ['FUSEBENCH_OPTIONS']}"
        message("error", why)
        return _answered(folder, WRONG_USAGE, why)
    if not base.strip("0"):
        why = "This push began a branch, so no commit before it is known: name one to compare with, as `base`."
        message("warning", why)
        return _answered(folder, 3, why)
    environ = {**os.environ, "FUSEBENCH_DB": str((folder / STORE[0]).resolve())}
    fusebench = [sys.executable, "-P", "-m", "fusebench"]
    ingest = ["ingest", "--", *map(str.strip, results)]
    read = subprocess.run([*fusebench, *ingest], env=environ, check=False, stderr=subprocess.PIPE, text=True)
    print(read.stderr, file=sys.stderr, end="")
    if read.returncode not in {0, 2}:  # 2: a file could not be read, which it has said; the others are judged
        message("error", f"fusebench ingest ended with {read.returncode}; what it said stands above.")
        return _answered(folder, read.returncode, f"fusebench ingest: {_last_line(read.stderr)}")
    reports = [f"--report={name}={folder / file}" for name, file in REPORTS.items()]
    gate = ["gate", "--base", base, "--head", head, "--format", "github", *reports, *options]
    done = subprocess.run([*fusebench, *gate], env=environ, check=False, stderr=subprocess.PIPE, text=True)
    code = done.returncode
    print(done.stderr, file=sys.stderr, end="")
    if not (folder / REPORTS["markdown"]).exists():
        # Not called rightly: that is an answer, too.
        return _answered(folder, code, f"fusebench gate: {_last_line(done.stderr)}")
    return _answered(folder, code)


def _last_line(said: str) -> str:
    return next((line for line in reversed(said.splitlines()) if line.strip()), "it said nothing.")


def _answered(folder: Path, code: int, said: str | None = None) -> int:
    """Set the outputs; without reports of the gate, they and the summary hold `said`. 0 where there is an answer.

    Without one, a comment that an earlier push left on the pull request would be taken for this one's.
    """
    report, verdict = folder / REPORTS["markdown"], VERDICTS.get(code, "not judged")
    if said is not None:
        for name, file in REPORTS.items():
            text = unjudged(said, command="gate", exit_code=code, report_format=ReportFormat(name))
            (folder / file).write_text(f"{text.rstrip()}\n", encoding="utf-8")
        summary(report.read_text(encoding="utf-8"))
    output("exit-code", str(code))
    output("verdict", verdict)
    output("report", str(report))
    return 0 if code in VERDICTS else code


if __name__ == "__main__":
    sys.exit(main())
