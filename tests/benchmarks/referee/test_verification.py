"""Results held against the reference of what their call was given, in part where they are large."""

from dataclasses import replace

import pytest
import torch

from benchmarks.ruler.plan.points import Operation, Pass
from benchmarks.ruler.providers.workload import exact_results, output_and_gradients, tolerance, workload
from benchmarks.ruler.referee import verification as module
from benchmarks.ruler.referee.rotation import Contents
from benchmarks.ruler.referee.verification import Verification, snapshot

CPU = torch.device("cpu")


def result_and_contents(load):
    x = torch.randn_like(load.x).requires_grad_(load.x.requires_grad)
    grad = None if load.grad_output is None else torch.randn_like(load.grad_output)
    result = output_and_gradients(load.module, x, list(load.module.parameters()), grad)
    return result if grad is not None else result[0], Contents(x.detach(), grad)


@pytest.fixture(params=["whole", "in part"])
def _size(request, monkeypatch):
    if request.param == "in part":
        monkeypatch.setattr(module, "_MOST_FLOP", 1.0)


@pytest.mark.usefixtures("_size")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("pass_", Pass)
@pytest.mark.parametrize("operation", Operation)
def test_an_honest_result_is_right_whole_or_in_part(shape, operation, pass_, dtype):
    load = workload(
        replace(shape, operation=operation, pass_=pass_, dtype=dtype, batch=24, activation="silu"), device=CPU
    )
    verification = Verification(load)
    for _ in range(10):
        result, contents = result_and_contents(load)
        assert verification.why_odd(result) is None
        assert verification.why_wrong(result, contents) is None


@pytest.mark.parametrize("which", range(6))
def test_of_a_backward_the_output_and_every_gradient_is_looked_at(shape, which):
    load = workload(replace(shape, pass_=Pass.FORWARD_BACKWARD), device=CPU)
    result, contents = result_and_contents(load)
    spoilt = tuple(each * 1.1 if index == which else each for index, each in enumerate(result))
    assert "is off by" in Verification(load).why_wrong(spoilt, contents)


@pytest.mark.parametrize(("share_of_limit", "is_right"), [(1.2, True), (1.6, False)])
def test_of_a_few_values_the_error_may_be_larger_beside_their_norm(shape, monkeypatch, share_of_limit, is_right):
    """Of 4 values by a half at most; the output, of 64 and more, has next to nothing to spare."""
    monkeypatch.setattr(module, "_MOST_FLOP", 1.0)
    load = workload(replace(shape, operation=Operation.LINEAR, pass_=Pass.FORWARD_BACKWARD, hidden=64), device=CPU)
    result, contents = result_and_contents(load)
    off = 1 + share_of_limit * tolerance(load.shape)
    # Its own sum would be off as well, and by much where four chosen sums happen to be small.
    module_64 = load.exact_module()
    *_, exact_of_bias = exact_results(
        module_64, contents.x, list(module_64.parameters()), contents.grad_output, shape=load.shape
    )
    planted = (*result[:-1], (off * exact_of_bias).float())
    assert (Verification(load).why_wrong(planted, contents) is None) is is_right
    assert Verification(load).why_wrong((off * result[0], *result[1:]), contents)


def test_in_part_a_row_that_is_wrong_is_found_sooner_or_later(shape, monkeypatch):
    monkeypatch.setattr(module, "_MOST_FLOP", 1.0)
    load = workload(replace(shape, batch=16), device=CPU)
    verification = Verification(load)
    result, contents = result_and_contents(load)
    result[5] = 0
    found = sum(verification.why_wrong(result, contents) is not None for _ in range(60))
    assert 5 <= found <= 30  # four of sixteen rows are looked at


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda _: None, "no tensor"),
        (lambda out: out.double(), "torch.float64"),
        (lambda out: out[:-1], "shape"),
        (torch.nn.Parameter, "looked at"),
        (lambda out: (out, out), "no tensor"),
        (lambda out: out.to_sparse(), "sparse"),
    ],
)
def test_what_is_no_plain_result_is_odd(shape, spoil, reason):
    load = workload(shape, device=CPU)
    with torch.no_grad():
        result, _ = result_and_contents(load)
        assert reason in Verification(load).why_odd(spoil(result))


def test_a_snapshot_stays_what_the_result_was(shape):
    load = workload(replace(shape, pass_=Pass.FORWARD_BACKWARD), device=CPU)
    result, contents = result_and_contents(load)
    kept = snapshot((result[0], result[1:]))
    for each in result:
        each.data.zero_()
    assert Verification(load).why_wrong(kept, contents) is None
    assert Verification(load).why_wrong(result, contents) is not None


@pytest.mark.parametrize("thoroughly", [False, True])
def test_weights_and_inputs_that_were_written_to_are_given_back(shape, thoroughly):
    load = workload(shape, device=CPU)
    verification = Verification(load)
    before = [each.clone() for each in (*load.module.parameters(), load.x)]
    assert verification.sabotage(thoroughly=thoroughly) is None
    for each in (*load.module.parameters(), load.x):
        if thoroughly:
            each.numpy()[...] = 0
        else:
            each.zero_()
        assert "it wrote to" in verification.sabotage(thoroughly=thoroughly)
        assert verification.sabotage(thoroughly=True) is None
    for each, kept in zip((*load.module.parameters(), load.x), before, strict=True):
        assert torch.equal(each, kept)


def test_hooks_on_gradients_of_what_all_share_are_found_and_taken_off(shape):
    load = workload(replace(shape, pass_=Pass.FORWARD_BACKWARD), device=CPU)
    verification = Verification(load)
    for each in (*load.module.parameters(), load.x):
        each.register_hook(lambda gradient: gradient)
        assert "hooked into the gradients" in verification.sabotage(thoroughly=False)
        assert verification.sabotage(thoroughly=True) is None
        assert not each._backward_hooks


@pytest.mark.parametrize("pass_", Pass)
def test_what_requires_gradients_is_what_did(shape, pass_):
    load = workload(replace(shape, pass_=pass_), device=CPU)
    verification = Verification(load)
    trains = pass_ is Pass.FORWARD_BACKWARD
    for each in (*load.module.parameters(), load.x):
        each.requires_grad_(not trains)
        assert "require gradients" in verification.sabotage(thoroughly=False)
        assert each.requires_grad is trains
        assert verification.sabotage(thoroughly=True) is None


def test_weights_that_were_computed_in_a_graph_are_leaves_again(shape):
    load = workload(replace(shape, pass_=Pass.FORWARD_BACKWARD), device=CPU)
    verification = Verification(load)
    weight = next(load.module.parameters())
    weight.requires_grad_(requires_grad=False)
    weight.mul_(torch.ones(1, requires_grad=True))
    assert "require gradients" in verification.sabotage(thoroughly=False)
    assert (weight.is_leaf, weight.requires_grad) == (True, True)
    assert verification.sabotage(thoroughly=True) is None
