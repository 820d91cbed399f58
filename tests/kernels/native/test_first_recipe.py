"""The first recipe of a process: calls as a user makes them come to have one, which nothing but such calls can show.

In a process of its own: the first recipe of a process brings what later ones find there.
"""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from fused_mlp.host_cost import absent_gpu
from fused_mlp.native import fast_calls

pytestmark = pytest.mark.compile_kernels

SCRIPT = """
import sys, torch
from fused_mlp.choice import cuda_levels
from fused_mlp.host_cost import absent_gpu
from fused_mlp.native import build, fast_calls
from fused_mlp.vocabulary import Implementation, Operation
from fused_mlp.mlp import cuda

build.ensure_built()
# What a GPU answers: a driver that is there, a level for the shape, a device to be on.
cuda_levels.why_no_recipes = lambda: None
cuda_levels.level_and_tiles = lambda *_: (Implementation(sys.argv[1]), None)
x, w1, b1, w2, b2 = (torch.randn(*shape) for shape in ((8, 32), (64, 32), (64,), (32, 64), (32,)))
short = lambda: fast_calls.mlp(x, w1, b1, w2, b2, "relu", "activation")
long = lambda: cuda_levels.launched(
    Operation.MLP, cuda.LEVELS, x, (w1, b1, w2, b2), first=w1, n_out=32, activation="relu", implementation=None
)
with absent_gpu(), torch.inference_mode():
    for _ in range(int(sys.argv[2])):
        short()
    print(fast_calls.count_by_recipe())
    long()
    short()
    print(fast_calls.count_by_recipe())
"""


def counts_of(level, *, calls_before):
    command = [sys.executable, "-c", SCRIPT, level, str(calls_before)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


@pytest.mark.parametrize("level", ["epilogue", "pointwise", "single"])
@pytest.mark.usefixtures("calls_built")
def test_a_call_that_came_the_short_way_and_went_the_long_one_has_a_recipe_from_then_on(level):
    assert counts_of(level, calls_before=1) == [0, 1]


@pytest.mark.usefixtures("calls_built")
def test_a_call_that_never_came_the_short_way_makes_none():
    assert counts_of("epilogue", calls_before=0) == [0, 0]


NEEDY = """
import ctypes, torch
from fused_mlp.host_cost import absent_gpu
from fused_mlp.native import build, fast_calls

build.ensure_built()
asked = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int))
current = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_void_p))
x, w = torch.randn(2, 16), torch.randn(16, 16)

def wanted(status, context):
    def is_capturing(_, found):
        found[0] = status
        return 0

    def in_context(found):
        found[0] = context
        return 0

    functions = asked(is_capturing), current(in_context)
    launch, *_ = fast_calls.absent_gpu()
    fast_calls.drive(launch, *(ctypes.cast(each, ctypes.c_void_p).value for each in functions), "cpu", lambda _: 0)
    fast_calls.linear(x, w, None, "relu", "activation")
    return int(fast_calls.was_wanted())

with absent_gpu(), torch.inference_mode():
    print(wanted(0, 5), wanted(1, 5), wanted(0, None))
"""


@pytest.mark.usefixtures("calls_built")
def test_a_capture_and_a_thread_without_a_context_want_none():
    done = subprocess.run([sys.executable, "-c", NEEDY], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout.split()) == (0, ["1", "0", "0"]), done.stderr


@pytest.mark.usefixtures("calls_built")
def test_what_one_thread_s_call_wants_no_other_thread_s_call_makes():
    x, w = torch.randn(2, 16), torch.randn(16, 16)
    with absent_gpu(), torch.inference_mode():
        fast_calls.linear(x, w, None, "relu", "activation")
        with ThreadPoolExecutor(1) as other:
            assert not other.submit(fast_calls.was_wanted).result()
        assert fast_calls.was_wanted()


def test_the_environment_can_do_without_recipes(monkeypatch):
    from fused_mlp.choice.call_recipes import why_no_recipes

    monkeypatch.setenv("FUSED_MLP_RECIPES", "0")
    why_no_recipes.cache_clear()
    try:
        assert why_no_recipes() == "FUSED_MLP_RECIPES=0 asks for the long way"
    finally:
        why_no_recipes.cache_clear()
