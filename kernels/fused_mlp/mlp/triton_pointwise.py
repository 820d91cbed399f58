"""Level 1 on CUDA: both products by cuBLAS, bias and activation between them in one kernel, in place.

```
x ─▶ [cuBLAS] ─▶ z ─▶ [+b1, act, over z] ─▶ hidden ─▶ [cuBLAS, +b2] ─▶ y                 3 launches
```

What it can't do: spare the write and the read of z between the first product and its activation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional

from fused_mlp.linear.triton_pointwise import launch_linear_pointwise

if TYPE_CHECKING:
    from torch import Tensor

    from fused_mlp.gpu.tiles import PointwiseTiles


def launch_mlp_pointwise(
    x: Tensor,
    w1: Tensor,
    b1: Tensor | None,
    w2: Tensor,
    b2: Tensor | None,
    *,
    activation: str,
    tiles: PointwiseTiles | None = None,
) -> Tensor:
    """Return act(x·W1ᵀ + b1)·W2ᵀ + b2 in three launches. Arguments as in `mlp`, checked by the caller."""
    return functional.linear(launch_linear_pointwise(x, w1, b1, activation=activation, tiles=tiles), w2, b2)
