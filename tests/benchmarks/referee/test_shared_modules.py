"""The shared module is found again as it was, or named and put back; marks that nobody looks up stay."""

from dataclasses import replace

import pytest
import torch

from benchmarks.ruler.plan.points import Operation
from benchmarks.ruler.providers.workload import workload
from benchmarks.ruler.referee.shared_modules import SharedModules


class OtherDict(dict):
    """Equal to the dict it was made of."""


class OtherName(str):
    """Equal to the name it was made of."""

    __slots__ = ()


@pytest.fixture
def module(shape):
    return workload(replace(shape, operation=Operation.MLP), device=torch.device("cpu")).module


def as_text(module):
    return [(type(each), sorted((name, str(value)) for name, value in vars(each).items())) for each in module.modules()]


def replace_parts(module):
    module.up.__dict__["_parameters"] = OtherDict(module.up._parameters)


def replace_dict(module):
    module.up.__dict__ = OtherDict(module.up.__dict__)


def replace_name(module):
    kept = dict(module.up._parameters)
    module.up._parameters.clear()
    module.up._parameters.update({OtherName(name): value for name, value in kept.items()})


def replace_class(module):
    class Stubborn(type(module.up)):
        def __setattr__(self, name, value):
            pass

    module.up.__class__ = Stubborn


def hide_parameter(module):
    module.up.__dict__["weight"] = module.up.weight.detach().clone()


def hide_call(module):
    module.up.__dict__["_call_impl"] = lambda x: x


def forget_attribute(module):
    del module.up.__dict__["_is_full_backward_hook"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda module: module.compile(backend="eager"), "module.compile() compiles it for everybody"),
        (lambda module: module.up.compile(backend="eager"), "module.compile() compiles it for everybody"),
        (hide_call, "it changed the eager module: _call_impl"),
        (hide_parameter, "it changed the eager module: weight"),
        (replace_parts, "it changed the eager module: _parameters"),
        (replace_dict, "it changed the eager module: its dict"),
        (replace_name, "it changed the eager module: parameters"),
        (replace_class, "it changed the eager module: its class"),
        (forget_attribute, "it changed the eager module: _is_full_backward_hook"),
        (lambda module: module.up.__dict__.update(forward=lambda x: x), "it hooked into the eager module's call"),
        (
            lambda module: module.up.register_forward_hook(lambda *_, **__: None, with_kwargs=True),
            "it hooked into the eager module's call",
        ),
        (
            lambda module: module.up.register_full_backward_hook(lambda *_: None),
            "it hooked into the eager module's call",
        ),
        (lambda module: module.register_state_dict_post_hook(lambda *_: None), "state_dict_hooks"),
        (lambda module: module.register_buffer("more", torch.zeros(1)), "it changed the eager module: buffers"),
    ],
)
def test_what_was_changed_is_named_and_put_back(module, change, reason):
    shared = SharedModules(module)
    before = as_text(module)
    change(module)
    assert reason in shared.repaired()
    assert shared.repaired() is None
    assert as_text(module) == before
    assert type(vars(module.up)) is dict
    assert all(type(name) is str for name in module.up._parameters)


def test_marks_that_no_call_looks_up_stay_and_hide_no_change_after_them(module):
    shared = SharedModules(module)
    module._some_compiler_was_here = True
    module.eval()
    assert shared.repaired() is None
    assert module._some_compiler_was_here
    hide_parameter(module)
    assert shared.repaired() == "it changed the eager module: weight"


def test_a_mark_that_becomes_a_call_is_found(module):
    def slow(x):
        return x

    shared = SharedModules(module)
    module._mark = slow
    assert shared.repaired() is None
    del module._mark
    module.__dict__["_call_impl"] = slow
    assert shared.repaired() == "it changed the eager module: _call_impl"


def test_what_compilers_leave_on_a_module_they_read_is_no_change(module, shape):
    shared = SharedModules(module)
    x = torch.zeros(2, shape.dim)
    with torch.no_grad():
        torch.compile(module, backend="eager")(x)
        assert shared.repaired() is None
        torch.export.export(module, (x,))
        assert shared.repaired() is None
        torch.func.functional_call(module, dict(module.named_parameters()), (x,))
        assert shared.repaired() is None
