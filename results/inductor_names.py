"""Operators in the names that inductor gives its kernels: `gelu_mul`, `_to_copy_native_layer_norm`; pure."""

from __future__ import annotations

# Operators of ATen whose names hold an underscore. Inductor joins all by underscores: only a list can part them.
_LONG_NAMES = frozenset(
    """
    _to_copy _unsafe_view _softmax _log_softmax _softmax_backward_data _log_softmax_backward_data _fused_rms_norm
    _native_batch_norm_legit _native_batch_norm_legit_functional _adaptive_avg_pool2d
    _scaled_dot_product_flash_attention
    native_layer_norm native_layer_norm_backward native_batch_norm native_batch_norm_backward native_group_norm
    native_dropout native_dropout_backward gelu_backward silu_backward sigmoid_backward tanh_backward
    threshold_backward hardtanh_backward hardswish_backward leaky_relu leaky_relu_backward hardsigmoid_backward
    elu_backward softplus_backward convolution_backward embedding_dense_backward max_pool2d_with_indices avg_pool2d
    constant_pad_nd masked_fill index_select index_put scalar_tensor new_zeros new_ones zeros_like ones_like full_like
    empty_like slice_scatter select_scatter select_backward slice_backward scatter_add linalg_vector_norm
    var_mean convert_element_type prepare_softmax_online logical_and logical_not bitwise_and bitwise_not
    all_reduce reduce_scatter relu_backward addmm_activation mm_activation view_as_real as_strided split_with_sizes
    """.split()  # noqa: SIM905 - a list of words
)
_LONGEST = max(name.count("_") for name in _LONG_NAMES) + 1


def operators_of_generated(text: str) -> tuple[str, ...]:
    """Part the operators that inductor joined by underscores, in its order; the longest known name comes first."""
    words = text.split("_")
    found: list[str] = []
    place = 0
    while place < len(words):
        for length in range(min(_LONGEST + 1, len(words) - place), 0, -1):
            name = "_".join(words[place : place + length])
            if length == 1 or name in _LONG_NAMES:
                break
        if name:
            found.append(name)
        place += length
    return tuple(found)
