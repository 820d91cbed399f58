"""Which axes a commit was measured on, as far as what it measured tells it; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from results.rows.series import ParameterValue

# A provider that vanished is gone; a shape that vanished was perhaps not asked for.
OF_CONTENDER = frozenset({"provider", "weights"})


class OfBenchmark(Protocol):
    """Series, as far as it matters here."""

    @property
    def benchmark(self) -> str:
        """Operation, or asv's name."""

    @property
    def version(self) -> str:
        """Version of what is measured."""

    @property
    def parameters(self) -> tuple[ParameterValue, ...]:
        """Parameters as they were given."""


class MeasuredAxes:
    """Benchmarks, and values of their axes, that a commit measured of one project on one machine and environment."""

    def __init__(self, measured: Iterable[OfBenchmark]) -> None:
        self._values: dict[str, dict[str, set[ParameterValue]]] = {}
        for series in measured:
            of_version = self._values.setdefault(series.benchmark, {}).setdefault(series.version, set())
            of_version.update(series.parameters)

    def have(self, missing: OfBenchmark) -> bool:
        """Return whether the commit set out to measure `missing`, which it did not: whether it is gone.

        It did not set out to if it measured nothing here, the benchmark in another version only, or nothing at some
        value of an axis: an operation, a batch, a dtype. A provider is no axis in this sense.
        """
        is_of_sweep = any(one.name == "provider" for one in missing.parameters)
        if missing.benchmark not in self._values:
            return bool(self._values) and not is_of_sweep
        measured = self._values[missing.benchmark].get(missing.version)
        return measured is not None and all(
            one in measured for one in missing.parameters if not (is_of_sweep and one.name in OF_CONTENDER)
        )
