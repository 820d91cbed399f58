"""Explanations that only a GPU's kernels give, whose names say library, tile and layout; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.judgement.article.steps import number_of
from results.units import figures

if TYPE_CHECKING:
    from collections.abc import Iterator

    from results.judgement.article.cases import Observed


def same_products(observed: Observed) -> Iterator[str]:
    """Tell on a GPU, where a kernel's name is its tile and layout, whose products are eager's kernels."""
    eager = observed.eager
    if eager is None or eager.call is None or not eager.call.has_kernels or observed.case.is_linear:
        return
    mine = {step.name: step.count for step in eager.call.products}
    for rival in observed.rivals:
        theirs = {step.name: step.count for step in rival.call.products} if rival.call else {}
        if mine and theirs == mine:
            yield f"{rival.name} runs eager's products by name, so it does the same work in them."


def tiles(observed: Observed) -> Iterator[str]:
    """Tell where the library chose different kernels for products of the same FLOP."""
    eager = observed.eager
    if eager is None or eager.call is None or not eager.call.has_kernels or observed.case.is_linear:
        return
    products = [step for step in eager.call.products if step.counted]
    if len(products) > 1:
        words = "; ".join(f"{figures(step.count)} × {step.decoded.words}" for step in products)
        yield f"The products have the same number of FLOP, but the library chose different kernels for them: {words}."


def occupancy(observed: Observed) -> Iterator[str]:
    """Tell whether the host asks, before each product, how many blocks of it fit."""
    eager = observed.eager
    if eager is None or eager.call is None or eager.profile is None or not eager.call.has_kernels:
        return
    calls = eager.profile.runtime_calls or ()
    asked = sum(call.count or 0.0 for call in calls if call.kind == "occupancy")
    products = number_of(eager.call.products)
    if asked and asked == products and eager.call.others:
        yield (
            f"The host asked {figures(asked)} times how many blocks fit, once for each product and for nothing else, "
            "as in the article."
        )
