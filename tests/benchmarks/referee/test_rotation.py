"""Inputs of timed calls: in turn, never seen before, the same for all, changed without a sign."""

from dataclasses import replace

import pytest
import torch

from benchmarks.ruler.plan.points import Pass
from benchmarks.ruler.providers.workload import workload
from benchmarks.ruler.referee.rotation import Rotation

CPU = torch.device("cpu")


class Given:
    """A function that keeps what it is given: the tensor, and its values then."""

    def __init__(self):
        self.inputs, self.values = [], []

    def __call__(self, x):
        self.inputs.append(x)
        self.values.append(x.detach().clone())
        return x * 2


@pytest.fixture
def given():
    return Given()


def sample(rotation, call, *, calls, warming=3):
    rotation.prepare(calls)
    for _ in range(warming):
        call()
    rotation.start()
    for _ in range(calls):
        call()
    contents = rotation.last()
    rotation.rest()
    return contents


def test_until_a_sample_starts_every_call_takes_the_workloads_own_input(shape, given):
    load = workload(shape, device=CPU)
    rotation = Rotation(load)
    call = rotation.call(given)
    for _ in range(600):
        call()
    sample(rotation, call, calls=2, warming=5)
    call()
    own = [x is load.x for x in given.inputs]
    assert own == [True] * 605 + [False] * 2 + [True]


@pytest.mark.parametrize("calls", [1, 2, 5, 16, 40])
def test_the_inputs_of_a_sample_differ_and_the_last_call_is_known(shape, given, calls):
    rotation = Rotation(workload(shape, device=CPU))
    call = rotation.call(given)
    seen = []
    for _ in range(20):
        contents = sample(rotation, call, calls=calls, warming=0)
        timed = given.values[-calls:]
        assert torch.equal(timed[-1], contents.x)
        seen += timed[:16]
    # Contents begin at random in a pool: two samples share some now and then, as rarely as this.
    assert len({tuple(values.flatten().tolist()) for values in seen}) >= 0.85 * len(seen)


def test_contents_change_without_a_sign(shape, given):
    rotation = Rotation(workload(shape, device=CPU))
    call = rotation.call(given)
    sample(rotation, call, calls=16, warming=0)
    signs = {(id(x), x.data_ptr(), x._version) for x in given.inputs}
    before = {x.data_ptr(): x.clone() for x in given.inputs}
    sample(rotation, call, calls=16, warming=0)
    assert {(id(x), x.data_ptr(), x._version) for x in given.inputs} == signs
    assert not any(torch.equal(x, before[x.data_ptr()]) for x in given.inputs[-16:])


def test_two_rotations_of_one_shape_have_nothing_in_common(shape):
    """The seed is no function of the shape: nobody can work the inputs out beforehand."""
    first, second = (Rotation(workload(shape, device=CPU)) for _ in range(2))
    for rotation in (first, second):
        rotation.prepare(1)
    assert not torch.isin(first.last().x, second.last().x).any()


def test_inputs_are_normal_and_laid_out_as_the_workloads_own(shape):
    load = workload(replace(shape, batch=64, dim=100), device=CPU)
    given = Given()
    rotation = Rotation(load)
    sample(rotation, rotation.call(given), calls=4, warming=0)
    # Each filling has a factor of its own, from 0.8 to 1.25.
    assert 0.75 < torch.cat(given.values).std() < 1.3
    assert torch.cat(given.values).mean().abs() < 0.1
    for x in given.inputs:
        assert x.stride() == load.x.stride()
        assert x.data_ptr() % 64 == 0
        assert x._base is None


def test_a_large_input_is_not_multiplied_beyond_the_caches(shape):
    given = Given()
    rotation = Rotation(workload(replace(shape, batch=1024, dim=512), device=CPU))
    sample(rotation, rotation.call(given), calls=40, warming=0)
    assert len({x.data_ptr() for x in given.inputs}) == 2


def test_a_large_input_is_held_twice_and_no_more_and_both_still_differ(shape):
    load = workload(replace(shape, batch=2048, dim=1024), device=CPU)
    rotation = Rotation(load)
    ring = rotation._x
    assert ring._pool.numel() + ring._memory.numel() < 2.2 * load.x.numel()
    for calls in (1, 2, 3):
        rotation.prepare(calls)
        first, second = ring.inputs
        assert torch.equal(ring.inputs[rotation._order[(calls - 1) % len(rotation._order)]], rotation.last().x)
        assert (first == second).float().mean() < 0.01
        assert rotation.spoilt() is None


def test_no_two_rows_of_a_large_input_are_alike(shape):
    """Its values repeat: one who finds rows twice must not get by with half of the work."""
    rotation = Rotation(workload(replace(shape, batch=20_000, dim=64), device=CPU))
    rotation.prepare(1)
    x = rotation.last().x
    assert len(torch.unique(x, dim=0)) == 20_000
    assert (x[0] == x[-1]).sum() < 2


def test_one_value_of_a_large_input_that_was_written_to_is_noticed(shape):
    rotation = Rotation(workload(replace(shape, batch=20_000, dim=64), device=CPU))
    rotation.prepare(2)
    assert rotation.spoilt() is None
    rotation.last().x[-1, -1] += 1
    assert rotation.spoilt() == "it wrote to its input"


def test_a_backward_returns_the_output_and_every_gradient_of_what_it_was_given(shape):
    load = workload(replace(shape, pass_=Pass.FORWARD_BACKWARD), device=CPU)
    rotation = Rotation(load)
    rotation.prepare(3)
    call = rotation.call(load.module)
    rotation.start()
    out, gradients = [call() for _ in range(3)][-1]
    contents = rotation.last()
    x = contents.x.clone().requires_grad_()
    exact = load.module(x)
    torch.testing.assert_close(out, exact)
    torch.testing.assert_close(
        gradients, torch.autograd.grad(exact, [x, *load.module.parameters()], contents.grad_output)
    )
    assert not torch.equal(contents.grad_output, load.grad_output)


def test_an_input_that_was_written_to_is_noticed(shape):
    rotation = Rotation(workload(shape, device=CPU))
    call = rotation.call(lambda x: x.data.zero_())
    rotation.prepare(3)
    assert rotation.spoilt() is None
    rotation.start()
    call()
    assert rotation.spoilt() == "it wrote to its input"


def test_torch_compile_takes_rotating_inputs_without_compiling_again(shape):
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    load = workload(shape, device=CPU)
    rotation = Rotation(load)
    with torch.inference_mode():
        call = rotation.call(torch.compile(load.module, backend="eager", fullgraph=True, dynamic=False))
        for _ in range(5):
            sample(rotation, call, calls=16)
    assert counters["stats"]["unique_graphs"] == 1


@pytest.mark.parametrize("pass_", Pass)
def test_an_input_requires_gradients_again_if_it_did(shape, pass_):
    rotation = Rotation(workload(replace(shape, pass_=pass_), device=CPU))
    trains = pass_ is Pass.FORWARD_BACKWARD
    given = []

    def function(x):
        given.append(x.requires_grad_(not trains))
        raise StopIteration

    call = rotation.call(function)
    rotation.prepare(2)
    assert rotation.repaired() is None
    rotation.start()
    with pytest.raises(StopIteration):
        call()
    assert rotation.repaired() == "it changed whether an input requires gradients"
    assert given[0].requires_grad is trains
    assert rotation.repaired() is None
