"""Referee of a group on clocks that the test turns."""

from types import SimpleNamespace

import pytest
import torch

from benchmarks.ruler.plan.points import Contender
from benchmarks.ruler.providers import registry
from benchmarks.ruler.providers.workload import workload
from benchmarks.ruler.referee import group_referee
from benchmarks.ruler.referee.group_referee import GroupReferee
from benchmarks.ruler.referee.tampering import Instrument


class Clocks:
    """Wall and processor time of virtual calls."""

    def __init__(self):
        self.wall_s = self.cpu_s = 0.0

    def passes(self, seconds, *, cores=1.0):
        self.wall_s += seconds
        self.cpu_s += seconds * cores


@pytest.fixture
def clocks(monkeypatch):
    clocks = Clocks()
    monkeypatch.setattr(group_referee, "perf_counter", lambda: clocks.wall_s)
    monkeypatch.setattr(group_referee, "process_cpu_s", lambda: clocks.cpu_s)
    return clocks


@pytest.fixture
def group(shape, clocks, monkeypatch):
    """Referees the contenders, each made of the workload by a function; all but the first are attempted after eager."""

    def made(threads=1, **builders):
        for name, build in builders.items():
            monkeypatch.setitem(registry.PROVIDERS, name, build)
        load = workload(shape, device=torch.device("cpu"))
        referee = GroupReferee(load, instrument=Instrument(), threads=threads)
        reference = load.reference()
        with torch.no_grad():
            referee._instrument.note_settings()
            attempts = {name: referee.attempt(Contender(provider=name), reference) for name in ("eager", *builders)}
        return SimpleNamespace(
            referee=referee,
            load=load,
            outcomes={name: outcome for name, (outcome, _) in attempts.items()},
            calls={name: call for name, (_, call) in attempts.items()},
        )

    return made


@pytest.fixture
def sampled():
    """Takes one turn, as the timing does."""

    def take(group, name, *, calls=8):
        with torch.no_grad():
            group.referee.begin_turn(name)
            n_calls = group.referee.before_sample(name, calls=calls)
            group.referee.before_last_warming(name)
            group.calls[name]()
            group.referee.before_timing(name)
            for _ in range(n_calls):
                output = group.calls[name]()
            group.referee.after_sample(name, output)
        return n_calls

    return take
