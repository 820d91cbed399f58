"""Every configuration of every kernel on every target, checked over the cores of this machine, and the table of it."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import triton
from triton import knobs

from fused_mlp.static_checks import configurations_of
from fused_mlp.static_checks.footprints import Footprint, compile_for, faults_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CAPABILITIES = (80, 90, 100)
"""The targets: A100, H100 and H200, B200."""

_TOO_FEW_TO_SHARE = 4
# Below, starting processes that import torch takes longer than compiling.

_HEADER = (
    "| target | kernel and configuration | registers | shared memory, bytes | tensor memory, columns "
    "| instructions | fits |\n|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One kernel in one configuration on one target, or why it was not compiled there.

    faults: why it does not fit, in words. unchecked: why this machine cannot say; not a fault.
    """

    target: str
    kernel: str
    footprint: Footprint | None = None
    faults: tuple[str, ...] = ()
    unchecked: str | None = None


def check_triton_kernels(offers: Sequence[str], *, only: str = "") -> Iterator[Row]:
    """A row for each configuration of `offers` on each target, in that order, as soon as it is known.

    only: kernels whose name and configuration holds this text. A target without an assembler here is one row that
    says so.
    """
    tasks: list[tuple[str, int, int]] = []
    for capability in CAPABILITIES:
        if reason := _why_no_assembler(capability):
            yield Row(target=f"sm_{capability}", kernel="every Triton kernel", unchecked=reason)
            continue
        tasks += [
            (offer, index, capability)
            for offer in offers
            for index, configuration in enumerate(configurations_of(offer, capability=capability))
            if only in str(configuration)
        ]
    if len(tasks) <= _TOO_FEW_TO_SHARE:
        yield from map(_checked, tasks)
        return
    # Spawned, not forked: torch's threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=context) as pool:
        yield from pool.map(_checked, tasks)


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
    if row.footprint is None:
        return f"| {row.target} | {row.kernel} | – | – | – | – | {verdict} |"
    used = row.footprint
    numbers = f"{used.registers} | {used.shared_memory_bytes} | {used.tensor_memory_columns or '–'}"
    instructions = ", ".join(sorted(used.instructions)) or "–"
    return f"| {row.target} | {row.kernel} | {numbers} | {instructions} | {verdict} |"


def _checked(task: tuple[str, int, int]) -> Row:
    # By place and not by value: a kernel cannot be sent to another process.
    offer, index, capability = task
    configuration = configurations_of(offer, capability=capability)[index]
    row = partial(Row, target=f"sm_{capability}", kernel=str(configuration))
    try:
        footprint = compile_for(configuration, capability=capability)
    except Exception as error:  # noqa: BLE001 - whatever Triton raises is what is wrong with this kernel
        lines = str(error).strip().splitlines() or [""]
        return row(faults=(f"does not compile: {type(error).__name__}: {lines[-1]}".replace("|", "\\|"),))
    faults = faults_in(footprint, capability=capability, instructions=configuration.instructions)
    return row(footprint=footprint, faults=tuple(faults))


def _why_no_assembler(capability: int) -> str | None:
    tool = getattr(knobs.nvidia, "ptxas_blackwell" if capability >= 100 else "ptxas", None)
    if tool is None:
        return f"not compiled: triton {triton.__version__} brings no assembler for sm_{capability}"
    try:
        tool.path  # noqa: B018 - looks for the file
    except RuntimeError as error:
        return f"not compiled: {error}"
    return None
