"""Which library ran a profile's products, by the names it holds."""

from __future__ import annotations

import pytest

from results.product_libraries import NO_PRODUCT, product_libraries

NVJET = "nvjet_tst_64x16_64x16_4x2_h_bz_TNT"
CUTLASS = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x128_32x4_tn_align8>(Params)"
SGEMM = "ampere_sgemm_128x64_tn"
POINTWISE = "triton_poi_fused_gelu_0"


@pytest.mark.parametrize(
    ("kernels", "names"),
    [
        ([(NVJET, 2), (POINTWISE, 1)], ("cuBLASLt",)),
        ([(CUTLASS, 1)], ("CUTLASS",)),
        ([(SGEMM, 1), (NVJET, 2)], ("cuBLASLt", "cuBLAS")),
        ([("triton_tem_fused_addmm_0", 1)], ("Inductor (Triton)",)),
        ([("mlp_full_tile_kernel", 1)], ("fused_mlp",)),
    ],
)
def test_kernels_name_their_library(kernels, names):
    found = product_libraries([("aten::addmm", 2)], kernels)
    assert (found.names, found.reason) == (names, None)


@pytest.mark.parametrize(
    ("operators", "names"),
    [
        (["mkldnn::_linear_pointwise", "cpp_fused_gelu_0"], ("oneDNN",)),
        (["mkl::_mkl_linear"], ("MKL",)),
        (["fused_mlp::mlp"], ("fused_mlp (C++)",)),
        (["fused_mlp::mlp_onednn"], ("oneDNN",)),
        (["aten::mm", "mkl::_mkl_linear"], ("MKL",)),
    ],
)
def test_on_a_cpu_operators_do_where_they_can(operators, names):
    found = product_libraries([(name, 1) for name in operators], [])
    assert (found.names, found.reason) == (names, None)


@pytest.mark.parametrize(
    ("operators", "kernels", "reason"),
    [
        (["aten::addmm", "aten::gelu"], [], "aten::addmm calls a library that torch was built with"),
        (["aten::mm", "fused_mlp::mlp"], [], "aten::mm calls a library that torch was built with"),
        (["aten::gelu"], [], NO_PRODUCT),
        (["aten::addmm"], [(POINTWISE, 1)], NO_PRODUCT),
        ([], [], NO_PRODUCT),
    ],
)
def test_where_no_name_shows_it_there_is_a_reason(operators, kernels, reason):
    found = product_libraries([(name, 1) for name in operators], kernels)
    assert found.names == ()
    assert found.reason.startswith(reason)
