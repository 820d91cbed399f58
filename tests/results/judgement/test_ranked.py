"""The order in which findings deserve a person's time."""

from results.judgement.changes.ranked import weight_of
from results.judgement.findings import FindingState
from tests.made_findings import finding


def counted(metric, ratio):
    return finding(
        surface=finding().surface._replace(metric=metric),
        ratio=ratio,
        interval=None,
        floor=0.0,
        state=FindingState.CONFIRMED,
    )


def test_an_error_that_trebled_weighs_less_than_memory_that_doubled():
    # An error may double by the order of a sum; what is wrong by the dtype's tolerance has no value at all.
    assert weight_of(counted("error_rel", 3.4)) < weight_of(counted("peak_memory_bytes", 2.0))
    assert weight_of(counted("error_rel", 2.0)) == 0.0


def test_more_points_and_what_is_certain_weigh_more():
    assert weight_of(finding()) > weight_of(finding(points=finding().points[:1]))
    assert weight_of(finding()) > weight_of(finding(state=FindingState.SUSPECTED))
    assert weight_of(finding()) > weight_of(finding(interval=(1.01, 1.6)))
