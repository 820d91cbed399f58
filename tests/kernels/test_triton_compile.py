"""Every Triton kernel in every committed configuration compiles for GPUs that are not here, and fits them."""

from dataclasses import replace

import pytest

pytest.importorskip("triton", reason="triton is not installed")

from fused_mlp.static_checks import (
    SHARED_MEMORY_LIMIT_BYTES,
    committed_configurations,
    compile_for,
    faults_in,
)

pytestmark = pytest.mark.compile_kernels

CASES = [
    pytest.param(configuration, capability, id=f"sm_{capability}-{configuration}")
    for capability in SHARED_MEMORY_LIMIT_BYTES
    for configuration in committed_configurations(capability=capability)
]


@pytest.mark.parametrize(("configuration", "capability"), CASES)
def test_a_configuration_fits_its_device(configuration, capability):
    assert faults_in(compile_for(configuration, capability=capability), capability=capability) == []


def with_tiles(**changes):
    configuration = next(iter(committed_configurations(capability=90)))
    return replace(configuration, tiles=replace(configuration.tiles, **changes))


def test_a_configuration_that_spills_is_found():
    greedy = with_tiles(block_rows=256, block_out=256, block_in=32, n_warps=4)
    faults = faults_in(compile_for(greedy, capability=90), capability=90)
    assert any("spills" in fault for fault in faults)


def test_a_configuration_that_overflows_shared_memory_is_found():
    deep = with_tiles(block_rows=64, block_out=128, block_in=128, n_stages=4)
    faults = faults_in(compile_for(deep, capability=90), capability=90)
    assert any("bytes of shared memory, the device has 232448" in fault for fault in faults)
