"""What a machine says of itself."""

from pathlib import Path

import pytest

from benchmarks.ruler.measure.conditions import available_memory_bytes, last_level_cache_bytes, private_cache_bytes


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="this system has no /proc")
def test_this_machine_says_how_large_its_memories_are():
    assert available_memory_bytes() > 2**20
    assert last_level_cache_bytes() >= private_cache_bytes() >= 2**17
