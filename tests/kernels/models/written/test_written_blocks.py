"""Blocks whose code is written at random, fused: what it reads of objects, lists, globals and classes may change.

`FUSEBENCH_BLOCKS=2000 python -m pytest tests/kernels/models/written/test_written_blocks.py` tries as many.
"""

import copy
import importlib.util
import itertools
import os
import re
import sys
import textwrap

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fused_mlp import fuse, prepare, unfuse
from tests.kernels.models.blocks import expect_close
from tests.kernels.models.test_fusion_trees import random_models, results
from tests.kernels.models.written.parts import ACTIVATIONS, ACTS, CHANGES, FIRST, HEAD, SECOND, STEPS

pytestmark = pytest.mark.usefixtures("cpu_kernels")

BLOCKS = int(os.environ.get("FUSEBENCH_BLOCKS", "60"))
DIM = 12
NAMES = itertools.count()


@st.composite
def forwards(draw):
    """The lines of a forward."""

    def about(name, *, most=2):
        steps = draw(st.lists(st.sampled_from(STEPS), max_size=most))
        return [re.sub(r"\bz\b", name, step) for step in steps]

    # Between the layers most steps keep them apart: nothing is fused then, and nothing tried.
    between = draw(st.sampled_from([0, 0, 0, 1]))
    return [
        *about("x"),
        draw(st.sampled_from(FIRST)),
        *about("h", most=between),
        draw(st.sampled_from(ACTIVATIONS)),
        *about("h", most=between),
        draw(st.sampled_from(SECOND)),
        *about("y"),
        "return y",
    ]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write a module with a block of these lines and import it."""
    folder = tmp_path_factory.mktemp("written")

    def forget():
        for name in [name for name in sys.modules if name.startswith("written_block_")]:
            del sys.modules[name]

    def write(lines, act):
        forget()  # each look for a source goes through all modules
        name = f"written_block_{next(NAMES)}"
        text = textwrap.dedent(HEAD).replace("ACT", act)
        text += "\n\nclass Block(Base):\n    def forward(self, x):\n"
        file = folder / f"{name}.py"
        file.write_text(text + textwrap.indent("\n".join(lines), " " * 8) + "\n")
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    yield write
    forget()


changes = st.lists(st.sampled_from(CHANGES), max_size=2)


# As many as are asked for take as long as they take.
@pytest.mark.timeout(0 if "FUSEBENCH_BLOCKS" in os.environ else 600)
@random_models(BLOCKS)
@given(
    lines=forwards(),
    act=st.sampled_from(ACTS),
    before=changes,
    after=changes,
    mode=st.sampled_from(["training", "inference"]),
    packs=st.booleans(),
    seed=st.integers(0, 1000),
)
@pytest.mark.filterwarnings("ignore")
def test_a_fused_block_is_its_twin_whatever_its_code_reads(written, lines, act, before, after, mode, packs, seed):
    torch.manual_seed(seed)
    module = written(lines, act)
    twin, x = module.Block(), torch.randn(3, 4, DIM)
    model = copy.deepcopy(twin)
    for change in before:
        for each in (model, twin):
            change(each, module)
    fuse(model, mode=mode)
    if packs:
        prepare(model)
    expect_close(results(model, x), results(twin, x))
    for change in after:
        for each in (model, twin):
            change(each, module)
    for training in (True, False):
        for each in (model, twin):
            each.train(training)
        expect_close(results(model, x), results(twin, x))
    unfuse(model)
    expect_close(results(model, x), results(twin, x))
    assert (model.calls, getattr(model.act, "n", 0)) == (twin.calls, getattr(twin.act, "n", 0))
