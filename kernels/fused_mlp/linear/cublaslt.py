"""Level 2 on CUDA by cuBLASLt: bias and activation in the epilogue of its product.

```
x ─▶ [cuBLASLt: product, +b, act] ─▶ y                                                       1 launch
```

What it can't do: erf-GELU, SiLU and no activation at all, for which cuBLASLt has no such epilogue in PyTorch; and
promise it: where its own conditions are not met, PyTorch runs a product and an activation instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from fused_mlp.linear.pure import linear_pure

if TYPE_CHECKING:
    from torch import Tensor


def launch_linear_cublaslt(x: Tensor, w: Tensor, b: Tensor | None, *, activation: str) -> Tensor:
    """Return act(x·Wᵀ + b), activation relu or gelu_tanh. Arguments as in `linear`, checked by the caller.

    Without a bias one of zeros is made, a launch more: PyTorch takes the epilogue only with one.
    """
    if x.numel() == 0:
        # Over an inner dimension of nothing PyTorch returns the bias without its activation.
        return linear_pure(x, w, b, activation=activation)
    bias = x.new_zeros(w.shape[0]) if b is None else b
    x_rows = x.reshape(-1, x.shape[-1])
    y: Tensor = torch._addmm_activation(bias, x_rows, w.t(), use_gelu=activation == "gelu_tanh")  # noqa: SLF001 - its only name
    return y.view(*x.shape[:-1], w.shape[0])
