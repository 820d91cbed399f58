"""Closed choices: operations, implementations, layouts of weights, number formats."""

from __future__ import annotations

from enum import StrEnum


class Operation(StrEnum):
    """Operation of this package; each is the name of one of its functions."""

    LINEAR = "linear"
    MLP = "mlp"
    GATED_MLP = "gated_mlp"


class Implementation(StrEnum):
    """Way to compute an operation.

    PURE: PyTorch's own operators, on any device.
    On the CPU: CPP, the C++ kernels; ONEDNN, oneDNN's fused linear on weights it has packed, so only through a
    module's `prepare`.
    On CUDA, by level of fusion: POINTWISE, cuBLAS products and one pointwise Triton kernel (level 1); EPILOGUE, Triton
    products with bias and activation in the epilogue, the down product in cuBLAS (level 2); CUBLASLT, the same with
    the epilogue of cuBLASLt, which has relu and gelu_tanh and no gate; SINGLE, one launch, the hidden activations never
    in device memory (level 3); CUDA, the op written in CUDA C++ (mlp only).
    """

    PURE = "pure"
    CPP = "cpp"
    ONEDNN = "onednn"
    POINTWISE = "pointwise"
    EPILOGUE = "epilogue"
    CUBLASLT = "cublaslt"
    SINGLE = "single"
    CUDA = "cuda"


CUDA_LEVELS = (
    Implementation.POINTWISE,
    Implementation.EPILOGUE,
    Implementation.CUBLASLT,
    Implementation.SINGLE,
    Implementation.CUDA,
)


class Weights(StrEnum):
    """Layout of weights: nn.Linear's, or one made by a module's `prepare`."""

    PLAIN = "plain"
    PACKED = "packed"


class NumberFormat(StrEnum):
    """Number format of products: the dtype, and for float32 on CUDA whether tensor cores may round to tf32."""

    FLOAT32 = "float32"
    TF32 = "tf32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
