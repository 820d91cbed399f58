"""Scratch data directory for measurements that are printed but not recorded."""

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
def scratch_data_dir(caches: Mapping[str, str]) -> Iterator[Path]:
    """Create a temporary data directory; nothing measured in it enters the history.

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
