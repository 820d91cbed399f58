"""`python -m fused_mlp.static_checks`: what every kernel becomes on GPUs that need not be here.

A kernel file offers its configurations as `fused_mlp.configurations` says and is listed in KERNEL_FILES.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fused_mlp.configurations import Configuration

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
    "fused_mlp.mlp.triton_full_tile",
    "fused_mlp.mlp.triton_split_hidden",
    "fused_mlp.gated_mlp.triton_full_tile",
    "fused_mlp.gated_mlp.triton_split_hidden",
)
"""Every module with Triton kernels; each has `configurations(*, capability)`."""


def configurations_of(offer: str, *, capability: int, activation: str | None = None) -> list[Configuration]:
    """What one offer yields for a device of `capability`, each once, in its order.

    offer: a module, or "module:function" for another function than `configurations`. activation: instead of the GELU
    with which kernels are offered; kernels without one are then left out.
    Raises: ValueError if two different configurations have one name, so that the report could not tell them apart.
    """
    module, _, function = offer.partition(":")
    offered: Iterator[Configuration] = getattr(import_module(module), function or "configurations")(
        capability=capability
    )
    named: dict[str, Configuration] = {}
    for as_offered in offered:
        if activation and as_offered.constants.get("ACTIVATION") != "gelu":
            continue
        configuration = with_activation(as_offered, activation) if activation else as_offered
        first = named.setdefault(str(configuration), configuration)
        if first != configuration:
            raise ValueError(f"{offer} offers two configurations called {configuration}; their labels must differ")
    return list(named.values())


def with_activation(configuration: Configuration, activation: str) -> Configuration:
    """The same with another activation than the GELU it has."""
    constants = {**configuration.constants, "ACTIVATION": activation}
    return replace(configuration, constants=constants, label=configuration.label.replace("gelu", activation))
