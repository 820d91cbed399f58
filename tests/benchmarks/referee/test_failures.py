"""What becomes of contenders where the referee itself has no memory left."""

import pytest
import torch

from benchmarks.ruler.measure.referee import Implausible
from benchmarks.ruler.plan.points import Contender
from benchmarks.ruler.providers.workload import workload
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.referee.failures import RefereeFailed, referee_failures
from benchmarks.ruler.referee.group_referee import GroupReferee
from benchmarks.ruler.referee.tampering import Instrument


def without_memory(*_):
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB")


def test_who_cannot_be_verified_for_want_of_memory_has_no_time_and_the_others_go_on(shape, monkeypatch):
    load, calls = workload(shape, device=torch.device("cpu")), {}
    referee = GroupReferee(load, instrument=Instrument(), threads=torch.get_num_threads())
    with torch.no_grad():
        referee._instrument.note_settings()
        for name in ("eager", "addmm-activation"):
            outcome, calls[name] = referee.attempt(Contender(provider=name), load.reference())
            assert outcome.state is State.OK

        def sampled(name):
            n_calls = referee.before_sample(name, calls=4)
            referee.before_last_warming(name)
            referee.before_timing(name)
            output = [calls[name]() for _ in range(n_calls)][-1]
            referee.after_sample(name, output)

        with monkeypatch.context() as patched:
            patched.setattr(referee._verification, "why_wrong", without_memory)
            with pytest.raises(Implausible, match="the referee ran out of memory while it verified a timed call"):
                sampled("addmm-activation")
        for _ in range(20):
            sampled("eager")
    assert {name: found.state for name, found in referee.findings.items()} == {"addmm-activation": State.OUT_OF_MEMORY}
    assert "implausible" not in referee.findings["addmm-activation"].reason


def test_a_contender_that_runs_out_of_memory_while_it_is_verified_is_not_the_referees_failure(shape):
    load = workload(shape, device=torch.device("cpu"))
    referee = GroupReferee(load, instrument=Instrument(), threads=torch.get_num_threads())
    with torch.no_grad():
        referee._instrument.note_settings()
        _, call = referee.attempt(Contender(provider="eager"), load.reference())
        referee.before_sample("eager", calls=1)
        referee.before_last_warming("eager")
        referee.before_timing("eager")
        output = call()
        referee._calls["eager"] = without_memory
        with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate"):
            referee.after_sample("eager", output)
    assert referee.findings == {}


@pytest.mark.parametrize("raised", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: 5 bytes")])
def test_want_of_memory_is_the_referees_failure(raised):
    with pytest.raises(RefereeFailed, match="out of memory then; measure a smaller shape"), referee_failures("then"):
        raise raised


@pytest.mark.parametrize(
    "raised", [ValueError("a bug"), RuntimeError("CUDA error: out of memory"), KeyboardInterrupt()]
)
def test_anything_else_stays_what_it_is(raised):
    with pytest.raises(type(raised)) as found, referee_failures("then"):
        raise raised
    assert found.value is raised
