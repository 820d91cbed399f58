"""What functions that a block's code calls do besides, and what is another at each call."""

import collections
import copy
import itertools
import logging
import random

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from fused_mlp import fuse
from tests.kernels.models.blocks import Holder, expect_close

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))
COUNTS = collections.Counter(calls=0)
LOGGER = logging.getLogger(__name__)


class Meter:
    def __init__(self):
        self.calls = 0

    def update(self):
        self.calls += 1

    def __enter__(self):
        self.update()

    def __exit__(self, *_):
        pass


def count():
    COUNTS["calls"] = COUNTS["calls"] + 1


class TellsAnObject(Holder):
    held = Meter

    def forward(self, x):
        self.config.update()
        return self.own(x)

    def calls(self):
        return self.config.calls


class InAContextOfItsOwn(TellsAnObject):
    def forward(self, x):
        with self.config:
            return self.own(x)


class CallsAFunctionThatCounts(Holder):
    def forward(self, x):
        count()
        return self.own(x)

    def calls(self):
        return COUNTS["calls"]


@pytest.mark.parametrize("make", [TellsAnObject, InAContextOfItsOwn, CallsAFunctionThatCounts])
def test_what_a_function_writes_is_written_at_each_call_and_not_by_fusing(make):
    model = make()
    before = model.calls()
    fuse(model)
    assert model.calls() == before
    model(X)
    model(X)
    assert model.calls() == before + 2


class DrawsForItself(Holder):
    def held(self):
        return random.Random(1)

    def forward(self, x):
        return x if self.config.random() < 0.2 else self.own(x)


class Alternates(Holder):
    def held(self):
        return itertools.cycle([1.0, 1.0, 1.0, 2.0])

    def forward(self, x):
        return self.own(x) * next(self.config)


@pytest.mark.filterwarnings("ignore:Pickle, copy, and deepcopy support")  # of itertools, in Python 3.12 and 3.13
@pytest.mark.parametrize("make", [DrawsForItself, Alternates])
def test_what_another_call_reads_otherwise_is_read_at_each_call(make):
    twin = make()
    model = fuse(copy.deepcopy(twin)).model
    for _ in range(12):
        expect_close(model(X), twin(X))


class WritesALog(Holder):
    def forward(self, x):
        LOGGER.warning("called")
        return self.own(x)


def test_a_log_is_written_at_each_call(caplog):
    model = fuse(WritesALog()).model
    caplog.clear()
    model(X)
    assert [record.message for record in caplog.records] == ["called"]


class AsksForADtype(Holder):
    def forward(self, x):
        return self.own(x.to(self.fc.weight.dtype))


class Listening(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.heard = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.heard.append(func)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("make", [Holder, AsksForADtype])
@pytest.mark.parametrize("mode", ["training", "inference"])
def test_a_function_mode_hears_what_it_hears_of_the_untouched_block(make, mode):
    twin = make().eval()
    model = fuse(copy.deepcopy(twin), mode=mode).model
    with Listening() as expected:
        twin(X)
    with Listening() as listening:
        model(X)
    assert listening.heard == expected.heard


def test_how_numpy_prints_numbers_is_not_asked():
    def refuse(_):
        raise AssertionError("a number was written down")

    with np.printoptions(formatter={"all": refuse}):
        report = fuse(Holder())
    assert report.replaced


def test_what_a_forward_draws_of_numpy_is_put_back():
    class Draws(Holder):
        def forward(self, x):
            return self.own(x) * np.random.random()  # noqa: NPY002 - whose state is put back

    np.random.seed(3)  # noqa: NPY002
    expected = np.random.get_state()[1:3]  # noqa: NPY002
    assert "draws random numbers" in fuse(Draws()).kept[0].reason
    found = np.random.get_state()[1:3]  # noqa: NPY002
    assert found[1] == expected[1]
    assert (found[0] == expected[0]).all()
