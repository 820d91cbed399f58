"""Which MLPs of models that people run `fused_mlp.fuse` replaces, and whether the models stay right.

    python tools/fused_models.py                       # the table, Markdown
    python tools/fused_models.py --speed --layers 4 --width 256   # and times at 1 × 16 tokens, in alternating rounds
    python tools/fused_models.py llama opt             # only these

Models are made from configurations with random weights, so nothing is downloaded. A model is wrong (exit code 2) if
its outputs or gradients leave the float32 tolerance of the untouched model, its state dict changes, or `unfuse` does
not give back the very same outputs, classes and hooks.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import os
import statistics
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from known_models import MODELS, Inputs, Model
from torch import nn

import fused_mlp

if TYPE_CHECKING:
    from collections.abc import Callable

TOLERANCE = 2e-5
ROUNDS = 15
BUSY_CORES = 0.3


def first_output(module: Callable[..., object], inputs: Inputs) -> torch.Tensor:
    """Return the model's result, the first of several."""
    result: Any = module(**inputs)
    return result if isinstance(result, torch.Tensor) else result[0]


def error(actual: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the largest difference over the largest value."""
    scale = expected.abs().max().item() or 1.0
    return (actual - expected).abs().max().item() / scale


def gradients(module: nn.Module, inputs: Inputs) -> torch.Tensor:
    """Return all parameters' gradients in one row."""
    torch.manual_seed(0)
    outcome = first_output(module, inputs)
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    # Against a fixed direction: the square of what a norm puts out hardly depends on any parameter.
    direction = torch.randn(outcome.shape, generator=torch.Generator().manual_seed(1))
    found = torch.autograd.grad((outcome * direction).sum(), parameters, allow_unused=True)
    return torch.cat([gradient.flatten() for gradient in found if gradient is not None])


def checked(model: Model, mode: str) -> tuple[fused_mlp.FusionReport, float, list[str]]:
    """Fuse, compare and unfuse; returns the report, the largest relative error, and what went wrong."""
    module, inputs = model.module, model.inputs
    module.train(mode == "training")
    state = list(module.state_dict())
    before = [(each, type(each)) for each in module.modules()]
    wrong = []
    torch.manual_seed(0)
    with torch.no_grad():
        expected = first_output(module, inputs)
    expected_gradients = gradients(module, inputs) if mode == "training" else torch.empty(0)
    report = fused_mlp.fuse(module, mode=mode)
    torch.manual_seed(0)
    with torch.no_grad():
        largest = error(first_output(module, inputs), expected)
    if mode == "training":
        largest = max(largest, error(gradients(module, inputs), expected_gradients))
    if list(module.state_dict()) != state:
        wrong.append("state dict")
    fused_mlp.unfuse(module)
    torch.manual_seed(0)
    with torch.no_grad():
        same = torch.equal(first_output(module, inputs), expected)
    if not same or [(each, type(each)) for each in module.modules()] != before:
        wrong.append("unfuse")
    if largest > TOLERANCE:
        wrong.append("result")
    return report, largest, wrong


def n_mlps_in(report: fused_mlp.FusionReport) -> int:
    """Return how many MLPs were replaced."""
    return sum(len(item.layers) > 1 for item in report.replaced)


def reason_of(report: fused_mlp.FusionReport) -> str:
    """Return what stands against the first MLP that was kept; attention is passed over."""
    reasons = [f"`{item.path}`: {item.reason}" for item in report.kept if "att" not in item.path.lower()]
    return next(iter(reasons), "")


def others_s() -> float | None:
    """Return the seconds of CPU that all other processes have used, or None where /proc does not say."""
    with contextlib.suppress(OSError):
        fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
        busy = sum(map(int, fields[:3])) / os.sysconf("SC_CLK_TCK")
        own = os.times()
        return busy - own.user - own.system
    return None


def speeds(model: Model) -> list[str]:
    """Time eager, compiled and fused in alternating rounds: eager ÷ the others with the quartiles, in words."""
    module, inputs = model.module.eval(), model.inputs
    fused = copy.deepcopy(module)
    fused_mlp.fuse(fused, mode="inference", rows=16)
    torch.compiler.reset()
    contenders: dict[str, Any] = {"eager": module, "compiled": torch.compile(copy.deepcopy(module)), "fused": fused}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    with torch.no_grad():
        for each in contenders.values():
            for _ in range(3):
                first_output(each, inputs)
        start, before = time.perf_counter(), others_s()
        for _ in range(ROUNDS):
            for name, each in contenders.items():
                began = time.perf_counter()
                for _ in range(5):
                    first_output(each, inputs)
                times[name].append((time.perf_counter() - began) / 5)
        after = others_s()
        elapsed = time.perf_counter() - start
    busy = None if before is None or after is None else (after - before) / elapsed
    cells = [f"{statistics.median(times['eager']) * 1e3:.2f} ms"]
    for name in ("compiled", "fused"):
        ratios = [eager / other for eager, other in zip(times["eager"], times[name], strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        cells.append(f"{middle:.2f} ({low:.2f}–{high:.2f})")
    cells.append("unknown" if busy is None else f"disturbed: {busy:.1f} cores" if busy > BUSY_CORES else "quiet")
    return cells


def without_operators_of_torchvision() -> None:
    """Let timm import a torchvision built for another torch: no model here needs its operators."""
    try:
        import_module("torchvision")
    except ImportError:
        return
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        globals()["_kept"] = library


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="of models; none for all")
    parser.add_argument("--width", type=int, default=64, help="of a layer's input (timm's models have their own)")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--speed", action="store_true", help="time eager, compiled and fused as well")
    options = parser.parse_args()
    unknown = set(options.names) - set(MODELS)
    if unknown:
        parser.error(f"no model {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    warnings.filterwarnings("ignore")
    without_operators_of_torchvision()
    heads = ["model", "MLPs", "training", "inference", "largest error", "why not the others"]
    heads += ["eager", "compiled is faster by", "fused is faster by", "machine"] if options.speed else []
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    n_all, n_replaced, n_wrong = 0, 0, 0
    for name in options.names or MODELS:
        torch.manual_seed(0)
        try:
            model = MODELS[name](options.width, options.layers)
        except ImportError as missing:
            print(f"| {name} | | | | | not tried: {missing} |")
            continue
        training, error_training, wrong = checked(model, "training")
        inference, error_inference, wrong_too = checked(model, "inference")
        n_all += model.n_mlps
        n_replaced += n_mlps_in(inference)
        n_wrong += bool(wrong or wrong_too)
        reason = reason_of(training) if n_mlps_in(training) < model.n_mlps else ""
        cells = [name, str(model.n_mlps), str(n_mlps_in(training)), str(n_mlps_in(inference))]
        cells += [f"{max(error_training, error_inference):.0e}", "; ".join(filter(None, [*wrong, *wrong_too, reason]))]
        if options.speed:
            cells += speeds(model)
        print(f"| {' | '.join(cells)} |", flush=True)
    share = 100 * n_replaced / n_all if n_all else 0.0
    print(f"\n{n_replaced} of {n_all} MLPs replaced for inference ({share:.0f} %); {n_wrong} models wrong.")
    return 2 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
