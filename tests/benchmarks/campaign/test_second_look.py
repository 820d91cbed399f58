"""What a campaign looks at again: the points where ours is furthest behind."""

from dataclasses import replace

from benchmarks.ruler.campaign import second_look
from benchmarks.ruler.campaign.settings import Budget, Status
from benchmarks.ruler.plan.axes import QUICK
from benchmarks.ruler.plan.filters import Filters
from benchmarks.ruler.plan.points import Contender, DeviceKind, Group
from benchmarks.ruler.sweep.sweep_plan import Plan, empty_sweep


def timed(timing_line, shape, name, device_s):
    outcome = replace(
        timing_line.outcome, device_time_s=device_s, device_time_ci_low_s=device_s, device_time_ci_high_s=device_s
    )
    return replace(
        timing_line, head=replace(timing_line.head, shape=shape, contender=Contender(provider=name)), outcome=outcome
    )


def sweep_of(timing_line, run, tmp_path, times):
    """A sweep on a GPU: device seconds by batch and provider."""
    shapes = {batch: replace(timing_line.head.shape, batch=batch) for batch in times}
    groups = tuple(
        Group(shape=shapes[batch], contenders=tuple(Contender(provider=name) for name in of_batch))
        for batch, of_batch in times.items()
    )
    plan = Plan(run=run, path=tmp_path / "j.jsonl", device=DeviceKind.CUDA, threads=1, axes=QUICK, groups=groups)
    lines = [
        timed(timing_line, shapes[batch], name, device_s)
        for batch, of_batch in times.items()
        for name, device_s in of_batch.items()
    ]
    return empty_sweep(plan).with_lines(lines)


def test_the_worst_are_furthest_behind_the_fastest_rival_by_device_time(timing_line, run, tmp_path):
    times = {
        batch: {"eager": 10e-6, "compiled": 4e-6, "fused-single": 1e-6, "fused": ours}
        for batch, ours in {1: 4e-6, 2: 8e-6, 3: 2e-6, 4: 40e-6, 5: 5e-6, 6: 6e-6, 7: 7e-6}.items()
    }
    times[8] = {"eager": 10e-6}
    found = second_look.worst_shapes(sweep_of(timing_line, run, tmp_path, times))
    assert [shape.batch for shape in found] == [4, 2, 7, 6, 5, 1]


def test_what_is_not_timed_yet_is_not_said_to_be_profiled(settings):
    asked = replace(
        settings, budget=Budget.HALF_HOUR, ruler=replace(settings.ruler, filters=Filters(provider=("eager",)))
    )
    report = second_look.profile_some(asked)
    assert report.status is Status.UNFINISHED
    assert "nothing of it is timed yet" in report.words


def test_four_shapes_are_profiled_on_a_gpu():
    from benchmarks.ruler.plan.axes import all_groups
    from benchmarks.ruler.plan.campaign_axes import HALF_HOUR, for_device
    from benchmarks.ruler.plan.filters import selected
    from benchmarks.ruler.plan.points import Operation

    for device, at_least in ((DeviceKind.CUDA, 4), (DeviceKind.CPU, 1)):
        groups = all_groups(for_device(HALF_HOUR, device), operations=tuple(Operation), device=device)
        profiled = selected(groups, second_look._PROFILED[device])
        assert len(profiled) >= at_least
        assert device is DeviceKind.CPU or len(profiled) == 4
