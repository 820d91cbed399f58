"""Compare equal commits on this machine, and ones with a provider slower by 5 and 10 %: what is found, and rightly?

Run as `python -m real_aa [--folder F] [--only NAME]… [--report]` with tools/ on the path; `make bench-real-aa` does.
Each comparison is one `fusebench ab` in a clone of HEAD, on one thread, at 120 points of ours in 12 surfaces. What was
compared is kept in the folder, so that the same command goes on with what is missing, within a comparison, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from real_aa.scoring import Planned, Scored, is_as_it_should_be, report, score
from results.commands.judging.stored_rounds import LEAST_CHANGE, LOOKS, Q
from results.queries import judged_rounds
from results.store import OpenMode, open_store
from results.units import percent

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "real-aa"
OURS = "fused,fused:packed,fused-onednn:packed,fused-pure"
# A few samples are enough of one visit: what differs from process to process is larger.
AXES = """
operations = ["linear", "mlp", "gated_mlp"]
providers = ["eager", "fused", "fused:packed", "fused-onednn:packed", "fused-pure"]
batches = [16, 32, 64, 128, 256]
hiddens = [256, 512]
budget_s = 0.25
"""
MODULE = "kernels/fused_mlp/modules/packable.py"
SOUND = (
    "from typing import TYPE_CHECKING, Any\n",
    """
        try:
            return fast_calls.call_module(self._operation, self, x)
""",
)
# By the time of the call itself, so that each shape is slowed by the same share; packed copies are not.
SLOWER = (
    "from time import perf_counter as now\nfrom typing import TYPE_CHECKING, Any\n",
    """
        else:
            begun = now()
            output = fast_calls.call_module(self._operation, self, x)
            until = begun + {factor} * (now() - begun)
            while now() < until:
                pass
            return output
        try:
            return fast_calls.call_module(self._operation, self, x)
""",
)


PLANNED = (
    *(Planned(name=f"aa-{i}") for i in range(1, 6)),
    Planned(name="slower-10", share=0.10),
    Planned(name="slower-5", share=0.05),
)


def main() -> int:
    """Make the comparisons that are missing, print what all of them found; 1 if it is not what it should be."""
    arguments = _arguments()
    asked = [one for one in PLANNED if not arguments.only or one.name in arguments.only]
    missing = [one for one in asked if not _kept_in(arguments.folder, one).exists()]
    if missing and not arguments.report:
        checkout, commits = prepared(arguments.folder)
        for planned in missing:
            compare(planned, checkout, commits, arguments.folder)
    scores = [scored(planned, arguments.folder) for planned in PLANNED if _kept_in(arguments.folder, planned).exists()]
    print("\n".join(report(scores)))
    return 0 if is_as_it_should_be(scores) else 1


def prepared(folder: Path) -> tuple[Path, dict[str, str]]:
    """Return a clone of HEAD with a commit for each share, and their hashes by name, the base's among them."""
    checkout, known = folder / "checkout", folder / "commits.json"
    if known.exists():
        found: dict[str, str] = json.loads(known.read_text(encoding="utf-8"))
        return checkout, found
    folder.mkdir(parents=True, exist_ok=True)
    if not checkout.exists():
        _git(folder, "clone", "--quiet", str(ROOT), str(checkout))
    base = _git(checkout, "rev-parse", "HEAD")
    path, commits = checkout / MODULE, {"base": base}
    for share in sorted({planned.share for planned in PLANNED}):
        _git(checkout, "checkout", "--quiet", "--force", "--detach", base)
        path.write_text(planted(path.read_text(encoding="utf-8"), share), encoding="utf-8")
        with (checkout / "README.md").open("a", encoding="utf-8") as readme:
            readme.write(f"\nplanted: {share}\n")
        author = ("-c", "user.name=bench-real-aa", "-c", "user.email=bench-real-aa@localhost")
        _git(checkout, *author, "commit", "-qam", f"Slower by {percent(share, digits=0)}" if share else "Equal kernels")
        commits[str(share)] = _git(checkout, "rev-parse", "HEAD")
    _git(checkout, "checkout", "--quiet", "--detach", base)
    (folder / "real-aa.toml").write_text(AXES, encoding="utf-8")
    known.write_text(json.dumps(commits), encoding="utf-8")
    return checkout, commits


def planted(text: str, share: float) -> str:
    """Return the module's text with calls slower by `share`. Raises: SystemExit if it is not the text that is known."""
    if any(text.count(sound) != 1 for sound in SOUND):
        raise SystemExit(f"{MODULE} has changed: where `fused` is called is not there once, so nothing can be planted")
    for sound, slower in zip(SOUND, SLOWER, strict=True):
        text = text.replace(sound, slower.format(factor=1 + share)) if share else text
    return text


def compare(planned: Planned, checkout: Path, commits: Mapping[str, str], folder: Path) -> None:
    """Measure one comparison as a user does, and keep what came of it. Raises: SystemExit if it was not measured."""
    base, head = commits["base"], commits[str(planned.share)]
    options = ("--axes", str(folder / "real-aa.toml"), "--provider", OURS, "--name", planned.name)
    environ = {
        "FUSEBENCH_THREADS": "1",
        "FUSEBENCH_CEILINGS": "0",  # no roofline takes part in a verdict
        "FUSEBENCH_DATA": str(folder / "data"),
        "PYTHONPATH": str(checkout),
    }
    begun, load = time.monotonic(), os.getloadavg()[1]
    with (folder / f"{planned.name}.txt").open("w", encoding="utf-8") as file:
        done = subprocess.run(
            [sys.executable, "-m", "fusebench", "ab", base, head, *options],
            cwd=checkout,
            env={**os.environ, **environ},
            stdout=file,
            check=False,
        )
    if done.returncode not in {0, 1, 2, 3}:
        raise SystemExit(f"{planned.name}: fusebench ab ended with {done.returncode}; the same command goes on")
    load = (load + os.getloadavg()[1]) / 2
    part = folder / f"{planned.name}.part"
    part.write_text(json.dumps({"seconds": time.monotonic() - begun, "load": load}), encoding="utf-8")
    part.rename(_kept_in(folder, planned))


def scored(planned: Planned, folder: Path) -> Scored:
    """Judge a comparison that was measured, as the judgement is now."""
    commits = json.loads((folder / "commits.json").read_text(encoding="utf-8"))
    kept = json.loads(_kept_in(folder, planned).read_text(encoding="utf-8"))
    with open_store(str(folder / "data" / "fusebench.db"), mode=OpenMode.READ) as store:
        judgement = judged_rounds(
            store,
            base=commits["base"],
            head=commits[str(planned.share)],
            base_run=f"{planned.name}-base",
            head_run=f"{planned.name}-head",
            least_change=LEAST_CHANGE,
            q=Q / len(LOOKS),
        )
    return score(judgement, planned, seconds=kept["seconds"], load=kept["load"])


def _kept_in(folder: Path, planned: Planned) -> Path:
    return folder / f"{planned.name}.json"


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench-real-aa", description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the clone and what was measured are kept")
    parser.add_argument("--only", action="append", choices=[one.name for one in PLANNED], help="may be repeated")
    parser.add_argument("--report", action="store_true", help="measure nothing, tell what is kept")
    found = parser.parse_args()
    found.folder = found.folder.resolve()  # git is run in folders of its own
    return found


if __name__ == "__main__":
    sys.exit(main())
