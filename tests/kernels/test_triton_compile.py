"""Every Triton kernel in every committed configuration compiles for GPUs that are not here, and fits them."""

import pytest

pytest.importorskip("triton", reason="triton is not installed")

from fused_mlp.static_checks import (
    ASYNCHRONOUS_COPIES,
    SHARED_MEMORY_LIMIT_BYTES,
    TENSOR_CORE_INSTRUCTIONS,
    committed_configurations,
    compile_for,
)

pytestmark = pytest.mark.compile_kernels


CASES = [
    pytest.param(configuration, capability, id=f"sm_{capability}-{configuration}")
    for capability in SHARED_MEMORY_LIMIT_BYTES
    for configuration in committed_configurations(capability=capability)
]


@pytest.mark.parametrize(("configuration", "capability"), CASES)
def test_a_configuration_fits_its_device(configuration, capability):
    footprint = compile_for(configuration, capability=capability)
    assert footprint.stack_bytes == 0, "registers are spilled to memory"
    assert footprint.shared_memory_bytes <= SHARED_MEMORY_LIMIT_BYTES[capability]
    assert any(footprint.instructions[name] for name in TENSOR_CORE_INSTRUCTIONS)
    assert any(footprint.instructions[name] for name in ASYNCHRONOUS_COPIES)
