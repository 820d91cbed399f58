"""The closed choices that everything here speaks of: operations, implementations, layouts of weights."""

from __future__ import annotations

from enum import StrEnum


class Operation(StrEnum):
    """What this package computes; each is the name of a function of it."""

    LINEAR = "linear"
    MLP = "mlp"
    GATED_MLP = "gated_mlp"


class Implementation(StrEnum):
    """How an operation is computed.

    PURE: PyTorch's own operators, on any device.
    On the CPU: CPP, the C++ kernels; ONEDNN, oneDNN's fused linear on weights it has packed, so only through a
    module's `prepare`.
    On CUDA, by level of fusion: POINTWISE, cuBLAS products and one pointwise Triton kernel (level 1); EPILOGUE, Triton
    products with bias and activation in the epilogue, the down product in cuBLAS (level 2); SINGLE, one launch, the
    hidden activations never in device memory (level 3); CUDA, the op written in CUDA C++ (mlp only).
    """

    PURE = "pure"
    CPP = "cpp"
    ONEDNN = "onednn"
    POINTWISE = "pointwise"
    EPILOGUE = "epilogue"
    SINGLE = "single"
    CUDA = "cuda"


CUDA_LEVELS = (Implementation.POINTWISE, Implementation.EPILOGUE, Implementation.SINGLE, Implementation.CUDA)


class Weights(StrEnum):
    """Whether weights are as nn.Linear keeps them, or in a layout made by a module's `prepare`."""

    PLAIN = "plain"
    PACKED = "packed"


class NumberFormat(StrEnum):
    """How products are computed: the dtype, and for float32 on CUDA whether tensor cores may round to tf32."""

    FLOAT32 = "float32"
    TF32 = "tf32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
