"""MLP blocks of well-known models, from their published configurations. Pure; imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.ruler.plan.points import Operation


@dataclass(frozen=True, kw_only=True)
class Preset:
    """MLP blocks of a model. layers: how many a forward calls. source: whose configuration says so."""

    dim: int
    hidden: int
    activation: str
    layers: int
    source: str
    is_gated: bool = False

    @property
    def operation(self) -> Operation:
        """Operation that the blocks compute."""
        return Operation.GATED_MLP if self.is_gated else Operation.MLP


def _gated(dim: int, hidden: int, layers: int, source: str, activation: str = "silu") -> Preset:
    return Preset(dim=dim, hidden=hidden, activation=activation, layers=layers, source=source, is_gated=True)


def _plain(dim: int, hidden: int, layers: int, source: str, activation: str = "gelu") -> Preset:
    return Preset(dim=dim, hidden=hidden, activation=activation, layers=layers, source=source)


# source: the repository on huggingface.co whose config.json says so. `gelu_new` and `gelu_pytorch_tanh` there are our
# gelu_tanh; Gemma's first configuration says `gelu`, and its code has always computed the tanh form.
PRESETS = {
    "bert-base": _plain(768, 3072, 12, "google-bert/bert-base-uncased"),
    "bert-large": _plain(1024, 4096, 24, "google-bert/bert-large-uncased"),
    "gpt2": _plain(768, 3072, 12, "openai-community/gpt2", "gelu_tanh"),
    "gpt2-xl": _plain(1600, 6400, 48, "openai-community/gpt2-xl", "gelu_tanh"),
    "phi-2": _plain(2560, 10240, 32, "microsoft/phi-2", "gelu_tanh"),
    "vit-base": _plain(768, 3072, 12, "google/vit-base-patch16-224"),
    "vit-large": _plain(1024, 4096, 24, "google/vit-large-patch16-224"),
    "whisper-small": _plain(768, 3072, 24, "openai/whisper-small, encoder and decoder"),
    "whisper-large-v3": _plain(1280, 5120, 64, "openai/whisper-large-v3, encoder and decoder"),
    "t5-v1.1-base": _gated(768, 2048, 24, "google/t5-v1_1-base, encoder and decoder", "gelu_tanh"),
    "llama-2-7b": _gated(4096, 11008, 32, "meta-llama/Llama-2-7b-hf"),
    "llama-3-8b": _gated(4096, 14336, 32, "meta-llama/Meta-Llama-3-8B"),
    "llama-3.2-1b": _gated(2048, 8192, 16, "meta-llama/Llama-3.2-1B"),
    "llama-3.2-3b": _gated(3072, 8192, 28, "meta-llama/Llama-3.2-3B"),
    "smollm2-135m": _gated(576, 1536, 30, "HuggingFaceTB/SmolLM2-135M"),
    "mistral-7b": _gated(4096, 14336, 32, "mistralai/Mistral-7B-v0.1"),
    "gemma-2b": _gated(2048, 16384, 18, "google/gemma-2b", "gelu_tanh"),
    "gemma-2-2b": _gated(2304, 9216, 26, "google/gemma-2-2b", "gelu_tanh"),
    "gemma-3-1b": _gated(1152, 6912, 26, "google/gemma-3-1b-pt", "gelu_tanh"),
    "qwen2.5-0.5b": _gated(896, 4864, 24, "Qwen/Qwen2.5-0.5B"),
    "qwen2.5-7b": _gated(3584, 18944, 28, "Qwen/Qwen2.5-7B"),
    "qwen3-0.6b": _gated(1024, 3072, 28, "Qwen/Qwen3-0.6B"),
    "qwen3-8b": _gated(4096, 12288, 36, "Qwen/Qwen3-8B"),
}
