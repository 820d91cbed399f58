"""Whether disturbed chunks disturb a point: they may be many, and yet move no median."""

import itertools

import pytest

from benchmarks.ruler.measure.kept_chunks import LEAST_CALM_SAMPLES, KeptChunks
from benchmarks.ruler.measure.policy import Policy
from benchmarks.ruler.measure.timing import sample_group
from tests.benchmarks.measure.turned_clock import Disturbed, FakeClock, Op

CALM, BUSY = [1.0] * 6, [1.3] * 6


def kept(*chunks):
    """The chunks as they are kept, and all their samples."""
    found, all_samples = KeptChunks(), {}
    for cause, samples in chunks:
        found.keep(0.2, cause, samples)
        for name, taken in samples.items():
            all_samples[name] = [*all_samples.get(name, ()), *taken]
    return found, all_samples


def disturbance(kept_chunks, of, share=0.25):
    chunks, samples = kept_chunks
    return chunks.disturbance({name: samples[name] for name in of}, share=share)


def test_up_to_a_share_of_the_time_nothing_is_said():
    chunks = kept(("a burst", {"eager": BUSY}), *[(None, {"eager": CALM})] * 3)
    assert disturbance(chunks, ["eager"]) is None
    assert disturbance(chunks, ["eager"], share=0.24) is None, "the median is that of the calm samples"


def test_a_third_that_moved_no_median_disturbed_nothing():
    chunks = kept(("a burst", {"eager": BUSY}), *[(None, {"eager": CALM})] * 2)
    assert chunks[0].disturbed_share == pytest.approx(1 / 3)
    assert disturbance(chunks, ["eager"]) is None


def test_a_third_that_moved_the_median_of_one_contender_disturbed_all():
    spread = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5]
    chunks = kept(
        ("a burst", {"eager": BUSY, "fused": [2.0] * 6}),
        (None, {"eager": CALM, "fused": spread}),
        (None, {"eager": CALM, "fused": spread}),
    )
    assert disturbance(chunks, ["eager"]) is None
    assert disturbance(chunks, ["eager", "fused"]) == "a burst"


def test_a_median_that_became_shorter_was_moved_as_well():
    chunks = kept(("a lucky clock", {"eager": [0.5] * 6}), (None, {"eager": [0.9, 1.0, 1.1] * 4}))
    assert disturbance(chunks, ["eager"]) == "a lucky clock"


@pytest.mark.parametrize("n_calm", [LEAST_CALM_SAMPLES - 1, LEAST_CALM_SAMPLES])
def test_few_calm_samples_tell_nothing(n_calm):
    chunks = kept(("a burst", {"eager": [1.0]}), (None, {"eager": [1.0] * n_calm}))
    assert disturbance(chunks, ["eager"]) == (None if n_calm == LEAST_CALM_SAMPLES else "a burst")


def test_of_more_than_half_no_median_tells():
    chunks = kept(("a burst", {"eager": CALM}), (None, {"eager": CALM}), ("another", {"eager": CALM}))
    assert disturbance(chunks, ["eager"]) == "a burst; another"


def test_a_contender_that_never_was_calm_cannot_be_judged():
    chunks = kept(("a burst", {"fused": CALM}), (None, {"eager": CALM}), (None, {"eager": CALM}))
    assert disturbance(chunks, ["eager", "fused"]) == "a burst"


class Bursts(Disturbed):
    """Disturbed in every chunk until the repeats are used up, then in two of five."""

    def __init__(self, *, n_repeated):
        super().__init__([])
        self.busy = itertools.chain([True] * n_repeated, itertools.cycle([True, False, False, True, False]))
        self.is_busy = False

    def start(self):
        self.is_busy = next(self.busy)

    def disturbance(self, _):
        return "someone compiled" if self.is_busy else None


@pytest.mark.parametrize("slower", [1.0, 1.5])
def test_bursts_that_met_two_of_five_chunks_count_where_they_moved_the_median(slower):
    clock, watch = FakeClock(), Bursts(n_repeated=12)
    # Never so precise that it ends before its budget.
    calm_s = (1e-3 * (1 + 0.02 * ((37 * n) % 101 - 50) / 50) for n in itertools.count())
    op = Op(clock, "eager", 1e-3)
    op.durations_s = (next(calm_s) * (slower if watch.is_busy else 1.0) for _ in itertools.count())
    policy = Policy(budget_s=0.6, chunk_s=0.05, half_width=0.0, warm_up_s=0.0, min_sample_s=500e-6, warming_s=1e-3)
    sampling = sample_group({"eager": op}, baseline="eager", clock=clock, policy=policy, watch=watch)["eager"]
    assert watch.n_forgotten >= 10, "the disturbed chunks are measured again while the budget lasts"
    assert sampling.disturbed == (None if slower == 1.0 else "someone compiled")
    assert watch.has_forgotten_disturbed is (slower == 1.0)
