"""What of a gain over eager is another library's, not fusing's: the same product by both, in turns."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from claimed.profile_claims import CONFIRMED, REFUTED, UNDECIDED, Found

if TYPE_CHECKING:
    from collections.abc import Callable

_ROWS, _DIM, _HIDDEN = 512, 768, 3072
# Both products' weights of a block of these widths as one, so that no cache of one core holds them.
_DIM_OF_BOTH = 2 * _DIM
# Of 101 values the 40th and the 62nd hold the median with 95 %.
_PAIRS, _LOW, _HIGH = 101, 39, 61
_AS_FAST, _AS_LONG = 1.05, 1.5


class _Ratio(NamedTuple):
    """Time of one call over another's, in turns, with its 95 % interval; second_s: the other's, in seconds."""

    low: float
    middle: float
    high: float
    second_s: float

    def __str__(self) -> str:
        return f"{self.middle:.2g} ({self.low:.2g} … {self.high:.2g}) ×"


def gain_is_of_fusing() -> Found:
    """Time one product, nothing fused, by ATen's library and by oneDNN, in turns."""
    import torch  # noqa: PLC0415 - takes seconds, and only these checks need it

    from benchmarks.ruler.measure.conditions import cpu_name, mkl_processor  # noqa: PLC0415 - imports torch

    x, weight = torch.randn(_ROWS, _DIM), torch.randn(_HIDDEN, _DIM)
    packed, linear = weight.to_mkldnn(), torch.ops.mkldnn._linear_pointwise  # noqa: SLF001 - its only name
    found = _ratio(
        lambda: torch.nn.functional.linear(x, weight), lambda: linear(x, packed, None, "none", [], ""), calls=1
    )
    verdict = REFUTED if found.low > _AS_FAST else CONFIRMED if found.high < _AS_FAST else UNDECIDED
    taken_for = mkl_processor()
    library = "oneMKL" if taken_for else "ATen's library"
    if taken_for and "AVX" not in taken_for:
        library += f", which takes this processor for `{taken_for}`"
    size = f"{_ROWS} rows, {_DIM} → {_HIDDEN}"
    return verdict, f"the product alone, {size}, nothing fused, {cpu_name()}: oneDNN is {found} as fast as {library}"


def one_row_is_read_at_full_speed() -> Found:
    """Time eager's product of one row, and ours, against summing up the same weights, which reads them once."""
    import torch  # noqa: PLC0415 - as above

    import fused_mlp  # noqa: PLC0415 - the same
    from benchmarks.ruler.measure.conditions import cpu_name  # noqa: PLC0415 - the same

    x, weight, bias = torch.randn(1, _DIM_OF_BOTH), torch.randn(_HIDDEN, _DIM_OF_BOTH), torch.randn(_HIDDEN)
    eager = _ratio(lambda: torch.nn.functional.linear(x, weight, bias), weight.sum, calls=3)
    ours = _ratio(lambda: fused_mlp.linear(x, weight, bias), weight.sum, calls=3)
    verdict = REFUTED if eager.low > _AS_LONG else CONFIRMED if eager.high < _AS_LONG else UNDECIDED
    megabytes = weight.numel() * weight.element_size() / 1e6
    return verdict, (
        f"{megabytes:.1f} MB of weights, {cpu_name()}: eager's product takes {eager} as long as summing them up, "
        f"ours {ours} (they are summed up at {megabytes / 1e3 / eager.second_s:.0f} GB/s)"
    )


def _ratio(first: Callable[[], object], second: Callable[[], object], *, calls: int) -> _Ratio:
    """Time `calls` of both in turns, on one thread."""
    import torch  # noqa: PLC0415 - as above

    def timed(call: Callable[[], object]) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return (time.perf_counter() - start) / calls

    torch.set_num_threads(1)
    with torch.inference_mode():
        for call in (first, second) * 3:
            call()
        pairs = [(timed(first), timed(second)) for _ in range(_PAIRS)]
    ratios = sorted(one / two for one, two in pairs)
    return _Ratio(ratios[_LOW], ratios[_PAIRS // 2], ratios[_HIGH], sorted(two for _, two in pairs)[_PAIRS // 2])
