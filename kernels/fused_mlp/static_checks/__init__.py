"""`python -m fused_mlp.static_checks`: what every kernel becomes on GPUs that need not be here.

A kernel file offers its configurations as `fused_mlp.configurations` says and is listed in KERNEL_FILES.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fused_mlp.configurations import Configuration

KERNEL_FILES = (
    "fused_mlp.linear.triton_pointwise",
    "fused_mlp.gated_mlp.triton_pointwise",
    "fused_mlp.linear.triton_epilogue",
    "fused_mlp.gated_mlp.triton_dual_product",
)
"""Every module with Triton kernels; each has `configurations(*, capability)`."""


def committed_configurations(
    *, capability: int, offers: Sequence[str] = KERNEL_FILES
) -> Iterator[tuple[str, Configuration]]:
    """Every kernel in every configuration its launchers choose on a device of `capability`, each once, by its offer.

    offers: modules, or "module:function" for another function than `configurations`.
    """
    for offer in offers:
        seen = set()
        for configuration in configurations_of(offer, capability=capability):
            if str(configuration) not in seen:
                seen.add(str(configuration))
                yield offer, configuration


def configurations_of(offer: str, *, capability: int) -> Iterator[Configuration]:
    """What one offer ("module" or "module:function") yields for a device of `capability`."""
    module, _, function = offer.partition(":")
    configurations: Iterator[Configuration] = getattr(import_module(module), function or "configurations")(
        capability=capability
    )
    return configurations
