"""What the files of an asv tree have in common, found out when first needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from results.errors import UnreadableFile
from results.files.asv_descriptions import asv_benchmarks_from_bytes, asv_machine_from_bytes
from results.files.discovery import covered_suites, project_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from results.files.records import AsvBenchmarkRecord


@dataclass
class AsvTree:
    """What the files under `path` have in common. `named_project`: its project, where somebody said so."""

    path: Path
    named_project: str | None
    machines: dict[Path, str | None] = field(default_factory=dict)

    @cached_property
    def project(self) -> str:
        """The project the tree's results belong to."""
        return self.named_project or project_of(self.path)

    @cached_property
    def covered(self) -> frozenset[str]:
        """The suites that the journal beside the tree records already."""
        return covered_suites(self.path)

    @cached_property
    def described(self) -> Mapping[str, AsvBenchmarkRecord]:
        """What benchmarks.json says of each benchmark, by name; empty if it cannot be read."""
        path = self.path / "benchmarks.json"
        try:
            records = asv_benchmarks_from_bytes(path.read_bytes(), path=str(path))
        except (OSError, UnreadableFile):
            return {}  # benchmarks.json is a source of its own and reported as such
        return {record.name: record for record in records}

    def machine(self, folder: Path) -> str | None:
        """The name that machine.json in `folder` gives; None if that says nothing."""
        if folder not in self.machines:
            path = folder / "machine.json"
            try:
                self.machines[folder] = asv_machine_from_bytes(path.read_bytes(), path=str(path)).name
            except (OSError, UnreadableFile):
                self.machines[folder] = None
        return self.machines[folder]
