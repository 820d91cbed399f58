"""docs/glossary.md has every table, metric, state, verdict and wing, and the words in the names of modules."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
TOPICS, _, REST = PAGE.partition("## Tables")
CODE = ("benchmarks", "dashboard", "kernels", "results")
UNNAMED = {"__init__", "__main__", "0001", "0002", "0003"}


def heads(text):
    return re.findall(r"\*\*(.+?)\*\*", text)


def words_of(text):
    return {word.lower() for word in re.findall(r"[A-Za-z]+", text.replace("_", " "))}


def stem(word):
    """Cut inflections, so that `packing`, `packed` and `pack` are one word."""
    for ending in ("ations", "ation", "ions", "ion", "ings", "ing", "ies", "ied", "able", "es", "ed", "s", "y", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= (2 if ending == "s" else 3):
            word = word.removesuffix(ending)
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word


def module_words():
    listed = subprocess.run(["git", "ls-files", *CODE], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [Path(name) for name in listed.splitlines() if name.endswith(".py") and "versions" not in name]
    names = {path.stem for path in files} | {part for path in files for part in path.parent.parts}
    return {word for name in names - UNNAMED for word in name.split("_")}


def test_a_word_has_one_entry():
    found = heads(TOPICS)
    assert sorted(word for word in set(found) if found.count(word) > 1) == []


def test_every_table_has_an_entry():
    schema = pytest.importorskip("results.database.schema")
    assert set(re.findall(r"^\| \*\*(\w+)\*\* \|", REST, re.MULTILINE)) == set(schema.Base.metadata.tables)


def test_every_metric_state_and_verdict_is_named():
    from results.files.records import State
    from results.judgement.verdicts import Outcome
    from results.metrics import ASV_LABELS, SWEEP_METRICS

    assert {*SWEEP_METRICS, *ASV_LABELS, *State, *Outcome} <= set(re.findall(r"`(\w+)`", PAGE))


def test_every_wing_is_made_of_words_of_the_glossary():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [layer for one in contracts for layer in one.get("layers", ())]
    wings = {name.rpartition(".")[2] for layer in layers for name in layer.split(" | ")}
    known = {stem(word) for word in words_of(PAGE)}
    assert {wing for wing in wings if not {stem(word) for word in wing.split("_")} <= known} == set()


def test_the_names_of_modules_are_made_of_words_of_the_glossary():
    known = {stem(word) for word in words_of(PAGE)}
    assert {word for word in module_words() if stem(word) not in known} == set()
