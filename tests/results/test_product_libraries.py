"""Which library ran a profile's products, by the names it holds."""

from __future__ import annotations

import pytest

from results.product_libraries import NO_PRODUCT, product_libraries, slow_library_in_words

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


ON_AMD = {"device": "AMD EPYC", "vector_instructions": "AVX512", "mkl_processor": "Intel(R) Architecture processors"}


def test_a_library_that_leaves_instructions_unused_is_told_with_its_evidence():
    told = slow_library_in_words(ON_AMD, ["float32"])
    assert "takes this processor (AMD EPYC) for one of `Intel(R) Architecture processors`" in told
    assert "not for one with the AVX512 that it has" in told


@pytest.mark.parametrize(
    ("conditions", "dtype"),
    [
        (
            {**ON_AMD, "mkl_processor": "Intel(R) Advanced Vector Extensions 2 (Intel(R) AVX2) enabled processors"},
            "float32",
        ),
        ({**ON_AMD, "mkl_processor": None}, "float32"),
        ({**ON_AMD, "vector_instructions": "DEFAULT"}, "float32"),
        (ON_AMD, "bfloat16"),
        ({}, "float32"),
    ],
)
def test_of_other_libraries_processors_and_dtypes_nothing_is_told(conditions, dtype):
    assert slow_library_in_words(conditions, [dtype]) is None
