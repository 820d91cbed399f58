"""Every configuration of every kernel on every target, checked over the cores of this machine."""

from __future__ import annotations

import multiprocessing
import os
import random
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import triton
from triton import knobs

from fused_mlp.static_checks import configurations_of, with_each_activation
from fused_mlp.static_checks.footprints import Footprint, compile_for, faults_in
from fused_mlp.static_checks.keys import key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fused_mlp.gpu.configurations import Configuration

CAPABILITIES = (80, 90)
"""The targets: A100; H100 and H200."""

RECOMPILED_ANYWAY = 3
"""How many recorded rows are compiled again at every check, drawn at random, so that a wrong record does not last."""

_TOO_FEW_TO_SHARE = 4
# Below, starting processes that import torch takes longer than compiling.


@dataclass(frozen=True, kw_only=True)
class Row:
    """Kernel in one configuration on one target.

    footprints: by activation, in the order of Activation; one where the kernel has none. faults: why it does not fit,
    in words. accepted: why its products may run one by one. key:
    what the numbers follow from. is_recorded: they were not compiled now but stand under the same key in the page
    given.
    """

    target: str
    kernel: str
    footprints: tuple[Footprint, ...] = ()
    faults: tuple[str, ...] = ()
    accepted: str = ""
    key: str | None = None
    is_recorded: bool = False


@dataclass(frozen=True, kw_only=True)
class Task:
    """Configuration to compile for a target, by its index: a kernel cannot be sent to another process."""

    offer: str
    index: int
    capability: int
    key: str

    def configuration(self) -> Configuration:
        """Return what is compiled, with each activation."""
        return configurations_of(self.offer, capability=self.capability)[self.index]


def check_triton_kernels(
    offers: Sequence[str], *, only: str = "", recorded: Mapping[str, Row] | None = None
) -> Iterator[Row]:
    """Yield a row for each configuration of `offers` on each target, in that order, as soon as it is known.

    only: kernels whose name and configuration holds this text. recorded: rows by their keys that need not be compiled
    again, but for a few.
    """
    versions = triton_versions()
    tasks = [
        Task(
            offer=offer,
            index=index,
            capability=capability,
            key=key_of(configuration, capability=capability, versions=versions),
        )
        for capability in CAPABILITIES
        for offer in offers
        for index, configuration in enumerate(configurations_of(offer, capability=capability))
        if only in str(configuration)
    ]
    known = dict(recorded or {})
    for task in random.sample(tasks, min(RECOMPILED_ANYWAY, len(tasks))):
        known.pop(task.key, None)
    compiled = iter(_compiled([task for task in tasks if task.key not in known]))
    yield from (_recorded(task, known[task.key]) if task.key in known else next(compiled) for task in tasks)


def triton_versions() -> dict[str, str]:
    """Return what decides the numbers: the versions of Triton and of the assembler it brings."""
    return {"triton": triton.__version__, "ptxas": knobs.nvidia.ptxas.version}


def _recorded(task: Task, row: Row) -> Row:
    # The key is of what is compiled, not of what it is called or of what is accepted of it.
    configuration = task.configuration()
    activations = with_each_activation(configuration)
    footprints = row.footprints * len(activations) if len(row.footprints) == 1 else row.footprints
    recorded = replace(_without_footprints(task, configuration), is_recorded=True)
    return _judged(recorded, configuration, dict(zip(activations, footprints, strict=True)), task.capability)


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
    row = _without_footprints(task, configuration)
    footprints = {}
    for activation, activated in with_each_activation(configuration).items():
        try:
            footprints[activation] = compile_for(activated, capability=task.capability)
        except Exception as error:  # noqa: BLE001 - whatever Triton raises is what is wrong with this kernel
            lines = str(error).strip().splitlines() or [""]
            fault = f"does not compile: {type(error).__name__}: {lines[-1]}".replace("|", "\\|")
            return replace(row, faults=(f"{activation}: {fault}" if activation else fault,))
    return _judged(row, configuration, footprints, task.capability)


def _without_footprints(task: Task, configuration: Configuration) -> Row:
    name, accepted = str(configuration), configuration.one_by_one
    return Row(target=f"sm_{task.capability}", kernel=name, key=task.key, accepted=accepted)


def _judged(row: Row, configuration: Configuration, footprints: Mapping[str, Footprint], capability: int) -> Row:
    """Return `row` with its footprints and their faults; a fault of all activations is listed once."""
    faults: dict[str, list[str]] = {}
    for activation, footprint in footprints.items():
        found = faults_in(
            footprint,
            capability=capability,
            instructions=configuration.instructions,
            one_by_one=bool(configuration.one_by_one),
        )
        for fault in found:
            faults.setdefault(fault, []).append(activation)
    worded = [
        fault if len(found_in) == len(footprints) else f"{', '.join(found_in)}: {fault}"
        for fault, found_in in faults.items()
    ]
    return replace(row, footprints=tuple(footprints.values()), faults=tuple(worded))
