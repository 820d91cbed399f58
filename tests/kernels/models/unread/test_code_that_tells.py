"""What a forward tells somebody else, and what it asks for an exception's message."""

import builtins
import copy
import io
import logging
import sys
import warnings

import pytest
import torch
from torch.nn import functional

from fused_mlp import fuse
from tests.kernels.models.blocks import Holder, expect_twins

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))

TOLD = {
    "print": lambda: builtins.print("called"),  # noqa: T201 - what is tried
    "standard output": lambda: sys.stdout.write("called\n"),
    "another name of print": (lambda tell=print: tell("called")),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_a_forward_tells_is_told_at_each_call_and_not_by_fusing(name, monkeypatch):
    class Tells(Holder):
        def forward(self, x):
            TOLD[name]()
            return self.own(x)

    told = io.StringIO()
    monkeypatch.setattr(sys, "stdout", told)
    model = fuse(Tells()).model
    assert told.getvalue() == ""
    model(X)
    assert told.getvalue() == "called\n"


def test_a_warning_and_a_log_are_given_at_each_call_and_not_by_fusing(caplog):
    class Warns(Holder):
        def forward(self, x):
            warnings.warn("careful", stacklevel=1)
            logging.warning("careful")  # noqa: LOG015 - what many forwards do
            return functional.relu(self.fc(x)) @ self.proj.weight.T

    model = Warns()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        fuse(model)
        assert [len(warned), len(caplog.records)] == [0, 0]
        model(X)
        assert [len(warned), len(caplog.records)] == [1, 1]


class Complains(Holder):
    def forward(self, x):
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"a tensor was expected, not {type(x)}")
        if self.fc.in_features != 12:
            raise ValueError(f"{type(self).__name__} takes twelve, not {self.fc.in_features}")
        return self.own(x)


def test_what_is_asked_for_an_exception_s_message_is_no_reason_to_keep_a_block():
    twin = Complains()
    report = fuse(copy.deepcopy(twin))
    assert len(report.replaced) == 1
    expect_twins(report.model, twin, X)
    with pytest.raises(TypeError, match="not <class 'int'>"):
        report.model(3)


class AnswersByType(Holder):
    def forward(self, x):
        kind = type(x)
        if kind is not torch.Tensor:
            raise TypeError(kind)
        return self.own(x)


def test_a_type_that_is_asked_for_anything_else_is_a_reason():
    assert [kept.reason for kept in fuse(AnswersByType()).kept] == ["its forward calls type()"]
