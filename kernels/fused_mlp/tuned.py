"""Tuned table: the fastest implementation and tiles where measured. `python -m benchmarks.tune --write` makes it.

The file holds one entry per device. An entry's ways say, for an operation, number format, layout of weights and
shape, which implementation won and with which tiles; on a CPU its policies hold the numbers by which the C++ kernels
decide, for each operation and number format.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fused_mlp.vocabulary import Implementation, NumberFormat, Operation, Weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

TABLE = Path(__file__).with_name("tuned.json")
COMMAND = "python -m benchmarks.tune --write"
FORMAT = 2

ROWS_WITHIN = 4.0
"""How many times more or fewer rows a neighbour may have: the tuned numbers of rows are powers of four or eight, so
the nearest is within this factor wherever the table reaches, and beyond its end once more."""
SIZES_WITHIN = 1.5
"""How many times larger or smaller the dim and the hidden size of a neighbour may be: bytes and products per launch
then differ by at most 2.25, less than from one tuned size to the next."""


class Found(StrEnum):
    """Origin of a choice: measured for this very shape, for one near it, or derived by the general rule."""

    TUNED = "tuned"
    NEIGHBOUR = "neighbour"
    RULE = "rule"


@dataclass(frozen=True, kw_only=True)
class Policy:
    """Thresholds of the C++ kernels.

    The values here are for a machine the table does not know: they follow from waking a thread costing a few
    microseconds, and from packing a weight costing about as much as fifty rows gain by it.

    Attributes:
        serial_flop: floating-point operations below which one thread computes alone.
        row_split_rows: rows per thread from which threads share rows instead of columns.
        repacking_rows: rows from which plain weights are packed during the call.
    """

    serial_flop: int = 400_000
    row_split_rows: int = 48
    repacking_rows: int = 128


@dataclass(frozen=True, kw_only=True)
class Section:
    """Key of the ways that can be compared: one operation, number format and layout of weights."""

    operation: Operation
    number_format: NumberFormat
    weights: Weights


@dataclass(frozen=True, kw_only=True)
class Way:
    """Fastest implementation and tiles at one shape, of all implementations or only of its own.

    tiles: a Triton configuration by the names of its fields; empty where the kernel has none, or its rule's is best.
    is_fastest: whether it is the fastest of all there; else its tiles are the best for whoever names it.
    """

    rows: int
    dim: int
    hidden: int
    implementation: Implementation
    tiles: Mapping[str, Any] = field(default_factory=dict)
    is_fastest: bool = True


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Measurements on one device, with their conditions. n_threads: of a CPU; triton: None without it."""

    device: str
    n_threads: int | None
    torch: str
    triton: str | None
    policies: Mapping[tuple[Operation, NumberFormat], Policy] = field(default_factory=dict)
    ways: Mapping[Section, tuple[Way, ...]] = field(default_factory=dict)


@cache
def entries() -> Mapping[str, Entry]:
    """Return the committed table: device name → what was measured on it."""
    return entries_from_json(TABLE.read_text(encoding="utf-8"))


def policy_for(cpu: str, *, operation: Operation, number_format: NumberFormat) -> tuple[Policy, Found]:
    """Return the numbers for `operation` on `cpu` (as cpu_name gives it), and how they were found.

    Where that pair was not measured there, those of mlp in the same number format stand in, then those of mlp in
    float32; a CPU the table does not know gets the general ones.
    """
    entry = entries().get(cpu)
    if entry is None:
        return Policy(), Found.RULE
    exact, *others = (
        (operation, number_format),
        (Operation.MLP, number_format),
        (Operation.MLP, NumberFormat.FLOAT32),
    )
    if exact in entry.policies:
        return entry.policies[exact], Found.TUNED
    return next(((entry.policies[other], Found.NEIGHBOUR) for other in others if other in entry.policies), _GENERAL)


_GENERAL = (Policy(), Found.RULE)


def way_near(
    ways: Iterable[Way], *, rows: int, dim: int, hidden: int, is_possible: Callable[[Way], bool] = lambda _: True
) -> tuple[Way, Found] | None:
    """Return the way tuned for this shape, or the possible one nearest to it; None if none is near enough.

    Near: rows within ROWS_WITHIN, dim and hidden within SIZES_WITHIN. Nearest: the least sum of the absolute
    logarithms of the three ratios, those of the sizes counted twice, because they change what bounds a product. An
    empty size counts as 1.
    """
    rows, dim, hidden = (max(1, size) for size in (rows, dim, hidden))
    nearest: tuple[float, Way] | None = None
    for way in ways:
        by_rows = abs(math.log2(way.rows / rows))
        by_size = max(abs(math.log2(way.dim / dim)), abs(math.log2(way.hidden / hidden)))
        if by_rows > math.log2(ROWS_WITHIN) or by_size > math.log2(SIZES_WITHIN) or not is_possible(way):
            continue
        distance = by_rows + 2 * (abs(math.log2(way.dim / dim)) + abs(math.log2(way.hidden / hidden)))
        if nearest is None or distance < nearest[0]:
            nearest = distance, way
    if nearest is None:
        return None
    distance, way = nearest
    return way, Found.TUNED if distance == 0 else Found.NEIGHBOUR


def entries_from_json(text: str) -> dict[str, Entry]:
    """Return the entries of a table. Raises: ValueError, KeyError or TypeError if it is not one of this format."""
    content = json.loads(text)
    if content["format"] != FORMAT:
        raise ValueError(f"the tuned table has format {content['format']!r}, this fused_mlp reads {FORMAT}")
    return {values["device"]: _entry(values) for values in content["entries"]}


def json_from_entries(known: Iterable[Entry]) -> str:
    """Return the table as its file holds it: one line per policy and per way, so that a change of one is one line."""
    blocks = []
    for entry in known:
        head = {name: getattr(entry, name) for name in ("device", "n_threads", "torch", "triton")}
        lines = [f"   {json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
        policies = [
            {"operation": operation, "number_format": number_format, **asdict(policy)}
            for (operation, number_format), policy in entry.policies.items()
        ]
        ways = [{**asdict(section), **_way_values(way)} for section, some in entry.ways.items() for way in some]
        lines += [f'   "policies": [{_one_per_line(policies)}],', f'   "ways": [{_one_per_line(ways)}]']
        blocks.append("  {\n" + "\n".join(lines) + "\n  }")
    listed = ",\n".join(blocks)
    return f'{{\n "format": {FORMAT},\n "command": {json.dumps(COMMAND)},\n "entries": [\n{listed}\n ]\n}}\n'


def _one_per_line(rows: list[dict[str, Any]]) -> str:
    return "".join(f"\n    {json.dumps(row)}," for row in rows).rstrip(",") + ("\n   " if rows else "")


def _way_values(way: Way) -> dict[str, Any]:
    defaults: dict[str, Any] = {"tiles": {}, "is_fastest": True}
    return {name: value for name, value in asdict(way).items() if name not in defaults or value != defaults[name]}


def _entry(values: dict[str, Any]) -> Entry:
    policies = {}
    for row in values["policies"]:
        numbers = {name: row[name] for name in asdict(Policy())}
        policies[Operation(row["operation"]), NumberFormat(row["number_format"])] = Policy(**numbers)
    ways = defaultdict(list)
    for row in values["ways"]:
        section = Section(
            operation=Operation(row["operation"]),
            number_format=NumberFormat(row["number_format"]),
            weights=Weights(row["weights"]),
        )
        way = Way(
            rows=row["rows"],
            dim=row["dim"],
            hidden=row["hidden"],
            implementation=Implementation(row["implementation"]),
            tiles=row.get("tiles", {}),
            is_fastest=row.get("is_fastest", True),
        )
        ways[section].append(way)
    head = {name: values[name] for name in ("device", "n_threads", "torch", "triton")}
    return Entry(**head, policies=policies, ways={section: tuple(some) for section, some in ways.items()})


@cache
def cpu_name() -> str:
    """Return vendor, family and model of this CPU as Linux reports them; hypervisors hide the marketing name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n", 1)[0].splitlines()
    except OSError:
        return "unknown"
    fields = _fields(lines)
    return " ".join(fields.get(key, "?") for key in ("vendor_id", "cpu family", "model", "model name"))


def _fields(lines: list[str]) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines)
    return {key.strip(): value.strip() for key, _, value in pairs}
