"""A provider's time in company, alone and by torch's Timer."""

import pytest

from benchmarks.ruler.checks.company import Row, report, timer_s
from benchmarks.ruler.plan.points import Operation
from benchmarks.ruler.plan.settings import Settings


def row(company_s, alone_s, timer_s):
    return Row(provider="eager", shape="mlp", company_s=company_s, alone_s=alone_s, timer_s=timer_s, is_disturbed=False)


@pytest.mark.parametrize(
    ("times", "is_within"),
    [
        ((100e-6, 98e-6, 102e-6), True),
        ((100e-6, 96e-6, 100e-6), False),
        ((100e-6, 100e-6, 104e-6), False),
        ((10e-6, 9.6e-6, 10.4e-6), True),
        ((10e-6, 9.4e-6, 10e-6), False),
    ],
)
def test_three_ways_agree_within_3_percent_and_5_of_a_short_call(times, is_within):
    assert row(*times).is_within is is_within
    lines, passes = report([row(*times)])
    assert passes is is_within
    assert lines[-1].startswith("pass" if is_within else "FAIL")


def test_nothing_measured_is_no_pass():
    assert report([])[1] is False


def test_the_timer_times_a_provider_in_a_process_of_its_own(shape):
    assert shape.operation is Operation.MLP
    eager_s, unavailable = (
        timer_s(Settings(threads=1, is_uncommitted=True), name, [shape]) for name in ("eager", "fused-single")
    )
    assert 0 < eager_s[0] < 0.1
    assert unavailable == [None]
