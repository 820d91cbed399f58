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
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import nn

import fused_mlp

Inputs = dict[str, torch.Tensor]

TOLERANCE = 2e-5
ROUNDS = 15
BUSY_CORES = 0.3


@dataclass(frozen=True)
class Model:
    """A model, what it is called with and how many MLPs it has."""

    module: nn.Module
    inputs: Inputs
    n_mlps: int


Make = Callable[[int, int], Model]


def tokens() -> Inputs:
    """Return a prompt of 1 × 16 tokens."""
    return {"input_ids": torch.randint(3, 90, (1, 16))}


def pixels(size: int) -> Inputs:
    """Return an image."""
    return {"pixel_values": torch.randn(1, 3, size, size)}


def transformers_model(
    name: str,
    *,
    config: str | None = None,
    inputs: Callable[[], Inputs] = tokens,
    n_mlps: Callable[[int], int] | None = None,
    **options: object,
) -> Make:
    """Return how to make a model of transformers from its configuration; options may follow from (width, layers)."""

    def make(width: int, layers: int) -> Model:
        # By name: an extra of its own, which nothing else here needs.
        transformers = import_module("transformers")

        sizes = {"vocab_size": 100, "hidden_size": width, "intermediate_size": 2 * width, "num_hidden_layers": layers}
        sizes |= {"num_attention_heads": 4}
        given = {key: value(width, layers) if callable(value) else value for key, value in options.items()}
        sizes = {key: value for key, value in (sizes | given).items() if value is not None}
        configured = getattr(transformers, config or f"{name}Config")(**sizes)
        module = getattr(transformers, name if name.endswith("Model") else f"{name}Model")(configured)
        return Model(module, inputs(), n_mlps(layers) if n_mlps else layers)

    return make


def of_width(factor: int = 1) -> Callable[[int, int], int]:
    """Return an option that is a multiple of the width."""
    return lambda width, _: factor * width


def of_layers(_: int, layers: int) -> int:
    """Return an option that is the number of layers."""
    return layers


def encoder_decoder(name: str, *, inputs: Callable[[], Inputs] = tokens, **options: object) -> Make:
    """Return how to make a model with an encoder and a decoder."""
    both = {
        f"{side}_{key}": value
        for side in ("encoder", "decoder")
        for key, value in (("layers", of_layers), ("attention_heads", 4), ("ffn_dim", of_width(2)))
    }
    none = dict.fromkeys(("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"))
    return transformers_model(
        name, inputs=inputs, n_mlps=lambda n: 2 * n, d_model=of_width(), **both, **none, **options
    )


GPT = {"hidden_size": None, "intermediate_size": None, "num_hidden_layers": None, "num_attention_heads": None,
       "n_embd": of_width(), "n_layer": of_layers, "n_head": 4, "bos_token_id": 1, "eos_token_id": 2}  # fmt: skip
T5 = {"hidden_size": None, "intermediate_size": None, "num_hidden_layers": None, "num_attention_heads": None,
      "d_model": of_width(), "d_ff": of_width(2), "num_layers": of_layers, "num_heads": 4, "d_kv": 16}  # fmt: skip
GROUPED = {"num_key_value_heads": 2}
IDS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def timm_model(name: str, *, n_per_layer: int = 1, all_layers: int | None = None, **options: object) -> Make:
    """Return how to make a model of timm."""

    def make(width: int, layers: int) -> Model:
        timm = import_module("timm")

        del width
        given = {key: value(None, layers) if callable(value) else value for key, value in options.items()}
        n = (all_layers or layers) * n_per_layer
        return Model(timm.create_model(name, **given), {"x": torch.randn(1, 3, 64, 64)}, n)

    return make


def torch_encoder(width: int, layers: int) -> Model:
    """Return torch's own encoder."""
    layer = nn.TransformerEncoderLayer(width, 4, 2 * width, batch_first=True)
    return Model(nn.TransformerEncoder(layer, layers), {"src": torch.randn(1, 16, width)}, layers)


def whisper_inputs() -> Inputs:
    """Return sound and a prompt."""
    return {"input_features": torch.randn(1, 80, 60), "decoder_input_ids": torch.randint(3, 90, (1, 16))}


MODELS = {
    "llama": transformers_model("Llama", **GROUPED),
    "llama, mlp_bias": transformers_model("Llama", mlp_bias=True, **GROUPED),
    "mistral": transformers_model("Mistral", **GROUPED),
    "gemma": transformers_model("Gemma", head_dim=16, **GROUPED),
    "gemma2": transformers_model("Gemma2", head_dim=16, **GROUPED),
    "gemma3": transformers_model("Gemma3Text", head_dim=16, **GROUPED),
    "qwen2": transformers_model("Qwen2", **GROUPED),
    "qwen3": transformers_model("Qwen3", head_dim=16, **GROUPED),
    "phi": transformers_model("Phi", **GROUPED),
    "phi3": transformers_model("Phi3", **IDS, **GROUPED),
    "modernbert": transformers_model("ModernBert", cls_token_id=1, sep_token_id=2, **IDS),
    "gpt2": transformers_model("GPT2", **GPT),
    "gpt-j": transformers_model("GPTJ", rotary_dim=16, **GPT),
    "gpt-neox": transformers_model("GPTNeoX"),
    "bert": transformers_model("Bert"),
    "roberta": transformers_model("Roberta"),
    "distilbert": transformers_model(
        "DistilBert", hidden_size=None, intermediate_size=None, num_hidden_layers=None, num_attention_heads=None,
        dim=of_width(), hidden_dim=of_width(2), n_layers=of_layers, n_heads=4,
    ),
    "t5 encoder": transformers_model("T5EncoderModel", config="T5Config", **T5),
    "t5 v1.1 encoder": transformers_model(
        "T5EncoderModel", config="T5Config", feed_forward_proj="gated-gelu", **T5
    ),
    "opt": transformers_model(
        "OPT", intermediate_size=None, ffn_dim=of_width(2), word_embed_proj_dim=of_width()
    ),
    "bart": encoder_decoder("Bart"),
    "whisper": encoder_decoder(
        "Whisper", inputs=whisper_inputs, max_source_positions=30, decoder_start_token_id=1, **IDS
    ),
    "vit": transformers_model("ViT", inputs=lambda: pixels(32), vocab_size=None, image_size=32, patch_size=8),
    "clip, vision": transformers_model(
        "CLIPVisionModel", config="CLIPVisionConfig", inputs=lambda: pixels(32), vocab_size=None, image_size=32,
        patch_size=8,
    ),
    "mixtral": transformers_model("Mixtral", num_local_experts=4, n_mlps=lambda n: 4 * n, **GROUPED),
    "nn.TransformerEncoder": torch_encoder,
    "timm vit": timm_model("vit_tiny_patch16_224", img_size=64, depth=of_layers),
    "timm deit": timm_model("deit_tiny_patch16_224", img_size=64, depth=of_layers),
    "timm swin": timm_model(
        "swin_tiny_patch4_window7_224", img_size=64, window_size=2, depths=lambda _, n: (n, n), num_heads=(2, 4),
        n_per_layer=2,
    ),
    "timm mixer": timm_model("mixer_s32_224", img_size=64, all_layers=8, n_per_layer=2),
}  # fmt: skip


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
