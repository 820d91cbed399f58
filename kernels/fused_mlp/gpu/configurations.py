"""Configurations in which a Triton kernel file uses its kernels, so that each can be compiled without a GPU.

The protocol, for a kernel file:
1. Define `configurations(*, capability: int) -> Iterator[Configuration]`: what the launchers choose on sm_<capability>.
2. `constants` names every tl.constexpr argument but ACTIVATION, with each of which a kernel is checked, and every
   run-time argument that the JIT makes one (None, 1).
3. Other arguments are pointers to `dtype` if called `*_ptr`, else i32; `types` names exceptions ("fp32", "*fp32",
   "tensordesc<bf16[64, 64]>" for a host descriptor); all are divisible by 16 except those in `unaligned`.
4. `instructions` declares what the machine code must hold: `product_instruction(...)`, "LDGSTS", "UTMALDG" or nothing.
5. List the file in `fused_mlp.static_checks.KERNEL_FILES`; `python -m fused_mlp.static_checks --only NAME` checks it.

Needs neither triton nor a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

POINTER_TYPES = {torch.float32: "*fp32", torch.bfloat16: "*bf16", torch.float16: "*fp16"}
"""How Triton writes a pointer to each dtype that the kernels take."""


PERSISTENT_ROWS = 4096
"""From how many rows on the rules take the persistent product kernels."""

PERSISTENT_CAPABILITY = 90
"""The first devices with the TMA, which feeds them."""


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """Kernel as one of its launchers compiles it; the module's docstring describes the fields.

    label: what tells it from the kernel's other configurations, its tile say: "64x128x64".
    options: further compile options by Triton's names: num_ctas, maxnreg, launch_pdl …
    one_by_one: why it is accepted that ptxas runs its wgmma one after another, in words; "": it is not.
    """

    kernel: Any
    dtype: torch.dtype
    label: str
    constants: Mapping[str, object]
    n_warps: int
    n_stages: int
    instructions: frozenset[str] = frozenset()
    types: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    unaligned: frozenset[str] = frozenset()
    options: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    one_by_one: str = ""

    def __str__(self) -> str:
        dtype = str(self.dtype).removeprefix("torch.")
        return f"{self.kernel.__name__}-{dtype}-{self.label}-{self.n_warps}w{self.n_stages}s"


def product_instruction(*, capability: int, block_rows: int) -> str:
    """Return the tensor-core instruction that a `tl.dot` on `block_rows` rows becomes on sm_80 or sm_90.

    From 64 rows on Hopper has one for four warps (wgmma); fewer rows take Ampere's warp-wide one there too.
    """
    return "HGMMA" if capability >= 90 and block_rows >= 64 else "HMMA"


def tried_on(
    capability: int, candidates: Callable[..., Iterable[Any]], *, n_rows: Iterable[int]
) -> Iterator[tuple[torch.dtype, Any]]:
    """Yield each dtype with each of the tiles that `candidates` gives for some of `n_rows`, once."""
    for dtype in POINTER_TYPES:
        tried = [tiles for rows in n_rows for tiles in candidates(rows, dtype, capability=capability)]
        yield from ((dtype, tiles) for tiles in dict.fromkeys(tried))
