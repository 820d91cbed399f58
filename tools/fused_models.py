"""Which MLPs of models that people run `fused_mlp.fuse` replaces, and whether the models stay right.

    python tools/fused_models.py                          # the table, Markdown
    python tools/fused_models.py llama opt                # only these
    python tools/fused_models.py --write docs/fuse.md     # the table into the page, between its marks
    python tools/fused_models.py --speed                  # times at 1 × 16 tokens instead: eager, compiled, fused
    python tools/fused_models.py --speed --keep rows.json # the same, going on where the last call was interrupted

Models are made from configurations with random weights, so nothing is downloaded. A model is wrong (exit code 2) if
its outputs or gradients leave the float32 tolerance of the untouched model, its state dict changes, or `unfuse` does
not give back the very same outputs, state dict, modules and hooks.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass, field
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from known_models.kept_rows import KeptRows
from known_models.models import MODELS, Model
from known_models.round_trip import differences_after_undoing, results_of, state_items
from known_models.speeds import HEADS as SPEED_HEADS
from known_models.speeds import Timed

import fused_mlp

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TOLERANCE = 2e-5
HEADS = ("model", "MLPs", "training", "inference", "largest error", "undone", "why not the others")
MARKS = {False: "make models", True: "make models MODELS=--speed"}
# Width and layers where none are given: times of models whose layers cost nothing say nothing.
SIZES = {False: (64, 2), True: (512, 4)}


@dataclass
class Counts:
    """Sums over the models of a table. missing: models whose library is not there."""

    mlps: int = 0
    replaced: int = 0
    wrong: int = 0
    missing: list[str] = field(default_factory=list)


def error(actual: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the largest difference over the largest value."""
    scale = expected.abs().max().item() or 1.0
    return (actual - expected).abs().max().item() / scale


def compared(model: Model, mode: str) -> tuple[fused_mlp.FusionReport, float, list[str], list[str]]:
    """Fuse, compare and undo; returns the report, the largest relative error, what is wrong and what is not undone."""
    module = model.module
    module.train(mode == "training")
    names = [name for name, _ in state_items(module)]
    expected = results_of(model)
    report = fused_mlp.fuse(module, mode=mode)
    actual = results_of(model)
    wrong = [] if [name for name, _ in state_items(module)] == names else ["state dict"]
    fused_mlp.unfuse(module)
    largest = max(error(one, other) for one, other in zip(actual.outputs, expected.outputs, strict=True))
    if expected.gradients:
        largest = max(largest, error(in_one_row(actual.gradients), in_one_row(expected.gradients)))
    if largest > TOLERANCE:
        wrong.append("result")
    return report, largest, wrong, differences_after_undoing(model, mode=mode)


def in_one_row(gradients: list[torch.Tensor]) -> torch.Tensor:
    """Return all gradients as one: one that is zero but for rounding has no scale of its own."""
    return torch.cat([gradient.flatten() for gradient in gradients])


def n_mlps_in(report: fused_mlp.FusionReport) -> int:
    """Return how many MLPs were replaced."""
    return sum(len(item.layers) > 1 for item in report.replaced)


def reason_of(report: fused_mlp.FusionReport) -> str:
    """Return what stands against the first MLP that was kept; attention is passed over."""
    reasons = [f"`{item.path}`: {item.reason}" for item in report.kept if "att" not in item.path.lower()]
    return next(iter(reasons), "")


def coverage(name: str, model: Model, counts: Counts) -> list[str]:
    """Return the cells of a model's line, and add it to the counts."""
    training, error_training, wrong, undone = compared(model, "training")
    inference, error_inference, wrong_too, undone_too = compared(model, "inference")
    faults, not_undone = dict.fromkeys(wrong + wrong_too), dict.fromkeys(undone + undone_too)
    counts.mlps += model.n_mlps
    counts.replaced += n_mlps_in(inference)
    counts.wrong += bool(faults or not_undone)
    reason = reason_of(training) if n_mlps_in(training) < model.n_mlps else ""
    cells = [name, str(model.n_mlps), str(n_mlps_in(training)), str(n_mlps_in(inference))]
    cells += [f"{max(error_training, error_inference):.0e}"]
    cells += [f"not: {', '.join(not_undone)}" if not_undone else "yes"]
    return [*cells, "; ".join(filter(None, [*faults, reason]))]


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


def lines(options: argparse.Namespace, counts: Counts) -> Iterator[str]:
    """Yield the table line by line, and what it was made with."""
    heads = SPEED_HEADS if options.speed else HEADS
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    made = f"{options.layers} layers of width {options.width}, {', '.join(versions())}"
    kept = KeptRows(options.keep, made=f"{made}, {torch.get_num_threads()} threads") if options.keep else None
    timed = Timed() if options.speed else None
    for name in options.names or MODELS:
        if kept and name in kept.rows:
            yield kept.rows[name]
            continue
        torch.manual_seed(0)
        try:
            model = MODELS[name](options.width, options.layers)
        except ImportError as missing:
            counts.missing.append(f"{name} ({missing})")
            continue
        cells = [name, *timed.cells(model)] if timed else coverage(name, model, counts)
        row = f"| {' | '.join(cells)} |"
        if kept:
            kept.add(name, row)
        yield row
    yield ""
    if timed:
        yield f"1 × 16 tokens (or 16 patches), {made}, {torch.get_num_threads()} threads. Medians of ratios within"
        yield "alternating rounds, with 95 % intervals; `fused`: `fuse(model, mode='inference', rows=16)`."
    else:
        share = 100 * counts.replaced / counts.mlps if counts.mlps else 0.0
        yield f"{counts.replaced} of {counts.mlps} MLPs replaced for inference ({share:.0f} %); {counts.wrong} models"
        yield f"wrong or not undone. {made}."
    if counts.missing:
        yield f"Not tried: {'; '.join(counts.missing)}."


def versions() -> Iterator[str]:
    """Yield the libraries' names and versions, where they are installed."""
    for name in ("torch", "transformers", "timm"):
        try:
            yield f"{name} {metadata.version(name).partition('+')[0]}"
        except metadata.PackageNotFoundError:
            continue


def write_between_marks(page: Path, mark: str, text: str) -> None:
    """Put `text` in the page between `<!-- mark -->` and the next `<!-- end -->`. Raises: ValueError without them."""
    before, found, rest = page.read_text(encoding="utf-8").partition(f"<!-- {mark} -->\n")
    _, end, after = rest.partition("<!-- end -->")
    if not found or not end:
        raise ValueError(f"{page} has no <!-- {mark} --> with an <!-- end --> behind it")
    page.write_text(f"{before}{found}\n{text}\n\n{end}{after}", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print or write the table; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="of models; none for all")
    parser.add_argument("--width", type=int, help="of a layer's input (timm's models have their own)")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--speed", action="store_true", help="time eager, compiled and fused instead")
    parser.add_argument("--keep", metavar="FILE", type=Path, help="of --speed: go on from FILE's rows, and add to them")
    parser.add_argument("--write", metavar="PAGE", type=Path, help="also put the table into PAGE between its marks")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(MODELS)
    if unknown:
        parser.error(f"no model {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    if options.keep and not options.speed:
        parser.error(f"--keep {options.keep}: only what is timed is kept, with --speed")
    if options.write and options.names:
        parser.error(f"--write {options.write}: the page has all models, not only {', '.join(options.names)}")
    if options.write and f"<!-- {MARKS[options.speed]} -->" not in _text_of(options.write):
        parser.error(f"--write {options.write}: there is no page with <!-- {MARKS[options.speed]} -->")
    width, layers = SIZES[options.speed]
    options.width, options.layers = options.width or width, options.layers or layers
    warnings.filterwarnings("ignore")
    without_operators_of_torchvision()
    counts, table = Counts(), []
    for line in lines(options, counts):
        print(line, flush=True)
        table.append(line)
    if options.write and counts.missing:
        print(f"{options.write} is left as it is: the table lacks models", file=sys.stderr)
        return 2
    if options.write:
        write_between_marks(options.write, MARKS[options.speed], "\n".join(table))
    return 2 if counts.wrong else 0


def _text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8") if page.is_file() else ""


if __name__ == "__main__":
    sys.exit(main())
