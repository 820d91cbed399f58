"""Percents are written by one rule: the number, a space, the sign."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("benchmarks", "dashboard", "kernels", "results", "tools")
# CSS and URLs write it otherwise.
NO_WORDS = re.compile(r"--depth|px|width|%25|%[0-9A-F]{2}|^100%$|^%$")


def _is_unspaced(value, after, before):
    is_space = ast.unparse(value.value) == "THIN_SPACE"
    return after.startswith("%") and not is_space and not NO_WORDS.search(before)


def unspaced_percents(source: str):
    """Return the lines of a module in which a number is written without a space before its percent sign."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, after in zip(node.values, [*node.values[1:], None], strict=True):
            if not isinstance(value, ast.FormattedValue):
                continue
            spec = ast.unparse(value.format_spec) if value.format_spec else ""
            text = str(after.value) if isinstance(after, ast.Constant) else ""
            before = "".join(str(each.value) for each in node.values if isinstance(each, ast.Constant))
            if spec.rstrip("\"'").endswith("%") or _is_unspaced(value, text, before):
                yield node.lineno


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_number_is_apart_from_its_percent_sign(folder):
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in unspaced_percents(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_what_the_law_forbids_is_found():
    assert list(unspaced_percents('a = f"{share:.0%} of it"')) == [1]
    assert list(unspaced_percents('a = f"{share}% of it"')) == [1]
    assert list(unspaced_percents('a = f"{share} % of it"')) == []
