"""The tool that plants faults: what it plants, that names stay, and that a planted fault changes what runs."""

from __future__ import annotations

import sys
import tomllib
import types
from pathlib import Path

import pytest
from mutation.planting import faults_in
from mutation.swapping import plant

ROOT = Path(__file__).parents[2]
SOURCE = '''
LIMIT = 0.5
NAME = "text"


def is_far(x: float, limit: float | None = None) -> bool:
    """Return whether x > 1 (no fault is planted here)."""
    return abs(x) >= LIMIT and not x == 3


class Box:
    @property
    def size(self) -> int:
        return min(len(self.items), 2) + 1
'''


def planted(source=SOURCE):
    return faults_in(source, module="made", choices={"Colour": ["RED", "BLUE"]})


def test_every_kind_of_expression_has_its_faults():
    found = {(fault.function, fault.before, fault.after) for fault in planted()}
    assert found >= {
        ("LIMIT", "0.5", "1.0"),
        ("is_far", "abs(x) >= LIMIT", "abs(x) > LIMIT"),
        ("is_far", "abs(x) >= LIMIT", "abs(x) < LIMIT"),
        ("is_far", "abs(x)", "x"),
        ("is_far", "abs(x) >= LIMIT and (not x == 3)", "abs(x) >= LIMIT or not x == 3"),
        ("is_far", "abs(x) >= LIMIT and (not x == 3)", "abs(x) >= LIMIT"),
        ("is_far", "not x == 3", "x == 3"),
        ("is_far", "x == 3", "x != 3"),
        ("is_far", "3", "4"),
        ("Box.size", "min(len(self.items), 2)", "max(len(self.items), 2)"),
        ("Box.size", "min(len(self.items), 2) + 1", "min(len(self.items), 2) - 1"),
    }
    assert not any("text" in before or "None" in before for _, before, _ in found)


def test_a_choice_is_replaced_by_the_next_one():
    [fault] = planted("def f(): return Colour.BLUE")
    assert fault.name == "made:f: Colour.BLUE → Colour.RED"


def test_names_tell_faults_apart_and_stay_while_lines_move():
    names = [fault.name for fault in planted()]
    assert len(names) == len(set(names))
    assert [fault.name for fault in planted("\n\n" + SOURCE)] == names
    twice = {fault.name for fault in planted("def f(x): return x + 1, x + 1")}
    assert twice == {"made:f: x + 1 → x - 1", "made:f: 1 → 2", "made:f: x + 1 → x - 1 (2)", "made:f: 1 → 2 (2)"}


@pytest.fixture
def module(monkeypatch):
    """The source as an imported module of our package."""
    made = types.ModuleType("results.made_for_a_test")
    made.__file__ = "made.py"
    monkeypatch.setitem(sys.modules, made.__name__, made)
    exec(compile(SOURCE, "made.py", "exec"), vars(made))  # noqa: S102 - the text above
    return made


def test_a_planted_fault_changes_what_runs(module):
    faults = {(one.function, one.after): one for one in faults_in(SOURCE, module=module.__name__, choices={})}
    assert (module.is_far(0.5), module.is_far(-2)) == (True, True)
    assert plant(faults["is_far", "abs(x) > LIMIT"])
    assert (module.is_far(0.5), module.is_far(-2)) == (False, True)
    assert plant(faults["LIMIT", "1.0"])
    assert module.LIMIT == 1.0
    box = module.Box()
    box.items = [1, 2, 3]
    assert box.size == 3
    assert plant(faults["Box.size", "max(len(self.items), 2)"])
    assert box.size == 4


def test_every_equivalent_fault_has_a_reason():
    path = ROOT / "tools" / "mutation" / "equivalent.toml"
    for table in tomllib.loads(path.read_text(encoding="utf-8")).get("equivalent", []):
        assert set(table) == {"reason", "faults"}
        assert len(table["reason"]) > 20
        assert table["faults"]
