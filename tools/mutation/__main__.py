"""Plant faults in the rules that decide verdicts and let the tests find them; `make mutation` does.

Run as `python -m mutation [--module NAME]… [--write FILE]` with tools/ on the path. Exits 1 if a fault survives that
equivalent.toml does not name, or if it names one that is killed or is no fault any more.
"""

from __future__ import annotations

import argparse
import enum
import importlib
import inspect
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from mutation.planting import Fault, faults_in
from mutation.trials import Fate, Trials

ROOT = Path(__file__).parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
RULES = "results.judgement"
MODULES = (
    "outcomes", "verdicts", "series_verdicts", "sides", "noise", "known_levels", "thresholds", "commit_findings",
    "run_spreads", "comparison.processes", "comparison.differences", "comparison.evidence",
    "comparison.false_discoveries", "comparison.moderation", "comparison.relevant_changes", "comparison.slow_rounds",
    "comparison.shared_noise", "comparison.surfaces", "winners", "changes.exact", "changes.surfaces",
    "explanation.causes", "explanation.classes",
)  # fmt: skip
TESTS = (
    *(
        f"tests/results/judgement/test_{name}.py"
        for name in (
            "verdicts", "evidence", "noise", "winners", "exact_changes", "changes_of_place", "finding_classes",
            "explanation", "two_causes",
        )
    ),
    "tests/results/judgement/known",
    "tests/results/judgement/rules",
    "tests/results/judgement/spreads",
    "tests/results/judgement/together",
    "tests/results/judgement/explanation",
    "tests/results/output/test_floors.py",
    "tests/results/output/test_nothing_comparable.py",
)  # fmt: skip
# Simulations and whole commands: what they find, quicker tests must find.
WITHOUT = "not Simulated and not RunToRun and not matches_nothing and not misspelt and not projects and not exit_codes"


def main() -> int:
    """Try every fault and print what became of them."""
    arguments = _arguments()
    modules = [f"{RULES}.{name}" for name in arguments.module or MODULES]
    choices = {name: [one.name for one in found] for name, found in _enums(modules).items()}
    files = {name: str(sys.modules[name].__file__) for name in modules}
    faults = [
        fault
        for name, file in files.items()
        for fault in faults_in(Path(file).read_text(encoding="utf-8"), module=name, choices=choices)
    ]
    known = _known()
    trials = Trials([fault for fault in faults if not arguments.only or arguments.only in fault.name], files)
    tests = [str(ROOT / test) for test in TESTS]
    options = [
        "-q",
        "-p",
        "no:dash",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-k",
        WITHOUT,
        "-o",
        "addopts=",
        "--timeout=0",
    ]
    options += ["--import-mode=importlib", f"--rootdir={ROOT}", "--no-header"]
    code = pytest.main([*options, *tests], plugins=[trials, _Profile()])
    if trials.broken or not trials.fates:
        print(f"The tests fail without any fault: {', '.join(trials.broken[:5]) or code}")
        return 2
    return _told(trials, trials.faults, known, is_whole=not (arguments.module or arguments.only))


class _Profile:
    def pytest_configure(self) -> None:
        """Let hypothesis look for a failure only: a fault is killed by any, and by the same at every run."""
        from hypothesis import HealthCheck, Phase, settings  # noqa: PLC0415 - of the tests

        settings.register_profile(
            "mutation",
            derandomize=True,
            database=None,
            deadline=None,
            max_examples=50,
            phases=(Phase.explicit, Phase.generate),
            suppress_health_check=list(HealthCheck),
        )
        settings.load_profile("mutation")


def _told(trials: Trials, faults: list[Fault], known: dict[str, str], *, is_whole: bool) -> int:
    alive = {Fate.SURVIVED, Fate.UNREACHED}
    names = {fault.name for fault in faults}
    survivors = [fault for fault in faults if trials.fates[fault.name] in alive and fault.name not in known]
    wrong = [name for name in known if name in names and trials.fates[name] not in alive]
    stale = [name for name in known if name not in names] if is_whole else []
    for fault in survivors:
        print(f"alive: {Path(trials.files[fault.module]).relative_to(ROOT)}:{fault.line}: {fault.name}")
    for name in wrong:
        print(f"named as equivalent, and killed: {name}")
    for name in stale:
        print(f"named as equivalent, and no fault any more: {name}")
    fates = Counter(trials.fates.values())
    n_equivalent = len(names & known.keys()) - len(wrong)
    print(
        f"{len(faults)} faults: {fates[Fate.KILLED] + fates[Fate.TIMED_OUT]} killed ({fates[Fate.TIMED_OUT]} by never "
        f"ending), {n_equivalent} equivalent (equivalent.toml says why), {len(survivors)} alive"
    )
    return 1 if survivors or wrong or stale else 0


def _known() -> dict[str, str]:
    """Return the reason of each fault that changes nothing, by its name."""
    tables = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("equivalent", [])
    return {name: table["reason"] for table in tables for name in table["faults"]}


def _enums(modules: list[str]) -> dict[str, type[enum.Enum]]:
    return {
        attribute: value
        for name in modules
        for attribute, value in vars(importlib.import_module(name)).items()
        if inspect.isclass(value) and issubclass(value, enum.Enum) and len(value) > 1
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutation", description=__doc__)
    parser.add_argument("--module", action="append", choices=MODULES, help="only this module; may be repeated")
    parser.add_argument("--only", help="only faults with this text in their name")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
