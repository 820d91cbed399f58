"""Calls that keep more cores busy than are measured."""

import os

import pytest

from benchmarks.ruler.measure.referee import Implausible
from benchmarks.ruler.referee import group_referee


def test_calls_that_keep_more_cores_busy_than_are_measured_are_implausible(group, clocks, sampled):
    def on_two_cores(load):
        def function(x):
            clocks.passes(1e-3, cores=2.0)
            return load.module(x)

        return function

    def on_one(load):
        def function(x):
            clocks.passes(1e-3, cores=1.1)
            return load.module(x)

        return function

    found = group(greedy=on_two_cores, fair=on_one)
    for _ in range(20):
        sampled(found, "fair")
    with pytest.raises(Implausible, match=r"kept 2\.0 cores busy"):  # noqa: PT012 - any of them
        for _ in range(20):
            sampled(found, "greedy")
    assert set(found.referee.findings) == {"greedy"}


def test_a_second_core_is_seen_in_a_sample_of_one_call_though_the_call_before_it_counts_too(group, clocks, sampled):
    def on_two_cores_once_it_is_timed(load):
        def function(x):
            clocks.passes(1e-2, cores=1.0 if x is load.x else 2.0)
            return load.module(x)

        return function

    found = group(greedy=on_two_cores_once_it_is_timed)
    with pytest.raises(Implausible, match=r"kept 1\.5 cores busy"):  # noqa: PT012 - any of them
        for _ in range(3):
            sampled(found, "greedy", calls=1)


def test_no_processor_time_is_read_where_a_call_may_keep_every_core_busy(group, monkeypatch, sampled):
    def reads():
        raise AssertionError("system calls around a sample cost the calls of several threads up to a third")

    monkeypatch.setattr(group_referee, "process_cpu_s", reads)
    found = group(threads=os.cpu_count())
    sampled(found, "eager")
