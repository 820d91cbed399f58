"""Ceilings as they are measured: of every size, with memory that was touched, and only while nothing disturbs."""

from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch

from benchmarks.ruler.measure import bandwidth, ceilings
from benchmarks.ruler.measure.bandwidth import COPY, sizes_on_cpu, trials_on_cpu
from benchmarks.ruler.measure.best_rates import LEAST_SLOW_ROUNDS, MachineDisturbed, Rates
from benchmarks.ruler.measure.ceilings import measure_ceilings
from benchmarks.ruler.measure.clock import EnqueuedTimes

MIB = 2**20
CPU = torch.device("cpu")
GPU_RATES = {"matmul_flop_per_s.float32": 1e12, COPY: 1e11, "dispatch_per_s": 1e6}


class Quiet:
    """A watch that sees nothing, or always the same."""

    def __init__(self, reason=None, *, is_merely_slow=False):
        self.reason, self.is_merely_slow = reason, is_merely_slow

    def start(self):
        pass

    def disturbance(self, _durations_s):
        return self.reason


@pytest.mark.parametrize(
    ("n_threads", "cache", "smallest", "largest"),
    [(2, 32 * MIB, MIB // 32, 256 * MIB), (16, 260 * MIB, MIB // 4, 1024 * MIB), (3, 8 * MIB, MIB // 16, 64 * MIB)],
)
def test_sizes_reach_from_a_first_level_cache_to_far_beyond_the_last(n_threads, cache, smallest, largest):
    sizes = sizes_on_cpu(n_threads, last_level_cache=cache, free=2**40)
    assert (sizes[0], sizes[-1]) == (smallest, largest)
    assert all(later == 2 * earlier for earlier, later in pairwise(sizes))


def test_a_machine_with_little_memory_left_is_not_filled():
    assert sizes_on_cpu(2, last_level_cache=260 * MIB, free=400 * MIB)[-1] <= 50 * MIB
    assert sizes_on_cpu(2, last_level_cache=8 * MIB, free=1000)[-1] == 32 * 2**10


@pytest.fixture
def small_machine(monkeypatch):
    """The machine, taken for one with 128 KiB of cache, and products that take no time."""
    monkeypatch.setattr(bandwidth, "last_level_cache_bytes", lambda: 128 * 2**10)
    monkeypatch.setattr(ceilings, "_PRODUCT_SIZES", {"cpu": (32,)})
    monkeypatch.setattr(ceilings, "_CALLS", 10)


def test_every_size_is_read_changed_in_place_and_copied_and_what_moves_is_counted(small_machine):
    trials = list(trials_on_cpu(n_threads=2))
    sizes = sorted({int(trial.quantity.split(".")[1]) for trial in trials if "." in trial.quantity})
    assert sizes == [2**power for power in range(15, 21)]
    for size in sizes:
        read, in_place, copied = (trial for trial in trials if trial.quantity.endswith(f".{size}"))
        assert read.amount % size == in_place.amount % (2 * size) == copied.amount % size == 0
    assert all(0 < trial.sample_s() < 10 for trial in trials)


def test_data_that_threads_cannot_share_evenly_is_counted_as_it_is_read(small_machine):
    read = next(iter(trials_on_cpu(n_threads=3)))
    assert read.amount % (3 * 4) == 0
    assert read.sample_s() > 0


def test_ceilings_name_their_conditions_and_have_the_bandwidth_of_each_size(small_machine):
    found = measure_ceilings(CPU, watch=Quiet(), budget_s=0.01)
    assert set(found.matmul_flop_per_s) == {"float32", "bfloat16"}
    assert max(map(int, found.bandwidth_bytes_per_s)) == 2**20
    assert found.conditions["torch"] == torch.__version__
    assert found.conditions["memory_swings"] >= 1
    assert found.slow_rounds == 0
    rates = (*found.matmul_flop_per_s.values(), *found.bandwidth_bytes_per_s.values(), found.copy_bytes_per_s)
    assert all(rate > 0 for rate in (*rates, found.dispatch_s))


def test_ceilings_of_a_disturbed_machine_are_refused(small_machine):
    with pytest.raises(MachineDisturbed, match="a neighbour"):
        measure_ceilings(CPU, watch=Quiet("a neighbour"), budget_s=0.01, patience_s=0.01)


def test_ceilings_of_a_machine_that_is_slow_throughout_say_so(small_machine):
    slow = Quiet("half its best", is_merely_slow=True)
    assert measure_ceilings(CPU, watch=slow, budget_s=0.01, patience_s=1.0).slow_rounds >= LEAST_SLOW_ROUNDS


def test_a_launch_of_a_slow_host_makes_the_ceilings_those_of_a_slow_machine(small_machine, monkeypatch):
    """The GPU is the test's: its host is slow while launches are timed, and not later."""
    answers = iter((Rates({"launch_per_s": 1e6}, {}, n_slow=12), Rates(GPU_RATES, dict.fromkeys(GPU_RATES, 1.0))))
    monkeypatch.setattr(ceilings, "best_rates", lambda *_, **__: next(answers))
    for name in ("_launches", "_on_cuda"):
        monkeypatch.setattr(ceilings, name, lambda *_: iter(()))
    monkeypatch.setattr(ceilings, "CudaClock", lambda: SimpleNamespace(now=None))
    monkeypatch.setattr(ceilings, "device_name", lambda _: "gpu")
    monkeypatch.setattr(ceilings, "fixed_conditions", lambda _: {})
    assert measure_ceilings(torch.device("cuda"), watch=Quiet()).slow_rounds == 12


@pytest.mark.parametrize(
    ("free", "sizes"), [(2**33, (2**17, 2**18, 2**19, 2**20)), (2**21, (2**17, 2**18)), (1000, (2**17,))]
)
def test_on_a_gpu_bandwidth_is_measured_from_below_the_l2_to_memory_without_the_launch(monkeypatch, free, sizes):
    """The GPU is the test's: each byte takes 1 ns, and each launch 3 µs."""
    moved = []

    def behind_blocked_stream(call, *, calls, block_s):
        assert calls >= 1
        assert block_s > 0
        moved.clear()
        call()
        return EnqueuedTimes(host_time_s=1.0, device_time_s=moved[0] * 1e-9 + 3e-6)

    class Values(torch.Tensor):
        def mul_(self, _other):
            moved.append(2 * self.nbytes)

        def copy_(self, _source):
            moved.append(2 * self.nbytes)

    monkeypatch.setattr(bandwidth, "time_behind_blocked_stream", behind_blocked_stream)
    monkeypatch.setattr(bandwidth, "_LARGEST", 2**20)
    monkeypatch.setattr(bandwidth, "_values", lambda n_bytes, _: torch.zeros(n_bytes // 4).as_subclass(Values))
    properties = SimpleNamespace(L2_cache_size=2**20)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _: (free, 2**40))
    trials = list(bandwidth.trials_on_cuda(CPU, launch_s=3e-6))
    assert {trial.quantity.split(".")[-1] for trial in trials} == {*map(str, sizes), COPY}
    for trial in trials:
        assert trial.amount / trial.sample_s() == pytest.approx(1e9)


def test_a_dtype_that_onednn_lacks_has_torch_s_own_product(small_machine, monkeypatch):
    def to_mkldnn(tensor):
        raise RuntimeError("mkldnn: needs avx512")

    monkeypatch.setattr(torch.Tensor, "to_mkldnn", to_mkldnn)
    assert set(measure_ceilings(CPU, watch=Quiet(), budget_s=0.01).matmul_flop_per_s) == {"float32", "bfloat16"}


def test_a_half_is_also_multiplied_as_float32_and_float32_is_not_twice():
    half, single = torch.ones(4, 4, dtype=torch.bfloat16), torch.ones(4, 4)
    product = ceilings._by_float32(half, half)
    assert torch.equal(product(), half @ half)
    assert ceilings._by_float32(single, single) is None


def test_no_product_is_begun_that_the_smaller_ones_show_to_take_too_long(monkeypatch):
    monkeypatch.setattr(ceilings, "_PRODUCT_SIZES", {"cpu": (16, 2**20)})
    monkeypatch.setattr(ceilings, "_LONGEST_PRODUCT_S", 1e-3)
    trials = list(ceilings._products(CPU, ceilings.CpuClock()))
    assert {trial.quantity for trial in trials} == {"matmul_flop_per_s.float32", "matmul_flop_per_s.bfloat16"}
