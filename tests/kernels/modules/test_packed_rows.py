"""Packed weights at the edges of what a thread takes at once: a matrix tile's rows and depth, and rows of a chain."""

import pytest
import torch

from fused_mlp import FusedMLP
from fused_mlp.native.build import set_policy
from fused_mlp.tuned import Policy
from fused_mlp.vocabulary import Operation
from tests.kernels.cases import OPERATIONS, padded_with_nan
from tests.kernels.modules.test_modules import module_with

pytestmark = pytest.mark.usefixtures("cpu_kernels")
DTYPE = torch.bfloat16


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
@pytest.mark.parametrize("rows", [1, 4, 5, 15, 16, 17, 31, 32, 33, 65])
def test_rows_around_a_tiles_edge_are_within_the_bound(operation, rows):
    for dim, hidden in [(31, 33), (64, 96), (33, 64)]:
        case = operation.case(rows=rows, dim=dim, hidden=hidden, dtype=DTYPE, activation="gelu")
        module = module_with(case, operation, "gelu", DTYPE)
        module.prepare(implementation="cpp")
        with torch.inference_mode():
            actual = module(padded_with_nan(case.arguments[0]))
        assert ((actual.double() - case.expected).abs() <= case.bound).all(), (dim, hidden)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("operation", OPERATIONS[1:], ids=lambda operation: operation.name)
@pytest.mark.parametrize(("rows", "hidden"), [(511, 1400), (513, 1400), (1030, 2600), (97, 5500)])
def test_rows_that_are_taken_together_are_within_the_bound(operation, dtype, rows, hidden):
    case = operation.case(rows=rows, dim=24, hidden=hidden, dtype=dtype, activation="gelu")
    module = module_with(case, operation, "gelu", dtype)
    module.prepare(implementation="cpp")
    with torch.inference_mode():
        actual = module(padded_with_nan(case.arguments[0]))
    assert ((actual.double() - case.expected).abs() <= case.bound).all()


@pytest.mark.parametrize("rows", [5, 70, 257])
def test_neither_threads_nor_how_they_share_changes_a_bit(rows, follow):
    torch.manual_seed(rows)
    module, x = FusedMLP(96, 224, "gelu", dtype=DTYPE), torch.randn(rows, 96, dtype=DTYPE)
    module.prepare(implementation="cpp")
    before = torch.get_num_threads()
    results = []
    try:
        for n_threads in (1, 2, 3):
            torch.set_num_threads(n_threads)
            for row_split_rows in (1, 1000):
                policy = Policy(serial_flop=1, row_split_rows=row_split_rows)
                set_policy(policy, operation=Operation.MLP, dtype=DTYPE)
                with torch.inference_mode():
                    results.append(module(x))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(one, results[0]) for one in results)
