"""What a call costs the host, without a GPU: everything above the driver, eager's side and ours alike."""

import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from fused_mlp.host_cost import absent_gpu, host_cost_without_gpu, main, record_call
from fused_mlp.native import fast_calls
from fused_mlp.vocabulary import Implementation, Operation

pytestmark = pytest.mark.compile_kernels


@pytest.mark.usefixtures("calls_built")
def test_a_call_costs_the_host_no_more_than_eager_s():
    with absent_gpu():
        costs = list(host_cost_without_gpu(calls=300, rounds=7))
    assert {(str(cost.operation), str(cost.level)) for cost in costs} == {
        (operation, level) for operation in ("mlp", "gated_mlp") for level in ("single", "epilogue", "pointwise")
    }
    assert [cost for cost in costs if cost.fused_s > cost.eager_s] == []


@pytest.mark.usefixtures("calls_built")
def test_only_a_call_that_came_the_short_way_and_has_no_recipe_wants_one():
    x, w = torch.randn(2, 16), torch.randn(16, 16)
    with absent_gpu(), torch.no_grad():
        fast_calls.linear(x, w, None, "relu", "activation")
        assert [fast_calls.was_wanted(), fast_calls.was_wanted()] == [True, False]
        record_call(Operation.LINEAR, Implementation.EPILOGUE, (x, w, None), activation="relu")
        fast_calls.linear(x, w, None, "relu", "activation")
        assert not fast_calls.was_wanted()


def test_without_a_gpu_s_driver_there_are_no_recipes_and_a_reason():
    from fused_mlp.choice.call_recipes import why_no_recipes

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    why_no_recipes.cache_clear()
    assert "CUDA's driver does not load" in why_no_recipes()


@pytest.mark.parametrize(("asked", "code"), [("--help", 0), ("--rounds=3", 64)])
def test_nothing_is_measured_for_who_asks_for_help_or_mistypes(asked, code, capsys):
    with pytest.raises(SystemExit) as exited:
        main([asked])
    assert exited.value.code == code
    said = capsys.readouterr()
    assert "usage: python -m fused_mlp.host_cost" in said.out + said.err
    assert "µs" not in said.out
