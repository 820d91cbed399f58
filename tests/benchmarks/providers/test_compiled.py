"""What inductor is asked for."""

from types import SimpleNamespace

import torch

from benchmarks.ruler.providers import registry as providers


def test_inductor_is_asked_for_tma_products_beside_what_the_mode_asks_for(shape, monkeypatch):
    asked = {}
    monkeypatch.setattr(torch, "compile", lambda _, **options: asked.update(options))
    on_gpu = SimpleNamespace(x=SimpleNamespace(device=torch.device("cuda")), module=None)
    providers.PROVIDERS["compiled-max-autotune-tma"](on_gpu)
    mode = torch._inductor.list_mode_options("max-autotune-no-cudagraphs")
    assert asked["options"] == {**mode, "triton.enable_persistent_tma_matmul": True}
    assert asked["options"].keys() > mode.keys()
    assert "compiled-max-autotune-tma" in providers.COMPILED_AHEAD
