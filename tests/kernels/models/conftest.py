"""What every test of fused models begins with."""

import sys

import pytest
import torch


@pytest.fixture(autouse=True)
def nothing_compiled_before():
    """torch.compile compiles one code eight times in a process, and models of tests share theirs."""
    if "torch._dynamo" in sys.modules:
        torch._dynamo.reset()
