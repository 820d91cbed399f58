"""What a machine says of itself."""

from pathlib import Path

import pytest

from benchmarks.ruler.measure import conditions
from benchmarks.ruler.measure.conditions import (
    available_memory_bytes,
    shared_cache_bytes,
)
from benchmarks.ruler.plan.cpu_caches import last_level_cache_bytes, private_cache_bytes


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="this system has no /proc")
def test_this_machine_says_how_large_its_memories_are():
    assert available_memory_bytes() > 2**20
    assert last_level_cache_bytes() >= private_cache_bytes() >= 2**17


@pytest.mark.parametrize(("flags", "is_shared"), [("fpu vme hypervisor avx2", True), ("fpu vme avx2", False)])
def test_a_last_level_cache_is_shared_where_a_hypervisor_lends_the_processor(monkeypatch, flags, is_shared):
    lines = ["processor : 0", f"flags\t\t: {flags}"]
    monkeypatch.setattr(conditions, "_lines", lambda path: lines if path.name == "cpuinfo" else [])
    monkeypatch.setattr(conditions, "last_level_cache_bytes", lambda: 2**25)
    assert shared_cache_bytes() == (2**25 if is_shared else None)


@pytest.mark.parametrize(
    ("files", "is_shared"),
    [
        ({"sys_vendor": "Amazon EC2", "product_name": "c7g.large"}, True),
        ({"sys_vendor": "Amazon EC2", "product_name": "c7g.metal"}, False),
        ({"sys_vendor": "Microsoft Corporation", "product_name": "Virtual Machine"}, True),
        ({"sys_vendor": "Microsoft Corporation", "product_name": "Surface Pro"}, False),
        ({"compatible": "linux,kvm\0"}, True),
        ({"sys_vendor": "Ampere(R)", "product_name": "Mt. Jade"}, False),
        ({}, False),
    ],
)
def test_where_the_processor_has_no_flag_for_it_the_firmware_tells_of_a_hypervisor(monkeypatch, files, is_shared):
    on_arm = {"cpuinfo": "Features\t: fp asimd evtstrm"} | files
    monkeypatch.setattr(conditions, "_lines", lambda path: [on_arm[path.name]] if path.name in on_arm else [])
    monkeypatch.setattr(conditions, "last_level_cache_bytes", lambda: 2**25)
    assert shared_cache_bytes() == (2**25 if is_shared else None)
