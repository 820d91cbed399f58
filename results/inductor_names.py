"""Operators in the names of inductor's kernels, as `gelu_mul` or `_to_copy_native_layer_norm`, and of ATen's; pure."""

from __future__ import annotations

import re

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
    nll_loss_forward nll_loss_backward mse_loss mse_loss_backward smooth_l1_loss log_sigmoid_forward
    log_sigmoid_backward _native_batch_norm_legit_no_training native_group_norm_backward _fused_rms_norm_backward
    _safe_softmax _scaled_mm _scaled_grouped_mm _grouped_mm _int_mm flex_attention flex_attention_backward
    _scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention
    scaled_dot_product_attention layer_norm rms_norm group_norm batch_norm log_softmax
    adaptive_avg_pool2d avg_pool2d_backward max_pool2d_with_indices_backward _adaptive_avg_pool2d_backward
    upsample_nearest2d upsample_bilinear2d reflection_pad2d replication_pad2d
    logical_or logical_xor bitwise_or bitwise_xor clamp_min clamp_max floor_divide true_divide
    _unsafe_index _unsafe_index_put index_add index_fill masked_scatter scatter_reduce diagonal_copy
    new_full new_empty empty_strided rand_like randn_like inductor_random inductor_seeds inductor_lookup_seed
    inductor_randint _weight_norm_interface all_gather_into_tensor reduce_scatter_tensor wait_tensor view_as_complex
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


_FUNCTION = re.compile(r"at::native::(?:\(anonymous namespace\)::)?(?:binary_internal::)?(\w+)")
_NO_FUNCTION = re.compile(
    r"^(?:\w*elementwise_kernel\w*|gpu_kernel_impl\w*|reduce_kernel|ReduceOp|BinaryFunctor|AUnaryFunctor|BUnaryFunctor"
    r"|binary_internal|func_wrapper_t|modern|legacy|memory|detail|GeluType|OpaqueType|gpu_index_kernel)$"
)
_AFFIXES = re.compile(
    r"^CUDAFunctor(?:OnSelf|OnOther)?_|^opmath_|^vectorized_|_kernel_vectorized$|Ops$"
    r"|(?:_?[Kk]ernel)?_?(?:CUDA|cuda)?(?:KernelImpl|_kernel_cuda|_kernel_impl|_kernel|_functor|Functor|Kernel)(?:_\d+x\d+)?$"
)


def functions_of_aten(name: str) -> tuple[str, ...]:
    """Return the functions that a kernel of ATen's applies, three at most: `gelu`, `mul`."""
    found: list[str] = []
    for function in _FUNCTION.findall(name):
        if _NO_FUNCTION.match(function):
            continue
        short = _AFFIXES.sub("", _AFFIXES.sub("", function))
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", short).lower().removesuffix("_cuda").strip("_")
        if words and words not in found:
            found.append(words)
    return tuple(found[:3])
