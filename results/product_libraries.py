"""Libraries that ran the matrix products of a profile, as far as names of kernels and operators show it; pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from results.kernel_names import PRODUCT, decoded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NO_PRODUCT = "no name in the profile is that of a matrix product"
NO_AUTHOR = "the names of its products do not show it"
# On a CPU operators of ATen call the BLAS, or oneDNN, that torch was built with.
_OF_ATEN = re.compile(r"^aten::(?:addmm|mm|bmm|baddbmm|addbmm|mv|addmv|_addmm_activation)$")
_MULTIPLIES = re.compile(rf"{_OF_ATEN.pattern}|^aten::(?:linear|matmul|mkldnn_linear)$|^onnxruntime::")
_OURS = "fused_mlp (C++)"
_OF_OPERATORS = (
    (re.compile(r"^mkldnn::|^onednn::|^aten::mkldnn_|^fused_mlp::\w+_onednn$"), "oneDNN"),
    (re.compile(r"^mkl::"), "MKL"),
    (re.compile(r"^fused_mlp::(?:linear|mlp|gated_mlp)"), _OURS),
)


# Of half precision ATen's products are oneDNN's, wherever the processor has instructions for them.
_OF_MKL = frozenset({"float32", "float64"})


@dataclass(frozen=True, kw_only=True)
class ProductLibraries:
    """Libraries or compilers of a call's products, each once, the most frequent first; `reason` where none is known."""

    names: tuple[str, ...] = ()
    reason: str | None = None


def product_libraries(operators: Iterable[tuple[str, float]], kernels: Iterable[tuple[str, float]]) -> ProductLibraries:
    """Return the libraries by the kernels' names; without kernels, on a CPU, by those of operators that compute.

    Each is pairs of a name and how often it runs.
    """
    counted = list(kernels)
    return _of_kernels(counted) if counted else _of_operators(list(operators))


def slow_library_in_words(conditions: Mapping[str, object], dtypes: Iterable[str]) -> str | None:
    """Say that eager's products leave vector instructions unused that the processor has; None where that is not known.

    conditions: of the run; dtypes: that were measured.
    """
    taken_for, has = conditions.get("mkl_processor"), str(conditions.get("vector_instructions"))
    if not isinstance(taken_for, str) or not has.startswith("AVX") or "AVX" in taken_for or _OF_MKL.isdisjoint(dtypes):
        return None
    return (
        "part of a gain over eager is the library's, not fusing's: ATen's float32 products, which eager and compiled "
        f"call, are oneMKL's, and it takes this processor ({conditions.get('device')}) for one of `{taken_for}`, not "
        f"for one with the {has} that it has; on a processor by Intel the gain may be smaller"
    )


def is_product(operator: str) -> bool:
    """Return whether an operator of a profile multiplies matrices, whatever else it does; by its name."""
    return bool(_MULTIPLIES.match(operator) or _libraries_of(operator)) or decoded(operator).kind == PRODUCT


def _of_kernels(kernels: list[tuple[str, float]]) -> ProductLibraries:
    products = [(decoded(name).author, count) for name, count in kernels if decoded(name).kind == PRODUCT]
    return _ranked(products)


def _of_operators(operators: list[tuple[str, float]]) -> ProductLibraries:
    found = [(library, count) for name, count in operators for library in _libraries_of(name)]
    by_aten = [name for name, _ in operators if _OF_ATEN.match(name)]
    if by_aten:
        # Ours may have called ATen for its products; the list of operators does not tell what is inside what.
        found = [(library, count) for library, count in found if library != _OURS]
        if not found:
            reason = f"{by_aten[0]} calls a library that torch was built with, which the profile does not name"
            return ProductLibraries(reason=reason)
    return _ranked(found)


def _libraries_of(operator: str) -> list[str]:
    return [library for pattern, library in _OF_OPERATORS if pattern.match(operator)][:1]


def _ranked(products: Sequence[tuple[str | None, float]]) -> ProductLibraries:
    counts: dict[str, float] = {}
    for author, count in products:
        if author:
            counts[author] = counts.get(author, 0) + count
    if not counts:
        return ProductLibraries(reason=NO_AUTHOR if products else NO_PRODUCT)
    return ProductLibraries(names=tuple(sorted(counts, key=lambda name: (-counts[name], name))))
