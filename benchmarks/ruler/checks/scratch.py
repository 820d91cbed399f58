"""A folder of record for measurements that are printed and forgotten."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.record.provenance import UNCOMMITTED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@contextmanager
def place_of_its_own(caches: Mapping[str, str]) -> Iterator[Path]:
    """A temporary folder for record, machine file and caches: what is measured in it never meets the history.

    `caches`: environment variables that name folders, and what these are called within it.
    """
    before = dict(os.environ)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ |= {"FUSEBENCH_DATA": str(folder / "data"), "FUSEBENCH_MACHINE": "this-machine", UNCOMMITTED: "1"}
        os.environ |= {variable: str(folder / cache) for variable, cache in caches.items()}
        try:
            yield folder
        finally:
            os.environ.clear()
            os.environ.update(before)
