"""The suite of cheating providers: each is found out, with its reason; and no honest one is."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks.ruler.checks.cheats import LEAVES_CALLS_OUT
from benchmarks.ruler.plan.points import Contender, Operation, Pass
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.worker.protocol import Request, Task
from benchmarks.ruler.worker.tasks import Worker
from tests.benchmarks import cheating_providers, honest_providers

# What it remembers it also gives again; which of the two is found out first depends on the inputs that are drawn.
REMEMBERED = ("the output is off", "it gives the same memory again")
REASONS = {
    "remembers-pointer": REMEMBERED,
    "remembers-object": REMEMBERED,
    "remembers-version": REMEMBERED,
    "remembers-content": "it keeps results",
    "remembers-shape": "the output is off",
    "later-half-the-rows": "the output",
    "later-view-of-the-input": "the output is off",
    "later-stale-memory": "the output",
    "stale-memory": "the output",
    "found-reference": "the output is off",
    "spoilt-inputs": "it wrote to the weights or the input",
    "later-spoilt-inputs": "it wrote to",
    "zeroed-weights": "it wrote to the weights",
    "lazy-subclass": "computes when it is looked at",
    "lazy-instance": "computes when it is looked at",
    "in-a-thread": "the output",
    "all-at-once": "it keeps results",
    "another-precision": "the output is off",
    "slow-clock": "it replaced time.perf_counter",
    "ruler-clock": "it replaced benchmarks.ruler.measure.clock.perf_counter",
    "other-code": "it replaced benchmarks.ruler.measure.clock.CpuClock.timed",
    "lenient-check": "it replaced torch.linalg.vector_norm",
    "slow-activation": "it replaced torch.nn.functional.gelu",
    "hooked-baseline": "it hooked into the eager module",
    "more-threads": "it changed what torch.set_num_threads sets",
    "profiled-rivals": "it changed what sys.setprofile sets",
    "remembers-a-few-values": "it keeps results",
    "previous-result": "the output is off",
    "filled-at-the-next-call": "the output",
    "filled-when-dropped": "the output",
    "later-another-precision": "the output is off",
    "one-buffer": "it gives the same memory again",
    "honest-at-the-end": "the output",
    "slow-class": "it changed the eager module",
    "another-layout": "it changed the eager module",
    "replaced-parameter": "it changed the eager module",
    "other-activation": "it changed the eager module",
    "slow-table": "it replaced benchmarks.ruler.providers.workload.ACTIVATIONS.gelu",
    "slow-dispatcher": "it overrode aten/gelu/CPU",
    "pinned": "it changed what os.sched_setaffinity sets",
    "collected": "it changed what gc.enable sets",
    "mixed-precision": "it changed what torch.set_float32_matmul_precision sets",
    "several-settings": "it replaced time.perf_counter",
    "lenient-root": "it replaced math.sqrt",
    "lenient-pieces": "it replaced torch.Tensor.reshape",
    "lenient-norms": "it replaced torch.stack",
    "foreseen-inputs": "it replaced random.Random.randrange",
    "slow-namespace": "it replaced torch.nn.modules.linear.F",
    "slow-inputs": "it changed an input's class or memory",
    "moved-inputs": "it changed an input's class or memory",
    "slow-weights": "it changed the eager module or the input: their class",
    "anomaly-mode": "it changed what torch.autograd.set_detect_anomaly sets",
    "saved-tensors": "it left hooks on that see every saved tensor",
    "interrupting": "it changed what signal.signal sets",
    "profiler-left-on": "it changed what torch.autograd.profiler sets",
    "skipped-calls": "the output is off",
    "computed-beforehand": "it keeps results",
    "slow-look-up": "it replaced torch.nn.Linear.__getattribute__",
    "slow-own-call": "it replaced benchmarks.ruler.providers.workload.Mlp.__call__",
    "mode-left-on": "it left a mode on that sees every operator",
    "several-buffers": "it gives the same memory again",
    "autocast": "it changed what torch.autocast('cpu') sets",
    "monitored-rivals": f"it changed what sys.{'monitoring' if hasattr(sys, 'monitoring') else 'settrace'} sets",
    "skipped-after-rivals": "the output is off",
    "computed-after-rivals": "it keeps results",
    "compiled-in-place": "it changed the eager module: module.compile() compiles it for everybody",
    "slow-compiled-call": "it changed the eager module",
    "slow-parameters": "it changed the eager module: _parameters",
    "other-gradients": "it changed whether the weights or the input that all share require gradients",
    "told-by-a-gap": "it keeps results",
    "wrong-in-later-turns": "the output is off",
    "unlimited": "it replaced benchmarks.ruler.referee.input_times._TIMES_SLOWER",
    "other-defaults": "it replaced benchmarks.ruler.referee.input_times.InputTimes.why_suspicious's defaults",
    "no-bits": "it replaced random.Random._randbelow",
    "hidden-builtin": "it replaced benchmarks.ruler.measure.timing.float",
    "faster-records": "it replaced benchmarks.ruler.worker.outcomes.replace",
    "slow-bases": "it replaced benchmarks.ruler.providers.workload.Mlp.__bases__",
    "slow-tracing": "it replaced torch._C._get_tracing_state",
    "traced-memory": "it changed what tracemalloc.start sets",
}
# Where calls are held up some take that for being looked at; where calls were counted anew, more make a sample than
# are computed beforehand. Then they are honest, and as slow as that.
SOMETIMES_HONEST = {"skipped-after-rivals", "computed-after-rivals", "computed-beforehand"}


class NoOne:
    def set(self, index):
        pass


@pytest.fixture
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def outcomes_of(one_thread):
    """Times the contenders in a worker of this process."""

    def timed(shape, *providers, budget_s=0.05, module=cheating_providers):
        sent = []
        worker = Worker(
            device=torch.device("cpu"),
            current=NoOne(),
            provider_module=Path(module.__file__),
            send=sent.append,
        )
        contenders = tuple(Contender(provider=name) for name in providers)
        worker.answer(Request(task=Task.TIME, shape=shape, contenders=contenders, budget_s=budget_s))
        json.dumps(sent)
        return {each["contender"]: each["outcome"] for each in sent if each["event"] == "outcome"}

    return timed


@pytest.fixture
def small(shape):
    """A call that computes long enough for a cheat to pay."""
    return replace(shape, batch=64, dim=64, hidden=256)


def test_every_cheat_has_its_reason():
    assert set(REASONS) == set(cheating_providers.PROVIDERS)


@pytest.mark.parametrize("cheat", cheating_providers.PROVIDERS)
def test_a_cheat_is_wrong_and_its_rival_is_not(outcomes_of, small, cheat):
    of_calls = replace(small, batch=16, hidden=64) if cheat in LEAVES_CALLS_OUT else small
    found = outcomes_of(of_calls, "eager", cheat)
    for _ in range(4):
        if cheat not in SOMETIMES_HONEST or found[cheat]["state"] == State.WRONG:
            break
        found = outcomes_of(of_calls, "eager", cheat)
    assert found["eager"]["state"] == State.OK
    assert found[cheat]["state"] == State.WRONG, found[cheat]["reason"]
    reasons = REASONS[cheat] if isinstance(REASONS[cheat], tuple) else (REASONS[cheat],)
    assert any(each in found[cheat]["reason"] for each in reasons)
    assert found[cheat]["latency_s"] is None


@pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated:DeprecationWarning")
@pytest.mark.parametrize("pass_", Pass)
@pytest.mark.parametrize("operation", Operation)
def test_no_honest_provider_is_wrong(outcomes_of, small, operation, pass_):
    honest = ("eager", "fused", "fused-pure", "fused-hoisted", "compiled")
    activation = "silu" if operation is Operation.GATED_MLP else "gelu"
    found = outcomes_of(replace(small, operation=operation, pass_=pass_, activation=activation), *honest)
    assert {name: outcome["reason"] for name, outcome in found.items()} == dict.fromkeys(honest)


def test_who_takes_the_weights_gradients_away_leaves_its_rivals_theirs(outcomes_of, small):
    backward = replace(small, pass_=Pass.FORWARD_BACKWARD)
    found = outcomes_of(backward, "eager", "other-gradients", "fused-pure")
    assert [found[name]["state"] for name in ("eager", "fused-pure")] == [State.OK] * 2
    assert REASONS["other-gradients"] in found["other-gradients"]["reason"]


@pytest.mark.filterwarnings("ignore:.torch.jit.* is deprecated:DeprecationWarning")
@pytest.mark.parametrize("honest", honest_providers.PROVIDERS)
def test_an_unusual_provider_is_not_wrong_for_that(outcomes_of, small, honest):
    found = outcomes_of(small, "eager", honest, module=honest_providers)
    assert {name: outcome["reason"] for name, outcome in found.items()} == {"eager": None, honest: None}
