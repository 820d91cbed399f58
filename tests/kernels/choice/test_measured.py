"""The general rule against what one H100 did: every level that was timed at a shape, device time, bfloat16 forward."""

import json
from pathlib import Path

import pytest

from fused_mlp.choice import rules
from fused_mlp.choice.rules import Sizes, nominal_ceilings, ranked_by_rule
from fused_mlp.vocabulary import Implementation, NumberFormat, Operation

PUBLISHED = Path(__file__).parents[3] / "results" / "data" / "published" / "h100" / "journal" / "h100"
# As the driver tells it: 132 multiprocessors of up to 1.98 GHz, 3.35 TB/s.
CEILINGS = nominal_ceilings(capability=90, multiprocessors=132, clock_hz=1.98e9, bytes_per_s=3.35e12)
LEVELS = (Implementation.POINTWISE, Implementation.CUBLASLT, Implementation.EPILOGUE, Implementation.SINGLE)


def measured():
    """Seconds by level, by (operation, batch, dim, hidden)."""
    found = {}
    for path in PUBLISHED.glob("*.jsonl"):
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            point = line["point"]
            level = point["provider"].removeprefix("fused-")
            if (line["kind"], line["state"]) != ("timing", "ok") or level not in LEVELS:
                continue
            key = point["operation"], point["activation"], point["batch"], point["dim"], point["hidden"]
            found.setdefault(key, {})[Implementation(level)] = line["device_time_s"]
    return {key: levels for key, levels in found.items() if len(levels) > 1}


def behind_the_fastest():
    """How much longer the rule's choice takes than the fastest level, at each shape."""
    behind = {}
    for (operation, activation, rows, dim, hidden), levels in measured().items():
        sizes = Sizes(
            operation=Operation(operation),
            rows=rows,
            dim=dim,
            hidden=hidden,
            n_out=hidden if operation == "linear" else dim,
            number_format=NumberFormat.BFLOAT16,
        )
        possible = [level for level in LEVELS if level in levels]
        (taken, _), *_ = ranked_by_rule(sizes, CEILINGS, possible=possible, capability=90)
        behind[operation, activation, rows, dim, hidden] = levels[taken] / min(levels.values()) - 1
    return behind


def test_the_rule_s_choice_is_near_the_fastest_level_wherever_an_h100_was_timed():
    behind = behind_the_fastest()
    assert len(behind) >= 17
    assert max(behind.values()) < 0.19
    assert sum(behind.values()) / len(behind) < 0.02


@pytest.mark.parametrize(
    ("constant", "value"), [("PIPELINED_PRODUCT", ((1024, 1.0), (4096, 0.99))), ("ORDINARY_PRODUCT", 0.9)]
)
def test_what_was_assumed_before_is_further_from_it(monkeypatch, constant, value):
    monkeypatch.setattr(rules, constant, value)
    assert max(behind_the_fastest().values()) > 0.19
