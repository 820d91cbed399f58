"""Split hidden keeps as many loads of weights under way as the memory needs and the shared memory holds."""

import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from fused_mlp.gated_mlp import triton_single as gated_mlp
from fused_mlp.gpu.single_tiles import BYTES_UNDER_WAY
from fused_mlp.mlp import triton_single as mlp

RULES = [mlp.tiles_for_mlp_single, gated_mlp.tiles_for_gated_mlp_single]
CANDIDATES = [mlp.candidates_for_mlp_single, gated_mlp.candidates_for_gated_mlp_single]


@pytest.mark.parametrize("rule", RULES, ids=["mlp", "gated_mlp"])
@pytest.mark.parametrize(("n_rows", "dim", "hidden"), [(1, 1024, 4096), (64, 1024, 4096), (16, 4096, 11008)])
def test_the_rule_keeps_as_many_weights_under_way_as_the_memory_needs(rule, n_rows, dim, hidden):
    shape = {"n_rows": n_rows, "dim": dim, "hidden": hidden, "n_out": dim, "dtype": torch.bfloat16, "capability": 90}
    tile = rule(**shape)
    assert (tile.n_stages - 1) * tile.block_hidden * tile.block_out * 2 >= BYTES_UNDER_WAY


@pytest.mark.parametrize("candidates", CANDIDATES, ids=["mlp", "gated_mlp"])
def test_tuning_tries_five_to_eight_stages_of_few_rows_as_far_as_they_fit(candidates):
    def tried(n_rows, capability):
        shape = {"dim": 1024, "hidden": 4096, "n_out": 1024, "dtype": torch.bfloat16}
        tiles = candidates(n_rows=n_rows, **shape, capability=capability)
        return {tile.n_stages for tile in tiles if tile.block_hidden == 32}

    assert {3, 5, 6, 8} <= tried(16, 90)
    assert 8 not in tried(64, 80)
