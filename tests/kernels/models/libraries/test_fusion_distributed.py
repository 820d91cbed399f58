"""Fused models in several processes: torch's own ways to train one model in all of them, on gloo."""

import datetime as dt

import pytest
import torch
from torch import distributed, multiprocessing
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

import fused_mlp
from tests.kernels.models.blocks import BertLayer, ClipStyle, LlamaStyle, Merged, OptStyle, Stack, expect_close

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("cpu_kernels"),
    pytest.mark.skipif(not distributed.is_gloo_available(), reason="this torch was built without gloo"),
]
N_PROCESSES = 2


def sharded(model):
    for block in model.blocks:
        fully_shard(block)
    return fully_shard(model)


def split_by_columns_and_rows(model):
    of_pair = {"blocks.1.fc1": ColwiseParallel(), "blocks.1.fc2": RowwiseParallel()}
    of_gate = {"gate_proj": ColwiseParallel(), "up_proj": ColwiseParallel(), "down_proj": RowwiseParallel()}
    plan = {**of_pair, **{f"blocks.0.{name}": way for name, way in of_gate.items()}}
    return parallelize_module(model, init_device_mesh("cpu", (N_PROCESSES,)), plan)


WAYS = {
    "replicated": DistributedDataParallel,
    "replicated, looking for unused ones": lambda model: DistributedDataParallel(model, find_unused_parameters=True),
    "replicated, as one static graph": lambda model: DistributedDataParallel(model, static_graph=True),
    "sharded": sharded,
    "sharded as flat parameters": lambda model: FullyShardedDataParallel(model, device_id=torch.device("cpu")),
    "sharded as views of flat parameters": lambda model: FullyShardedDataParallel(
        model, device_id=torch.device("cpu"), use_orig_params=True
    ),
    "split by columns and rows": split_by_columns_and_rows,
}


def trained(way, mode, *, is_fused_last):
    """Outputs of three steps, each on the process's own rows but where all compute one, and of inference."""
    torch.manual_seed(0)
    model = Stack(
        LlamaStyle(), ClipStyle(), OptStyle(), BertLayer(), Merged(), LlamaStyle(bias=True), Merged(bias=True)
    )
    if mode and not is_fused_last:
        fused_mlp.fuse(model, mode=mode)
    spread = WAYS[way](model)
    if mode and is_fused_last:
        fused_mlp.fuse(spread, mode=mode)
    own = 0 if way == "split by columns and rows" else distributed.get_rank()
    optimiser = torch.optim.SGD(spread.parameters(), lr=1e-3)
    outputs = []
    for step in range(3):
        x = torch.randn(5, 12, generator=torch.Generator().manual_seed(10 * step + own))
        optimiser.zero_grad()
        outputs.append(spread(x))
        outputs[-1].square().mean().backward()
        optimiser.step()
    spread.eval()
    with torch.no_grad():
        return [*(output.detach() for output in outputs), spread(x)]


def compare(rank, folder, mode):
    torch.set_num_threads(1)
    distributed.init_process_group(
        "gloo",
        init_method=f"file://{folder}/rendezvous",
        rank=rank,
        world_size=N_PROCESSES,
        timeout=dt.timedelta(seconds=120),
    )
    for way in WAYS:
        try:
            expected = trained(way, None, is_fused_last=False)
            for is_fused_last in (False, True):
                expect_close(trained(way, mode, is_fused_last=is_fused_last), expected)
        except Exception as error:
            error.add_note(f"the model: {way}")
            raise
    distributed.destroy_process_group()


@pytest.mark.parametrize("mode", ["training", pytest.param("inference", marks=pytest.mark.exhaustive)])
def test_a_fused_model_trains_in_several_processes_as_its_twin_does(mode, tmp_path):
    multiprocessing.spawn(compare, (tmp_path, mode), nprocs=N_PROCESSES)
