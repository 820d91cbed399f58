import pytest

from benchmarks.ruler.measure.attempt import is_device_fault


@pytest.mark.parametrize(
    "message",
    [
        "CUDA error: device-side assert triggered",
        "Triton Error [CUDA]: an illegal memory access was encountered",
        "Triton Error [CUDA]: misaligned address",
        "Triton Error [CUDA]: unspecified launch failure",
    ],
)
def test_a_fault_of_the_device_is_recognised_whoever_reports_it(message):
    assert is_device_fault(RuntimeError(message))


@pytest.mark.parametrize("message", ["Triton Error [CUDA]: out of memory", "mat1 and mat2 shapes cannot be multiplied"])
def test_an_error_that_leaves_the_device_usable_is_none(message):
    assert not is_device_fault(RuntimeError(message))
