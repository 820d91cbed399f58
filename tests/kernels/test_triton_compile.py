"""Every Triton kernel in every committed configuration compiles for GPUs that are not here, and fits them."""

from dataclasses import replace

import pytest

pytest.importorskip("triton", reason="triton is not installed")

from fused_mlp.static_checks import committed_configurations
from fused_mlp.static_checks.footprints import SHARED_MEMORY_LIMIT_BYTES, compile_for, faults_in

pytestmark = pytest.mark.compile_kernels

CASES = [
    pytest.param(configuration, capability, id=f"sm_{capability}-{configuration}")
    for capability in SHARED_MEMORY_LIMIT_BYTES
    for _, configuration in committed_configurations(capability=capability)
]


def faults_of(configuration, capability):
    footprint = compile_for(configuration, capability=capability)
    return faults_in(footprint, capability=capability, instructions=configuration.instructions)


@pytest.mark.parametrize(("configuration", "capability"), CASES)
def test_a_configuration_fits_its_device(configuration, capability):
    assert faults_of(configuration, capability) == []


def with_tiles(n_warps=4, n_stages=3, **blocks):
    _, configuration = next(committed_configurations(capability=90))
    constants = {**configuration.constants, **blocks}
    return replace(configuration, constants=constants, n_warps=n_warps, n_stages=n_stages)


def test_a_configuration_that_spills_is_found():
    greedy = with_tiles(BLOCK_ROWS=256, BLOCK_OUT=256, BLOCK_IN=32)
    assert any("spills" in fault for fault in faults_of(greedy, 90))


def test_a_configuration_that_overflows_shared_memory_is_found():
    deep = with_tiles(BLOCK_ROWS=64, BLOCK_OUT=128, BLOCK_IN=128, n_stages=4)
    assert any("bytes of shared memory, the device has 232448" in fault for fault in faults_of(deep, 90))
