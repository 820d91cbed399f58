"""What the article saw: kept apart from what is measured here, with the hardware it was seen on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from results.judgement.article.cases import Case

HARDWARE = "A100-80GB, bfloat16"
ARTICLE = "huggingface.co/blog/torch-mlp-fusion"

ROWS_OF_BLOCK, DIM_OF_BLOCK, HIDDEN_OF_BLOCK = 8192, 768, 3072
_LINEAR = (
    "one kernel, a matrix product that adds the bias itself as it writes (its epilogue), after aten::t, which only "
    "rewrites strides on the host. torch.compile: the very same kernel by name; only aten::t is gone."
)
_GEGLU = (
    "five kernels, the products for gate, up and down, GELU, and a multiplication; gate "
    "and up took 0.19 ms each, down 0.17 ms with another tile. torch.compile: four, the same products and one kernel "
    "for GELU and multiplication, 89.4 µs. Written by hand in Triton: four as well, that kernel in 92.8 µs, with "
    "nothing to compile and no guards."
)


def seen_by_article(case: Case) -> str:
    """Return what the article saw of a case like this, in words, with its figures."""
    return _LINEAR if case.is_linear else _GEGLU


def sizes_in_words(case: Case) -> str:
    """Return the sizes at which the article saw the block of a case, beside those of the case where they differ."""
    if case.is_linear:
        return ""
    widths = f"{DIM_OF_BLOCK:,} → {HIDDEN_OF_BLOCK:,}"
    is_as_wide = (case.dim, case.hidden) == (DIM_OF_BLOCK, HIDDEN_OF_BLOCK)
    if is_as_wide and case.rows == ROWS_OF_BLOCK:
        return f"at these sizes, {ROWS_OF_BLOCK:,} rows, {widths}"
    if is_as_wide:
        return f"at these widths, {widths}, but {ROWS_OF_BLOCK:,} rows"
    return f"at other sizes, {ROWS_OF_BLOCK:,} rows, {widths}"
