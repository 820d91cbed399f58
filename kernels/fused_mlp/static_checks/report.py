"""Every configuration of every kernel on every target, checked over the cores of this machine, and the table of it."""

from __future__ import annotations

import multiprocessing
import os
import random
import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import triton
from triton import knobs

from fused_mlp.static_checks import configurations_of
from fused_mlp.static_checks.footprints import Footprint, compile_for, faults_in, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fused_mlp.configurations import Configuration

CAPABILITIES = (80, 90, 100)
"""The targets: A100, H100 and H200, B200."""

RECOMPILED_ANYWAY = 8
"""How many recorded rows are compiled again at every check, drawn at random, so that a wrong record does not last."""

_TOO_FEW_TO_SHARE = 4
# Below, starting processes that import torch takes longer than compiling.

_HEADER = (
    "| target | kernel and configuration | registers | shared memory, bytes | tensor memory, columns "
    "| instructions | fits | key |\n|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One kernel in one configuration on one target, or why it was not compiled there.

    faults: why it does not fit, in words. unchecked: why this machine cannot say; not a fault. key: what the numbers
    follow from. is_recorded: they were not compiled now but stand under the same key in the page given.
    """

    target: str
    kernel: str
    footprint: Footprint | None = None
    faults: tuple[str, ...] = ()
    unchecked: str | None = None
    key: str | None = None
    is_recorded: bool = False


@dataclass(frozen=True, kw_only=True)
class Task:
    """A configuration by its place, since a kernel cannot be sent to another process: what to compile, and for what."""

    offer: str
    index: int
    capability: int
    activation: str | None
    key: str

    def configuration(self) -> Configuration:
        """What is compiled."""
        return configurations_of(self.offer, capability=self.capability, activation=self.activation)[self.index]


def check_triton_kernels(
    offers: Sequence[str],
    *,
    only: str = "",
    recorded: Mapping[str, Row] | None = None,
    activation: str | None = None,
) -> Iterator[Row]:
    """A row for each configuration of `offers` on each target, in that order, as soon as it is known.

    only: kernels whose name and configuration holds this text. recorded: rows by their keys that need not be compiled
    again, but for a few. activation: instead of GELU. A target without an assembler here is one row that says so.
    """
    versions = triton_versions()
    tasks: list[Task] = []
    for capability in CAPABILITIES:
        if reason := _why_no_assembler(capability):
            yield Row(target=f"sm_{capability}", kernel="every Triton kernel", unchecked=reason)
            continue
        tasks += [
            Task(
                offer=offer,
                index=index,
                capability=capability,
                activation=activation,
                key=key_of(configuration, capability=capability, versions=versions),
            )
            for offer in offers
            for index, configuration in enumerate(
                configurations_of(offer, capability=capability, activation=activation)
            )
            if only in str(configuration)
        ]
    known = dict(recorded or {})
    for task in random.sample(tasks, min(RECOMPILED_ANYWAY, len(tasks))):
        known.pop(task.key, None)
    compiled = iter(_compiled([task for task in tasks if task.key not in known]))
    yield from (_recorded(task, known[task.key]) if task.key in known else next(compiled) for task in tasks)


def triton_versions() -> dict[str, str]:
    """What decides the numbers of Triton's kernels: Triton, and the assemblers it brings."""
    found = {"triton": triton.__version__, "ptxas": knobs.nvidia.ptxas.version}
    if _why_no_assembler(100) is None:
        found["ptxas-blackwell"] = knobs.nvidia.ptxas_blackwell.version
    return found


def table_from_rows(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    return "\n".join([_HEADER, *map(line_from_row, rows)])


def line_from_row(row: Row) -> str:
    """One row as a line of the table."""
    verdict = row.unchecked if row.unchecked is not None else "; ".join(row.faults) or "yes"
    key = row.key or "–"
    if row.footprint is None:
        return f"| {row.target} | {row.kernel} | – | – | – | – | {verdict} | {key} |"
    used = row.footprint
    numbers = f"{used.registers} | {used.shared_memory_bytes} | {used.tensor_memory_columns or '–'}"
    instructions = ", ".join(sorted(used.instructions)) or "–"
    return f"| {row.target} | {row.kernel} | {numbers} | {instructions} | {verdict} | {key} |"


def rows_from_table(text: str) -> dict[str, Row]:
    """The rows of a table that fit, by their keys; others must be compiled again."""
    line = re.compile(
        r"^\| (sm_\d+) \| (\S+) \| (\d+) \| (\d+) \| (\d+|–) \| ([^|]+) \| yes \| ([0-9a-f]{10}) \|$", re.MULTILINE
    )
    rows = {}
    for target, kernel, registers, shared, tensor, instructions, key in line.findall(text):
        footprint = Footprint(
            registers=int(registers),
            stack_bytes=0,
            shared_memory_bytes=int(shared),
            tensor_memory_columns=0 if tensor == "–" else int(tensor),
            instructions=frozenset(() if instructions == "–" else instructions.split(", ")),
        )
        rows[key] = Row(target=target, kernel=kernel, footprint=footprint, key=key, is_recorded=True)
    return rows


def _recorded(task: Task, row: Row) -> Row:
    # The key is of what is compiled, not of what it is called.
    return replace(row, target=f"sm_{task.capability}", kernel=str(task.configuration()))


def _compiled(tasks: Sequence[Task]) -> Iterator[Row]:
    if len(tasks) <= _TOO_FEW_TO_SHARE:
        yield from map(_checked, tasks)
        return
    # Spawned, not forked: torch's threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=context) as pool:
        yield from pool.map(_checked, tasks)


def _checked(task: Task) -> Row:
    configuration = task.configuration()
    row = Row(target=f"sm_{task.capability}", kernel=str(configuration), key=task.key)
    try:
        footprint = compile_for(configuration, capability=task.capability)
    except Exception as error:  # noqa: BLE001 - whatever Triton raises is what is wrong with this kernel
        lines = str(error).strip().splitlines() or [""]
        return replace(row, faults=(f"does not compile: {type(error).__name__}: {lines[-1]}".replace("|", "\\|"),))
    faults = faults_in(footprint, capability=task.capability, instructions=configuration.instructions)
    return replace(row, footprint=footprint, faults=tuple(faults))


def _why_no_assembler(capability: int) -> str | None:
    tool = getattr(knobs.nvidia, "ptxas_blackwell" if capability >= 100 else "ptxas", None)
    if tool is None:
        return f"not compiled: triton {triton.__version__} brings no assembler for sm_{capability}"
    try:
        tool.path  # noqa: B018 - looks for the file
    except RuntimeError as error:
        return f"not compiled: {error}"
    return None
