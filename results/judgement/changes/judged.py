"""Judgements of single series that need not be made twice, by a digest of all that they depend on (docs/adr/0014).

A digest covers the values as they are judged (with the controls' movement taken out), the limit, which direction is
worse, and the detector: the
code of this package and NumPy's version. So nothing is ever taken from an earlier judgement that would come out
otherwise now, and nobody has to remember to raise a version.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from results.judgement.changes.detection import Change, Settled, settled_in
from results.judgement.changes.floors import noise_floors
from results.judgement.findings import FindingState
from results.rows import JudgedSeries

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from results.judgement.changes.arrays import Floats, Integers

DIGEST_BYTES = 16


class JudgedLevels:
    """Judgements of the series of a place by their own values: earlier ones where they fit, all others made here.

    levels: logarithms, [series, commits], NaN where missing. worse: sign of a jump for the worse, [series]. earlier: by
    digest; of whatever series and place.
    """

    def __init__(
        self,
        levels: Floats,
        *,
        series_ids: Sequence[int],
        worse: Integers,
        least_change: float,
        earlier: Mapping[bytes, JudgedSeries],
    ) -> None:
        self._series_ids, self._least_change = series_ids, least_change
        self._digests = [
            _of_levels(row, least_change) + bytes([1 + int(sign)]) for row, sign in zip(levels, worse, strict=True)
        ]
        self._floors: dict[bytes, float] = {}  # by what a digest begins with: of the levels
        self._made: set[bytes] = set()
        self._new_floors: set[bytes] = set()
        self.settled: list[Settled] = [Settled()] * len(levels)
        new = []
        for row, digest in enumerate(self._digests):
            if (known := earlier.get(digest)) is None:
                new.append(row)
            elif known.found is not None:
                self.settled[row] = self._read(digest, known.found)
        for row, found in zip(new, settled_in(levels[new], worse=worse[new], least_change=least_change), strict=True):
            self.settled[row] = found
        self._made.update(self._digests[row] for row in new)

    def floors(self, levels: Floats) -> Floats:
        """Return the noise floor of each row, as `noise_floors` does; levels: rows of this place's, or others."""
        digests = [_of_levels(row, self._least_change) for row in levels]
        new = [row for row, digest in enumerate(digests) if digest not in self._floors]
        for row, floor in zip(new, noise_floors(levels[new]), strict=True):
            self._floors[digests[row]] = float(floor)
        self._new_floors.update(digests[row] for row in new)
        return np.array([self._floors[digest] for digest in digests])

    def made(self) -> tuple[JudgedSeries, ...]:
        """Return the judgements that were made here, whole or in part, of this place's series."""
        return tuple(
            JudgedSeries(
                series_id=series_id,
                least_change=self._least_change,
                digest=digest,
                found=self._written(digest, settled),
            )
            for series_id, digest, settled in zip(self._series_ids, self._digests, self.settled, strict=True)
            if digest in self._made or digest[:DIGEST_BYTES] in self._new_floors
        )

    def _written(self, digest: bytes, settled: Settled) -> str | None:
        found: dict[str, object] = {}
        if settled.changes or settled.last_step is not None:
            found = {"changes": settled.changes, "last_step": settled.last_step}
        if (of_levels := digest[:DIGEST_BYTES]) in self._floors:
            found["floor"] = self._floors[of_levels]  # JSON has no NaN: null
        return orjson.dumps(found).decode() if found else None

    def _read(self, digest: bytes, text: str) -> Settled:
        found = orjson.loads(text)
        if "floor" in found:
            self._floors[digest[:DIGEST_BYTES]] = np.nan if found["floor"] is None else found["floor"]
        return Settled(changes=tuple(map(_change, found.get("changes", ()))), last_step=found.get("last_step"))


def detector_digest() -> bytes:
    """Return the digest of the detector at hand: the code of this package, and NumPy's version."""
    return _of_detector().digest()


def _change(fields: dict[str, Any]) -> Change:
    interval = fields.pop("interval")
    state = FindingState(fields.pop("state"))
    return Change(**fields, state=state, interval=None if interval is None else tuple(interval))


def _of_levels(levels: Floats, least_change: float) -> bytes:
    digest = _of_detector().copy()
    digest.update(np.float64(least_change).tobytes())
    digest.update(levels[~np.isnan(levels)].tobytes())
    return digest.digest()


@cache
def _of_detector() -> hashlib.blake2b:
    """Return the beginning of every digest."""
    digest = hashlib.blake2b(np.__version__.encode(), digest_size=DIGEST_BYTES)
    for path in sorted(files(__package__).iterdir(), key=lambda path: path.name):
        if path.name.endswith(".py"):
            digest.update(path.read_bytes())
    return digest
