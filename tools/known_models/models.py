"""Models of the table of fused MLPs: made from configurations, with random weights, so nothing is downloaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

import torch
from torch import nn

Inputs = dict[str, torch.Tensor]


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
    "llama-mlp-bias": transformers_model("Llama", mlp_bias=True, **GROUPED),
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
    "t5-encoder": transformers_model("T5EncoderModel", config="T5Config", **T5),
    "t5-v1.1-encoder": transformers_model(
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
    "clip-vision": transformers_model(
        "CLIPVisionModel", config="CLIPVisionConfig", inputs=lambda: pixels(32), vocab_size=None, image_size=32,
        patch_size=8,
    ),
    "clip-text": transformers_model("CLIPTextModel", config="CLIPTextConfig", **IDS),
    "mixtral": transformers_model("Mixtral", num_local_experts=4, n_mlps=lambda n: 4 * n, **GROUPED),
    "nn.TransformerEncoder": torch_encoder,
    "timm-vit": timm_model("vit_tiny_patch16_224", img_size=64, depth=of_layers),
    "timm-deit": timm_model("deit_tiny_patch16_224", img_size=64, depth=of_layers),
    "timm-swin": timm_model(
        "swin_tiny_patch4_window7_224", img_size=64, window_size=2, depths=lambda _, n: (n, n), num_heads=(2, 4),
        n_per_layer=2,
    ),
    "timm-mixer": timm_model("mixer_s32_224", img_size=64, all_layers=8, n_per_layer=2),
}  # fmt: skip
