"""Fixtures of the kernels' tests, and which of them this process can run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
import torch

import fused_mlp
from fused_mlp.native.build import ensure_calls_built, follow_table, set_policy
from fused_mlp.tuned import Policy, cpu_name
from fused_mlp.vocabulary import Operation
from tests.kernels.cases import DTYPES, OPERATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.kernels.cases import TestedOperation


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Interpreter tests and compile tests need opposite processes; the wrong ones say which command runs them."""
    interpreting = os.environ.get("TRITON_INTERPRET") == "1"
    needs_interpreter = pytest.mark.skip(
        reason="needs a process of its own: TRITON_INTERPRET=1 python -m pytest -m interpreter tests/kernels"
    )
    needs_compiler = pytest.mark.skip(
        reason="Triton interprets in this process (TRITON_INTERPRET=1), so nothing compiles"
    )
    for item in items:
        if item.get_closest_marker("interpreter") and not interpreting:
            item.add_marker(needs_interpreter)
        if item.get_closest_marker("compile_kernels") and interpreting:
            item.add_marker(needs_compiler)


@pytest.fixture(autouse=True)
def tf32_where_triton_multiplies(request: pytest.FixtureRequest) -> Iterator[None]:
    """Triton's float32 products need tf32 to be allowed; its interpreter computes them in full all the same."""
    before = torch.get_float32_matmul_precision()
    if request.node.get_closest_marker("interpreter"):
        torch.set_float32_matmul_precision("high")
    yield
    torch.set_float32_matmul_precision(before)


@pytest.fixture
def calls_built() -> None:
    """The C++ of calls on CUDA, or a skip with the reason why it cannot be built here."""
    if (reason := ensure_calls_built()) is not None:
        pytest.skip(reason)


@pytest.fixture(params=OPERATIONS, ids=lambda operation: operation.name)
def operation(request: pytest.FixtureRequest) -> TestedOperation:
    return request.param


@pytest.fixture(params=DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def dtype(request: pytest.FixtureRequest) -> torch.dtype:
    return request.param


@pytest.fixture(params=list(fused_mlp.Activation), ids=str)
def activation(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="session")
def cpu_kernels() -> None:
    """The C++ kernels are built and loaded; skipped, saying why, where they cannot be."""
    try:
        fused_mlp.native.build.ensure_built()
    except fused_mlp.Unavailable as unavailable:
        pytest.skip(str(unavailable))


@pytest.fixture
def follow(cpu_kernels: None) -> Iterator[Callable[[Policy], None]]:
    """Applies a policy to every operation and dtype for one test, whatever the table says of this CPU."""

    def applied(policy: Policy) -> None:
        for operation in Operation:
            for dtype in (torch.float32, torch.bfloat16, torch.float16):
                set_policy(policy, operation=operation, dtype=dtype)

    yield applied
    follow_table(cpu_name())
