"""Scratch data directory for measurements that are printed but not recorded."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from benchmarks.ruler.plan.settings import Settings, settings_from_environment
from benchmarks.ruler.record.provenance import environment_name, machine_name
from benchmarks.ruler.sweep.machine_speed import MachineSpeed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.ruler.plan.points import DeviceKind


class KeptFolder(click.Path):
    """Option's folder to record in, made where there is none. Fails: where it is empty, a file, or cannot be made."""

    def __init__(self) -> None:
        super().__init__(file_okay=False, path_type=Path)

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Return the folder, which is there then."""
        if not str(value):
            self.fail("it is empty; name a folder", param, ctx)
        folder = super().convert(value, param, ctx)
        try:
            Path(os.fsdecode(folder)).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self.fail(f"{value} cannot be made ({error.strerror}); name another folder", param, ctx)
        return folder


@contextmanager
def scratch_settings(*, keep: Path | None = None) -> Iterator[Settings]:
    """Yield settings whose folder of record is temporary, or `keep`: what they measure never meets the history."""
    with tempfile.TemporaryDirectory() as name:
        data_dir = keep.absolute() if keep else Path(name) / "data"
        yield replace(settings_from_environment(), data_dir=data_dir, machine="this-machine", is_uncommitted=True)


def scratch_speed(settings: Settings, *, device: DeviceKind) -> MachineSpeed:
    """Return what the measurements of a check know of the machine's speed, which no later one is told."""
    return MachineSpeed(
        settings.data_dir,
        machine=machine_name(settings),
        environment=environment_name(device, settings),
        is_kept=False,
    )


@contextmanager
def cold_inductor() -> Iterator[None]:
    """Give inductor an empty cache on disk, in the processes started meanwhile."""
    variable = "TORCHINDUCTOR_CACHE_DIR"
    before = os.environ.get(variable)
    with tempfile.TemporaryDirectory() as cache:
        os.environ[variable] = cache
        try:
            yield
        finally:
            os.environ.pop(variable)
            if before is not None:
                os.environ[variable] = before
