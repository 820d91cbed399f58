"""Static checks: compile every kernel for GPUs that need not be here (`python -m fused_mlp.static_checks`).

A kernel file offers its configurations as `fused_mlp.gpu.configurations` says and is listed in KERNEL_FILES.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from fused_mlp.activations import Activation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fused_mlp.gpu.configurations import Configuration

KERNEL_FILES = (
    "fused_mlp.linear.triton_pointwise",
    "fused_mlp.gated_mlp.triton_pointwise",
    "fused_mlp.linear.triton_backward",
    "fused_mlp.mlp.triton_backward",
    "fused_mlp.gated_mlp.triton_backward",
    "fused_mlp.linear.triton_persistent",
    "fused_mlp.gated_mlp.triton_persistent",
    "fused_mlp.linear.triton_epilogue",
    "fused_mlp.gated_mlp.triton_dual_product",
    "fused_mlp.mlp.triton_single",
    "fused_mlp.gated_mlp.triton_single",
)
"""Every module with Triton kernels; each has `configurations(*, capability)`."""


def configurations_of(offer: str, *, capability: int) -> list[Configuration]:
    """Return what one offer yields for a device of `capability`, each once, in its order.

    offer: a module, or "module:function" for another function than `configurations`.
    Raises: ValueError if two different configurations have one name, so that the report could not tell them apart.
    """
    module, _, function = offer.partition(":")
    offered: Iterator[Configuration] = getattr(import_module(module), function or "configurations")(
        capability=capability
    )
    named: dict[str, Configuration] = {}
    for configuration in offered:
        first = named.setdefault(str(configuration), configuration)
        if first != configuration:
            raise ValueError(f"{offer} offers two configurations called {configuration}; their labels must differ")
    return list(named.values())


def with_each_activation(configuration: Configuration) -> dict[str, Configuration]:
    """Return `configuration` by activation; under "" where its kernel has none."""
    if "ACTIVATION" not in configuration.kernel.arg_names:
        return {"": configuration}
    return {
        activation.value: replace(configuration, constants={**configuration.constants, "ACTIVATION": activation.value})
        for activation in Activation
    }
