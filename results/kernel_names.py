"""Names of device kernels, decoded: who wrote it, what it does, with which tile, layout and dtype; pure.

A kernel's name is its identity: the same name is the same work, and a changed tile explains a changed time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from results.inductor_names import functions_of_aten, operators_of_generated

if TYPE_CHECKING:
    from collections.abc import Callable

PRODUCT, POINTWISE, REDUCTION, COPY, FILL = "matrix product", "pointwise", "reduction", "copy", "fill"
SPLIT_K, SPLIT_K_SUM, ATTENTION, NORM, GATHER = "split-K", "split-K sum", "attention", "normalisation", "gather"


@dataclass(frozen=True, kw_only=True)
class KernelName:
    """What a kernel's name says; None or empty for what it does not say.

    stable: the name without what differs between processes or places in a graph, so that the same work compares equal.
    author: library or compiler. tile: output tile and depth, as `128x64x32`. layout: transposition of each operand
    (`tn`). stages: of the pipeline. operators: of ATen that a generated kernel fuses, or the function applied.
    """

    stable: str
    author: str | None = None
    kind: str | None = None
    dtype: str | None = None
    tile: str | None = None
    layout: str | None = None
    stages: int | None = None
    epilogue: str | None = None
    architecture: str | None = None
    operators: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Everything that is known, on one line; the stable name itself where nothing is."""
        if self.kind is None:
            return self.stable
        what = f"{self.kind} ({', '.join(self.operators)})" if self.operators else self.kind
        details = (
            self.author,
            self.dtype,
            self.tile and f"tile {self.tile}",
            self.layout,
            self.stages and f"{self.stages} stage{'' if self.stages == 1 else 's'}",
            self.epilogue and f"+ {self.epilogue}",
            self.architecture,
        )
        return " · ".join([what, *(text for text in details if text)])


@lru_cache(maxsize=4096)
def decoded(name: str) -> KernelName:
    """Decode a kernel's name as torch.profiler reports it; one that is not known keeps its stable name alone."""
    stable = stable_kernel_name(name)
    for pattern, read in _READERS:
        if match := pattern.search(stable):
            return KernelName(stable=stable, **read(match))
    return KernelName(stable=stable)


_HASH = re.compile(r"_[0-9a-f]{16,}(?=_|$)")
_SPECIALISATION = re.compile(r"(?:_\d+(?:d|de|c)?)*_(?:\d+d(?:e|c)?)+(?:\d+)*$")
_INDUCTOR_NUMBER = re.compile(r"^(triton_[a-z]+_fused\w*?|triton_[a-z]{2,3}|cpp_fused\w*?)_\d+$")


@lru_cache(maxsize=4096)
def stable_kernel_name(name: str) -> str:
    """Strip hashes, numbers of a place in a graph, argument lists and specialisations from a kernel's name."""
    text = _without_arguments(name.strip().removeprefix("void "))
    text = _SPECIALISATION.sub("", _HASH.sub("", text))
    match = _INDUCTOR_NUMBER.match(text)
    return match[1] if match else text


def _without_arguments(name: str) -> str:
    """Cut the list of arguments that a demangled name ends with; of operator() and anonymous namespaces none is."""
    if not name.endswith(")") or name.startswith(("Memcpy", "Memset")):
        return name
    depth = 0
    for place in range(len(name) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(name[place], 0)
        if depth == 0:
            return name[:place] if place and name[place - 1] != " " else name
    return name


_DTYPES = {
    "bf16": "bfloat16", "f16": "float16", "fp16": "float16", "f32": "float32", "tf32": "tf32", "f64": "float64",
    "s8": "int8", "e4m3": "float8", "h": "float16", "t": "bfloat16", "s": "float32", "q": "float8", "d": "float64",
    "e5m2": "float8", "z": "complex128", "c": "complex64", "i": "int8",
}  # fmt: skip
_C_TYPES = {
    "__nv_bfloat16": "bfloat16", "c10::BFloat16": "bfloat16", "__half": "float16", "c10::Half": "float16",
    "float": "float32", "double": "float64", "cutlass::bfloat16_t": "bfloat16", "cutlass::half_t": "float16",
    "cutlass::float_e4m3_t": "float8", "cutlass::float_e5m2_t": "float8",
}  # fmt: skip
_C_TYPE = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in _C_TYPES))
_Known = dict[str, Any]


def _of_nvjet(match: re.Match[str]) -> _Known:
    known = match.groupdict()
    rows, columns, depth = known["m"], known["n"], known["k"]
    return {
        "author": "cuBLASLt", "kind": PRODUCT, "dtype": _DTYPES.get(known["types"][0]),
        "tile": f"{rows}x{columns}x{depth}", "stages": int(known["stages"]), "layout": known["layout"][:2].lower(),
        "epilogue": " and ".join(filter(None, (SPLIT_K if "splitK" in known["more"] else "",
                                               "bias" if "bias" in known["more"] else ""))) or None,
        "architecture": known["sm"],
    }  # fmt: skip


def _of_xmma(match: re.Match[str]) -> _Known:
    known = match.groupdict()
    dtype = "tf32" if "tf32" in known["types"] else _DTYPES.get(_first_type(known["types"]))
    epilogue = re.search(r"_(relu|gelu|bias)(?=_)", known["more"])
    return {
        "author": "cuBLAS", "kind": PRODUCT, "dtype": dtype, "tile": known["tile"],
        "layout": known["layout"].replace("_", ""),
        "stages": _number(known["more"], r"_stage(\d+)"), "epilogue": epilogue[1] if epilogue else None,
        "architecture": known["sm"],
    }  # fmt: skip


def _first_type(types: str) -> str:
    match = re.match(r"(bf16|f16|tf32|f32|f64|s8|e4m3)", types)
    return match[1] if match else types


def _of_generation(match: re.Match[str]) -> _Known:
    known = match.groupdict()
    dtype = known["dtype"] or known["dtype2"] or known["letter"]
    depth = re.search(r"_stages_(\d+)x(\d+)", known["more"])
    tile = f"{known['tile']}x{depth[1]}" if depth else known["tile"]
    return {
        "author": "cuBLAS", "kind": PRODUCT, "dtype": _DTYPES.get(dtype), "tile": tile, "layout": known["layout"],
        "stages": int(depth[2]) if depth else None, "epilogue": "relu" if "_relu" in known["more"] else None,
        "architecture": known["generation"],
    }  # fmt: skip


def _of_cutlass(match: re.Match[str]) -> _Known:
    known = match.groupdict()
    dtype = known["dtype"] or known["dtype2"] or ("tf32" if known["shape"] == "1688" else known["letter"])
    return {
        "author": "CUTLASS", "kind": PRODUCT, "dtype": _DTYPES.get(dtype), "layout": known["layout"],
        "tile": f"{known['tile']}x{known['depth']}", "stages": int(known["stages"]), "epilogue": known["epilogue"],
        "architecture": f"sm{known['sm']}",
    }  # fmt: skip


def _of_cutlass3(match: re.Match[str]) -> _Known:
    known = match.groupdict()
    epilogue = re.search(r"_(relu|gelu|bias)(?=_|$)", known["more"])
    return {
        "author": "CUTLASS", "kind": PRODUCT, "dtype": _DTYPES.get(known["dtype"]), "layout": known["layout"],
        "tile": known["tile"], "epilogue": epilogue[1] if epilogue else None, "architecture": known["sm"],
    }  # fmt: skip


def _of_collective(match: re.Match[str]) -> _Known:
    # The first tuple is the cluster's shape, the one after the schedule the tile's.
    three = ", ".join([r"cute::C<(\d+)>"] * 3)
    sizes = re.search(rf"Mainloop(Sm\d+)\w*<(\d+), .*?>, cute::tuple<{three} ?>", match.string)
    known = sizes.groups() if sizes else (None, None)
    return {
        "author": "CUTLASS", "kind": PRODUCT, "dtype": _c_type(match.string), "tile": "x".join(known[2:]) or None,
        "stages": int(known[1]) if known[1] else None, "architecture": known[0] and known[0].lower(),
    }  # fmt: skip


def _of_attention(author: str | None) -> Callable[[re.Match[str]], _Known]:
    def read(match: re.Match[str]) -> _Known:
        named = re.search(r"_(bf16|f16|f32)(?=_|$)", match.string)
        return {"author": author, "kind": ATTENTION, "dtype": _DTYPES[named[1]] if named else _c_type(match.string)}

    return read


def _of_vector_product(match: re.Match[str]) -> _Known:
    layout = re.search(r"_([NT]{2})_kernel|gemv(?:2|NSP_)?([NT])_kernel", match.string)
    return {
        "author": "cuBLAS", "kind": PRODUCT, "dtype": _c_type(match.string),
        "layout": next(filter(None, layout.groups())).lower() if layout else None, "tile": None,
    }  # fmt: skip


def _of_split_k(match: re.Match[str]) -> _Known:
    return {"author": "cuBLASLt" if "cublasLt" in match.string else "cuBLAS", "kind": SPLIT_K_SUM,
            "dtype": _c_type(match.string)}  # fmt: skip


def _of_aten(kind: str) -> Callable[[re.Match[str]], _Known]:
    def read(match: re.Match[str]) -> _Known:
        name = match.string
        return {"author": "ATen", "kind": kind, "dtype": _c_type(name), "operators": functions_of_aten(name)}

    return read


def _c_type(name: str) -> str | None:
    # The first type in brackets is what the kernel reads.
    found = _C_TYPE.search(name[name.find("<") :]) if "<" in name else None
    return _C_TYPES[found[0]] if found else None


_KINDS = {"poi": POINTWISE, "red": REDUCTION, "per": REDUCTION, "tem": PRODUCT, "for": POINTWISE, "mix": REDUCTION}


def _of_inductor(match: re.Match[str]) -> _Known:
    operators = operators_of_generated(match["operators"] or "")
    is_attention = any("attention" in operator for operator in operators)
    kind = ATTENTION if is_attention else _KINDS.get(match["kind"], PRODUCT)
    return {"author": "Inductor (Triton)", "kind": kind, "operators": operators}


def _of_inductor_cpp(match: re.Match[str]) -> _Known:
    return {"author": "Inductor (C++)", "kind": POINTWISE, "operators": operators_of_generated(match["operators"])}


def _simply(author: str, kind: str, *operators: str) -> Callable[[re.Match[str]], _Known]:
    return lambda _: {"author": author, "kind": kind, "operators": operators}


def _of_liger(match: re.Match[str]) -> _Known:
    return {"author": "Liger", "kind": POINTWISE, "operators": (match["operation"],)}


def _number(text: str, pattern: str) -> int | None:
    match = re.search(pattern, text)
    return int(match[1]) if match else None


_NVJET = (
    r"^nvjet_(?:(?P<sm>sm\d+)_)?(?P<types>[a-z]{3,5})_(?:mma_)?(?P<m>\d+)x(?P<n>\d+)_(?P<k>\d+)x(?P<stages>\d+)_"
    r"\d+x\d+(?P<more>\w*)_(?P<layout>[NT]{3,4})$"
)
_XMMA = (
    r"^(?P<sm>sm\d+)_xmma_gemm_(?P<types>\w+?)_(?P<layout>[nt]_?[nt])(?:_n)?"
    r"_tilesize(?P<tile>\d+x\d+x\d+)(?P<more>\w*)$"
)
_GENERATION = (
    r"^(?P<generation>maxwell|volta|turing|ampere|hopper)_(?:(?P<dtype>bf16|fp16|tf32|int8)_)?(?P<letter>[shdcz])\d*gemm"
    r"(?:_(?P<dtype2>bf16|fp16|tf32))?_(?P<tile>\d+x\d+)(?P<more>\w*?)_(?P<layout>[nt]{2})(?:_\w+)?$"
)
_CUTLASS = (
    r"cutlass_(?P<sm>\d+)_(?:wmma_)?(?:tensorop|simt)_(?:(?P<dtype>bf16|f16|tf32|s8)_)?(?P<letter>[shdczi])"
    r"(?P<shape>\d*)gemm(?:_(?P<epilogue>relu|gelu|bias))?(?:_(?P<dtype2>bf16|f16|tf32|s8))?_"
    r"(?P<tile>\d+x\d+)_(?P<depth>\d+)x(?P<stages>\d+)_(?P<layout>[nt]{2})(?:_align\d+)?"
)
_CUTLASS3 = (
    r"cutlass3x_(?P<sm>sm\d+)_(?:tensorop|simt)_(?:[a-z][\dx]+)?gemm_(?P<dtype>bf16|f16|tf32|f32|e4m3|e5m2|s8)_\w*?"
    r"_(?P<tile>\d+x\d+x\d+)_\d+x\d+x\d+_\d+_(?P<layout>[nt]{2})[nt]_align\d+(?P<more>\w*)"
)
_VECTOR = r"gemvx::kernel|gemv2[NT]_kernel|gemvNSP_kernel|gemv[NT]_kernel|gemmSN_[NT]{2}_kernel|gemmk1_kernel"
_ACTIVATED = r"^(?:linear_(?:epilogue|persistent)|dual_product(?:_persistent)?)_kernel$"
_BESIDE = r"^(?:(?:(?:gated_)?hidden|activation|gate)_gradient|bias_activation|gate_product)_kernel$"
_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], _Known]], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (r"^Memcpy (?P<way>\w+)", lambda match: {"author": "CUDA", "kind": COPY, "operators": (match["way"],)}),
        (r"^Memset", _simply("CUDA", FILL)),
        (_NVJET, _of_nvjet),
        (_XMMA, _of_xmma),
        (_GENERATION, _of_generation),
        (_CUTLASS, _of_cutlass),
        (_CUTLASS3, _of_cutlass3),
        (r"splitKreduce_kernel", _of_split_k),
        (_VECTOR, _of_vector_product),
        (r"flash_(?:fwd|bwd)\w*kernel|\bflash::(?:Flash|enable_sm)", _of_attention("FlashAttention")),
        (r"^cudnn\w*sdpa", _of_attention("cuDNN")),
        (r"^fmha_cutlass", _of_attention("CUTLASS")),
        (r"^fmha_", _of_attention(None)),
        (r"cutlass::gemm::(?:kernel::GemmUniversal|collective::CollectiveMma)", _of_collective),
        (r"^triton_(?P<kind>poi|red|per|tem|for|mix)_fused_?(?P<operators>\w*)$", _of_inductor),
        (r"^triton_(?:mm|tem|bmm|addmm)\b", _simply("Inductor (Triton)", PRODUCT)),
        (r"^cpp_fused_?(?P<operators>\w*)$", _of_inductor_cpp),
        (r"^(?:mlp|gated_mlp)_(?:full_tile|split_hidden)_kernel$", _simply("fused_mlp", PRODUCT, "whole MLP")),
        (_ACTIVATED, _simply("fused_mlp", PRODUCT, "activation")),
        (_BESIDE, _simply("fused_mlp", POINTWISE)),
        (r"^_(?P<operation>geglu_tanh|geglu_exact|swiglu)_(?:forward|backward)_kernel", _of_liger),
        (r"at::native::.*(?:layer_norm|rms_norm|LayerNorm|RowwiseMoments|GammaBeta)", _of_aten(NORM)),
        (r"softmax_warp|SoftMax|softMax", _simply("ATen", REDUCTION, "softmax")),
        (r"at::native::reduce_kernel", _of_aten(REDUCTION)),
        (r"CatArrayBatchedCopy", _simply("ATen", COPY, "cat")),
        (r"at::native::.*(?:direct_copy_kernel|copy_kernel)", _simply("ATen", COPY)),
        (r"at::native::.*FillFunctor", _simply("ATen", FILL)),
        (r"at::native::.*(?:index|gather|scatter|indexSelect)", _of_aten(GATHER)),
        (r"at::native::\w*elementwise_kernel", _of_aten(POINTWISE)),
    )
)
