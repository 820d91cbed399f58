"""What profiles and sweeps show of each claim about fused MLPs: a verdict, and the evidence in ratios."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from results.units import percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOT = Path(__file__).parents[2]
ARTICLE = "fusebench article"
SWEEP = "fusebench run --axes quick --operation mlp,gated_mlp"
GUARDS = {"TorchDynamo Cache Lookup", "Torch-Compiled Region", "## Call CompiledFxGraph ##"}
CONFIRMED, REFUTED, UNDECIDED = "confirmed", "refuted", "undecided"
Found = tuple[str, str]  # verdict, evidence


@cache
def _article() -> list[dict[str, Any]]:
    """Cases of `fusebench article`, each with its contenders by name."""
    cases: list[dict[str, Any]] = json.loads(_printed("article", "--format", "json"))["cases"]
    return [{**case, "by": {each["contender"]: each for each in case["observed"]}} for case in cases]


@cache
def _sweep() -> dict[tuple[str, int, int, str], dict[str, Any]]:
    """Points of the sweep by operation, hidden, batch and provider."""
    _printed(*SWEEP.split()[1:])
    rows = json.loads(_printed("show", "HEAD", "--format", "json", "--where", "pass=forward"))
    points = rows["points"] if isinstance(rows, dict) else rows
    return {
        (row["operation"], row["hidden"], row["batch"], row["provider"]): row
        for row in points
        if row["operation"] in {"mlp", "gated_mlp"} and row["activation"] in {"gelu", "silu"}
        and row["hidden"] in {256, 1024} and row["batch"] in {16, 256} and row["dim"] * 4 == row["hidden"]
    }  # fmt: skip


def _printed(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "fusebench", *words], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode not in {0, 2}:
        sys.exit(f"fusebench {' '.join(words)} ended with {done.returncode}")
    return done.stdout


def _steps(contender: dict[str, Any]) -> dict[str, float]:
    return {step["name"]: step["count"] for step in contender["steps"] or ()}


def _in_words(steps: dict[str, float]) -> str:
    return ", ".join(name if count == 1 else f"{count:g} × {name}" for name, count in steps.items())


def _host_share(contender: dict[str, Any], names: Iterable[str]) -> float | None:
    """Return what share of the profiled call goes to `names`; None where that was disturbed."""
    if contender["is_profile_disturbed"]:
        return None
    spent = sum(time_s for name, time_s in contender["bookkeeping_s"].items() if name in set(names))
    return spent / contender["host_time_s"]


def verdict(is_so: bool) -> str:  # noqa: FBT001 - the answer itself
    """Name what a check has found."""
    return CONFIRMED if is_so else REFUTED


def one_product() -> Found:
    """Find one product in a Linear layer, and aten::t outside of what computes."""
    eager = _article()[0]["by"]["eager"]
    share = _host_share(eager, {"aten::t", "aten::transpose", "aten::as_strided"})
    is_so = _steps(eager) == {"aten::addmm": 1} and "aten::t" in eager["bookkeeping_s"]
    cost = "" if share is None else f", {percent(share, digits=0)} of the profiled call"
    return verdict(is_so), f"{_in_words(_steps(eager))}; aten::t computes nothing{cost}"


def bias_in_epilogue() -> Found:
    """Look for the copy that writes the bias."""
    share = sum(step["within"].get("aten::copy_") or 0.0 for step in _article()[0]["by"]["eager"]["steps"])
    copies = any("aten::copy_" in step["within"] for step in _article()[0]["by"]["eager"]["steps"])
    return verdict(not copies), "aten::copy_ inside aten::addmm writes the bias" + (
        f", {percent(share, digits=0)} of it" if share else ""
    )


def nothing_to_fuse() -> Found:
    """Compare the steps of a compiled Linear layer with eager's."""
    eager, compiled = (_article()[0]["by"][name] for name in ("eager", "compiled"))
    gone = "aten::t" in eager["bookkeeping_s"] and "aten::t" not in compiled["bookkeeping_s"]
    is_so = _steps(eager) == _steps(compiled) and gone
    return verdict(is_so), f"compiled: {_in_words(_steps(compiled))}, without aten::t"


def five_operators() -> Found:
    """Count eager's operators in a GeGLU block."""
    found = [_steps(case["by"]["eager"]) for case in _article()[1:]]
    wanted = {"aten::mm": 3, "aten::gelu": 1, "aten::mul": 1}
    return verdict(all(steps == wanted for steps in found)), _in_words(found[-1])


def four_operators() -> Found:
    """Count the compiled block's."""
    found = [_steps(case["by"]["compiled"]) for case in _article()[1:]]
    is_so = all(steps.get("aten::mm") == 3 and sum(steps.values()) == 4 for steps in found)
    return verdict(is_so), _in_words(found[-1])


def guards_at_every_call() -> Found:
    """Find what dynamo does at every call."""
    found = [_host_share(case["by"]["compiled"], GUARDS) for case in _article()]
    shares = sorted(share for share in found if share is not None)
    if not shares:
        return UNDECIDED, "every profile was disturbed"
    least, most = (percent(share, digits=0) for share in (shares[0], shares[-1]))
    text = f"{least} to {most} of the profiled call, in {len(shares)} of {len(found)} profiles"
    return verdict(shares[0] > 0), text


def compilation() -> Found:
    """Compare compiling with a call of eager."""
    texts = []
    for case in _article():
        compiled, eager = case["by"]["compiled"], case["by"]["eager"]
        once, again = compiled["compile_time_cold_s"], compiled["recompile_time_s"]
        if None not in {once, again, eager["latency_s"]}:
            texts.append(f"{once / eager['latency_s']:,.0f} and {again / eager['latency_s']:,.0f}")
    if not texts:
        return UNDECIDED, "no compilation was timed"
    return CONFIRMED, f"first and further shapes, in calls of eager: {'; '.join(texts)}"


def written_by_hand() -> Found:
    """Look for guards and compilation in our operator, at every shape."""
    found = [case["by"]["fused"] for case in _article()]
    is_so = not any(GUARDS & set(each["bookkeeping_s"]) or each["compile_time_cold_s"] for each in found)
    names = dict.fromkeys(name for each in found for name in _steps(each))
    return verdict(
        is_so and len(names) == 2
    ), f"{', '.join(names)}: no guards in the profile, nothing compiled for a shape"


def fewer_intermediates() -> Found:
    """Compare peaks of memory, in intermediates."""
    texts, is_so = [], True
    for case in _article()[1:]:
        peaks = [
            case["by"][name]["peak_memory_bytes"] / case["intermediate_bytes"]
            for name in ("eager", "compiled", "fused")
        ]
        is_so = is_so and peaks[0] > peaks[1] > peaks[2]
        texts.append(" > ".join(f"{peak:.2g}" for peak in peaks))
    return verdict(is_so), f"peak of eager > compiled > fused, in [rows, hidden] tensors: {'; '.join(texts)}"


def ladder() -> Found:
    """Count operators of an MLP and of a gated one, by provider."""
    counts = {
        name: sorted({(key[0], row["operator_count"]) for key, row in _sweep().items() if key[3] == name})
        for name in ("eager", "compiled", "fused")
    }
    wanted = {
        name: [("gated_mlp", gated), ("mlp", mlp)]
        for name, mlp, gated in (("eager", 3, 5), ("compiled", 3, 4), ("fused", 1, 1))
    }
    return verdict(counts == wanted), "; ".join(
        f"{name} {', '.join(f'{operation} {count:g}' for operation, count in found)}" for name, found in counts.items()
    )


def gains_by_batch() -> Found:
    """Compare the speedup of fused at few rows and at many, by whether their intervals are apart."""
    texts, verdicts = [], []
    for operation in ("mlp", "gated_mlp"):
        for hidden in (256, 1024):
            few, many = (_sweep()[operation, hidden, batch, "fused"] for batch in (16, 256))
            texts.append(f"{operation} {hidden}: {few['speedup_vs_eager']:.2g} and {many['speedup_vs_eager']:.2g}")
            apart = few["speedup_ci_low"] > many["speedup_ci_high"], few["speedup_ci_high"] < many["speedup_ci_low"]
            verdicts.append(CONFIRMED if apart[0] else REFUTED if apart[1] else UNDECIDED)
    answer = verdicts[0] if len(set(verdicts)) == 1 else UNDECIDED
    rows = [row for key, row in _sweep().items() if key[3] == "fused"]
    return answer, f"fused over eager at 16 and 256 rows: {'; '.join(texts)}{_disturbed(rows)}"


def compiled_gains() -> Found:
    """Ask whether torch.compile reaches the 1.5 to 3 that were claimed for short operators at few rows."""
    rows = {key: row for key, row in _sweep().items() if key[3] == "compiled" and key[2] == 16}
    texts = [f"{key[0]} {key[1]}: {row['speedup_vs_eager']:.2g}" for key, row in rows.items()]
    is_below = all(row["speedup_ci_high"] < 1.5 for row in rows.values())
    is_above = all(row["speedup_ci_low"] >= 1.5 for row in rows.values())
    return REFUTED if is_below else CONFIRMED if is_above else UNDECIDED, (
        f"at 16 rows: {'; '.join(texts)}{_disturbed(rows.values())}"
    )


def _disturbed(rows: Iterable[dict[str, Any]]) -> str:
    """Tell of how many points the times were disturbed; a ratio of calls in turns holds all the same."""
    states = [bool(row.get("disturbed")) for row in rows]
    return f" ({sum(states)} of {len(states)} disturbed)" if any(states) else ""


def first_iterations() -> Found:
    """Time calls one by one in new processes: the first against the median of later ones."""
    code = (
        "import time, torch\n"
        "m = torch.nn.Linear(32, 64); x = torch.randn(1024, 32); times = []\n"
        "with torch.no_grad():\n"
        "    for _ in range(200):\n"
        "        start = time.perf_counter(); m(x); times.append(time.perf_counter() - start)\n"
        "print(times[0] / sorted(times[100:])[50])"
    )
    environ = {**os.environ, "OMP_NUM_THREADS": "1"}
    ratios = [
        float(
            subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True).stdout
        )
        for _ in range(5)
    ]
    return verdict(
        min(ratios) > 1
    ), f"first over later calls, eager, five processes: {min(ratios):.0f} to {max(ratios):.0f}"


def profiler_in_the_loop() -> Found:
    """Time five operators and one that does the same, with and without a profiler around the loop, in turns."""
    os.environ["KINETO_LOG_LEVEL"] = "99"  # or each profile writes two lines
    import torch  # noqa: PLC0415 - takes seconds, and one check alone needs it

    import fused_mlp  # noqa: PLC0415 - the same

    torch.set_num_threads(1)
    x, gate, up, down = (torch.randn(*size) for size in ((4, 32), (64, 32), (64, 32), (32, 64)))
    gelu, linear = torch.nn.functional.gelu, torch.nn.functional.linear

    def eager() -> object:
        return linear(gelu(linear(x, gate), approximate="tanh") * linear(x, up), down)

    def fused() -> object:
        return fused_mlp.gated_mlp(x, gate, up, down, activation="gelu_tanh")

    def timed(call: Callable[[], object]) -> float:
        start = time.perf_counter()
        for _ in range(20):
            call()
        return time.perf_counter() - start

    def profiled(call: Callable[[], object]) -> float:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
            return timed(call)

    plain, inside = [], []
    with torch.no_grad():
        for call in (eager, fused):
            timed(call)
        for _ in range(101):
            plain.append(timed(eager) / timed(fused))
            inside.append(profiled(eager) / profiled(fused))
    larger = sum(two > one for one, two in zip(plain, inside, strict=True))
    # Of 101 fair coins 66 or more, or 35 or fewer, fall the same way once in 370 times.
    answer = CONFIRMED if larger >= 66 or larger <= 35 else UNDECIDED
    without, within = statistics.median(plain), statistics.median(inside)
    return answer, (
        f"speedup of one operator over five: {without:.2g} without, {within:.2g} with a profiler around the loop "
        f"(with it larger in {larger} of 101 pairs, where chance gives 36 to 65)"
    )


def arithmetic() -> Found:
    """Read the guesses of the article's own shape."""
    command = [sys.executable, "-m", "benchmarks.ruler.article.guesses"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    case = json.loads(printed)[-1]
    product, intermediate = case["flop"] / 3, case["intermediate_bytes"]
    is_so = round(product / 1e9, 1) == 38.7 and round(intermediate / 1e6) == 50
    return verdict(is_so), f"{product / 1e9:.1f} GFLOP and {intermediate / 1e6:.1f} MB, from the shape alone"
