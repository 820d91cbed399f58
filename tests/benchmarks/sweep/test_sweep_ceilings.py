"""When a machine's ceilings are measured again, and what happens to floors then; the worker is the test's."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.ruler.errors import JournalError
from benchmarks.ruler.plan import work
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.roofline import Ceilings
from benchmarks.ruler.record.codec import json_from_value
from benchmarks.ruler.sweep.journal_lines import timing_line as timing_line_of
from benchmarks.ruler.sweep.machine_file import BestProbe, keep_ceilings, keep_probe, kept_ceilings, kept_probe
from benchmarks.ruler.sweep.sweep_ceilings import SweepCeilings, highest, why_outdated
from benchmarks.ruler.worker.process import Answer

HERE = {"machine": "box", "environment": "py3.11-cpu-t2"}
CONDITIONS = {"torch": "2.13.0", "device": "a processor", "os": "Linux 6"}


def ceilings(**changes):
    values = {
        "device": "a processor", "measured_at": datetime.now(UTC).isoformat(), "copy_bytes_per_s": 1e10,
        "matmul_flop_per_s": {"float32": 3e11}, "vector_instruction_per_s": 1.5e11, "dispatch_s": 1e-6,
        "bandwidth_bytes_per_s": {"65536": 1e11, "1048576": 1e10}, "conditions": CONDITIONS,
    }  # fmt: skip
    return Ceilings(**{**values, **changes})


class Worker:
    """A worker that answers with the ceilings given, or refuses; it counts how often it was asked."""

    def __init__(self, found=None, *, refused=None, conditions=CONDITIONS):
        self.hello = {"conditions": conditions}
        self.found, self.refused, self.requests = found, refused, []

    def ask_speed(self):
        return Answer(messages=(), conditions={"probe_core_s": 1e-4}, death=None)

    def ask_ceilings(self, request):
        self.requests.append(request)
        found = None if self.found is None else json_from_value(self.found)
        message = {"event": "ceilings", "ceilings": found, "refused": self.refused}
        return Answer(messages=(message,), conditions={}, death=None)


@pytest.fixture
def data(tmp_path):
    return tmp_path


def of_sweep(data, *, since=None):
    return SweepCeilings(data, **HERE, since=since)


def test_the_speed_of_a_new_machine_is_known_before_anything_is_measured_against_it(data):
    worker = Worker(ceilings())
    of_sweep(data).ensure(worker)
    assert worker.requests[0].best_probe_s == {"core": 1e-4}
    worker.ask_speed = None  # the next sweep knows it
    assert of_sweep(data).ensure(worker) is None


def test_a_new_machine_is_measured_and_the_next_sweep_finds_it_so(data):
    worker = Worker(ceilings())
    of_sweep(data).ensure(worker)
    again = of_sweep(data)
    assert again.ensure(worker) is None
    assert again.value == worker.found == kept_ceilings(data, **HERE)
    assert len(worker.requests) == 1


@pytest.mark.parametrize(("swings", "is_told"), [(1.2, False), (1.74, True)])
def test_a_memory_that_swings_while_nothing_is_seen_is_told_with_what_follows(data, swings, is_told):
    said = of_sweep(data).ensure(Worker(ceilings(conditions={**CONDITIONS, "memory_swings": swings})))
    assert said.startswith("the machine's ceilings were measured: there were none yet")
    assert ("copying memory took 1.7 times its least in half of the rounds" in said) is is_told
    assert ("floors of memory traffic are uncertain" in said) is is_told


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        (ceilings(conditions={**CONDITIONS, "torch": "2.12.0"}), "torch was 2.12.0, and is 2.13.0"),
        (ceilings(conditions={**CONDITIONS, "device": "another"}), "device was another, and is a processor"),
        (ceilings(bandwidth_bytes_per_s={}), "an earlier ruler measured them"),
        (ceilings(measured_at="2026-01-01T00:00:00+00:00"), "days old"),
    ],
)
def test_what_no_longer_holds_is_measured_again_and_the_reason_is_said(data, kept, reason):
    keep_ceilings(data, kept, **HERE)
    worker = Worker(ceilings(copy_bytes_per_s=5e9))
    found = of_sweep(data)
    assert reason in found.ensure(worker)
    assert found.value == worker.found


def test_a_run_that_measures_everything_anew_measures_ceilings_from_before_it_once(data):
    keep_ceilings(data, ceilings(measured_at="2026-11-20T00:00:00+00:00"), **HERE)
    worker = Worker(ceilings())
    since = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
    assert "anew" in of_sweep(data, since=since).ensure(worker)
    assert of_sweep(data, since=since).ensure(worker) is None


def test_thirty_days_are_kept_and_one_more_is_not():
    kept, measured = ceilings(measured_at="2026-01-01T00:00:00+00:00"), datetime(2026, 1, 1, tzinfo=UTC)
    assert why_outdated(kept, now=measured + timedelta(days=30), since=None) is None
    assert why_outdated(kept, now=measured + timedelta(days=31), since=None) == "they are 31 days old"


SLOW = {**CONDITIONS, "slow_rounds": 12, "machine_speed": 0.57, "memory_swings": 1.74}


def test_ceilings_of_a_slow_machine_are_told_as_such(data):
    found = of_sweep(data)
    assert found.ensure(Worker(ceilings(conditions=SLOW))).endswith(
        "there were none yet; the machine was slow throughout, a quarter of the time at 57 % of its best or less: they "
        "are the best of the fast moments that 12 rounds met, and measured again after half a day or when a call beats "
        "them"
    )
    assert found.value is not None


def test_ceilings_of_a_slow_machine_serve_for_half_a_day_and_what_it_once_did_stays_possible(data):
    slow = ceilings(conditions=SLOW, copy_bytes_per_s=2e10)
    measured = datetime.fromisoformat(slow.measured_at)
    assert why_outdated(slow, now=measured + timedelta(hours=12), since=None) is None
    assert "slow" in why_outdated(slow, now=measured + timedelta(hours=13), since=None)
    earlier = (datetime.now(UTC) - timedelta(hours=13)).isoformat()
    for conditions, copied in ((SLOW, 2e10), (CONDITIONS, 1e10)):
        keep_ceilings(data, replace(slow, measured_at=earlier), **HERE)
        found = of_sweep(data)
        found.ensure(Worker(ceilings(conditions=conditions, matmul_flop_per_s={"float32": 4e11})))
        assert found.value.copy_bytes_per_s == copied
        assert found.value.matmul_flop_per_s == {"float32": 4e11}


def test_what_a_calm_machine_did_is_not_called_slow_where_it_stays_the_best(data):
    keep_ceilings(data, ceilings(measured_at="2026-01-01T00:00:00+00:00"), **HERE)
    found = of_sweep(data)
    said = found.ensure(Worker(ceilings(conditions=SLOW, matmul_flop_per_s={"float32": 2e11})))
    assert found.value.matmul_flop_per_s == {"float32": 3e11}
    assert found.value.speed == 1, (
        "the product's ceiling is a calm machine's, and no cheat may be faster by its slowness"
    )
    assert found.value.slow_rounds == 12, "and it is measured again soon"
    assert "the best of the fast moments" not in said
    assert "what it did before counts where that was more" in said


def test_of_two_slow_measurements_the_faster_machine_s_speed_counts():
    slower = ceilings(conditions={**SLOW, "machine_speed": 0.4})
    for one, other in ((slower, ceilings(conditions=SLOW)), (ceilings(conditions=SLOW), slower)):
        assert highest(one, other).speed == 0.57
    told = ceilings(conditions={**SLOW, "speed_of_products": 0.9})
    assert highest(told, slower).speed_of_products == highest(slower, told).speed_of_products == 0.9


def test_a_disturbed_machine_gives_no_ceilings_and_points_no_floor(data):
    found = of_sweep(data)
    said = found.ensure(Worker(refused="other processes used 1.9 cores"))
    assert "other processes used 1.9 cores" in said
    assert "no floor and no bound until a run measures them" in said
    assert said.endswith("fusebench doctor looks for what disturbs it (there were none yet)")
    assert found.value is None is kept_ceilings(data, **HERE)


def test_ceilings_that_are_only_old_serve_while_new_ones_are_refused_but_not_those_of_other_software(data):
    old = ceilings(measured_at="2026-01-01T00:00:00+00:00")
    keep_ceilings(data, old, **HERE)
    found = of_sweep(data)
    assert "those kept are used" in found.ensure(Worker(refused="a neighbour"))
    assert found.value == old
    found = of_sweep(data)
    found.ensure(Worker(refused="a neighbour", conditions={**CONDITIONS, "torch": "3"}))
    assert found.value is None
    assert kept_ceilings(data, **HERE) == old


def test_a_point_that_beats_its_floor_has_the_ceilings_measured_again_once_and_the_best_of_both_counts(
    data, timing_line
):
    keep_ceilings(data, ceilings(), **HERE)
    found = of_sweep(data)
    worker = Worker(ceilings(copy_bytes_per_s=2e10, matmul_flop_per_s={"float32": 2e11}, dispatch_s=2e-6))
    latency_s = timing_line.outcome.latency_s
    found.see([replace(timing_line, floor_s=1.05 * latency_s)])
    assert not found.is_beaten
    found.see([replace(timing_line, floor_s=1.2 * latency_s)])
    assert found.is_beaten
    assert "was faster than its floor" in found.ensure(worker)
    assert (found.value.copy_bytes_per_s, found.value.matmul_flop_per_s["float32"]) == (2e10, 3e11)
    assert found.value.dispatch_s == 1e-6
    found.see([replace(timing_line, floor_s=1.2 * latency_s)])
    assert not found.is_beaten
    assert found.ensure(worker) is None


def test_a_point_without_a_time_beats_no_floor(data, timing_line):
    found = of_sweep(data)
    found.see([replace(timing_line, floor_s=1.0, outcome=replace(timing_line.outcome, latency_s=None))])
    assert not found.is_beaten


def test_lines_get_the_floors_of_the_present_ceilings_and_those_that_have_them_are_left(data, timing_line):
    keep_ceilings(data, ceilings(), **HERE)
    (line,) = of_sweep(data).corrected([timing_line], DeviceKind.CPU)
    assert line.floor_s != timing_line.floor_s
    assert replace(line, floor_s=timing_line.floor_s) == timing_line
    assert of_sweep(data).corrected([line], DeviceKind.CPU) == []


def test_whoever_is_too_fast_for_ceilings_is_judged_by_those_measured_again(data, timing_line):
    def faster_than_products(times, kept):
        keep_ceilings(data, kept, **HERE)
        sweep = of_sweep(data)
        latency_s = work.flop(timing_line.head.shape) / 1e11 / times
        outcome = replace(timing_line.outcome, latency_s=latency_s, speedup_vs_eager=None)
        line = timing_line_of(timing_line.head, outcome, "abcdef01", sweep.value, DeviceKind.CPU)
        assert line.outcome.state == "ok"
        sweep.see([line])
        return sweep, line

    slow = ceilings(matmul_flop_per_s={"float32": 1e11}, vector_instruction_per_s=1e15)
    sweep, line = faster_than_products(3, slow)
    assert sweep.is_beaten
    sweep.ensure(Worker(ceilings(matmul_flop_per_s={"float32": 2.9e11}, vector_instruction_per_s=1e15)))
    (found,) = sweep.corrected([line], DeviceKind.CPU)
    assert (found.outcome, found.floor_s < line.floor_s) == (line.outcome, True)
    sweep, line = faster_than_products(3, slow)
    sweep.ensure(Worker(refused="a neighbour"))
    assert sweep.corrected([line], DeviceKind.CPU) == []
    sweep.ensure(Worker(slow))
    (found,) = sweep.corrected([line], DeviceKind.CPU)
    assert found.outcome.state == "wrong"
    assert "100 GFLOP/s" in found.outcome.reason


def test_the_best_times_of_the_probe_lie_beside_the_ceilings_and_neither_loses_the_other(data):
    assert kept_probe(data, **HERE) is None
    conditions = {**dict.fromkeys(("python", "cpu_governor")), **CONDITIONS}
    here = BestProbe(seconds={"core": 1e-3}, measured_at=datetime.now(UTC).isoformat(), conditions=conditions)
    keep_probe(data, here, **HERE)
    keep_ceilings(data, ceilings(), **HERE)
    keep_probe(data, replace(here, seconds={"core": 2e-3}), machine="box", environment="another")
    assert kept_probe(data, **HERE) == here
    assert kept_ceilings(data, **HERE) is not None
    worker = Worker(ceilings())
    of_sweep(data, since=datetime.now(UTC).isoformat()).ensure(worker)
    assert worker.requests[0].best_probe_s == {"core": 1e-3}


def test_a_file_of_format_1_is_read_and_measured_again(data):
    path = data / "machines" / "box.json"
    path.parent.mkdir()
    old = {"device": "x", "measured_at": "2026-11-01T00:00:00+00:00", "matmul_flop_per_s": {"float32": 1e11}}
    old |= {"copy_bytes_per_s": 1e9, "vector_instruction_per_s": 5e10, "dispatch_s": 1e-6, "launch_s": None}
    path.write_text(json.dumps({"format": 1, "machine": "box", "environments": {HERE["environment"]: old}}))
    assert kept_ceilings(data, **HERE).copy_bytes_per_s == 1e9
    found = of_sweep(data)
    assert "an earlier ruler" in found.ensure(Worker(ceilings()))
    assert json.loads(path.read_text())["format"] == 2


@pytest.mark.parametrize("content", ["[]", '{"format": 3, "environments": {}}', '{"format": 2}', "x"])
def test_a_file_of_something_else_is_named_and_stays(data, content):
    path = data / "machines" / "box.json"
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(JournalError, match=r"box\.json.*measured anew"):
        of_sweep(data)
    assert path.read_text() == content


@pytest.mark.parametrize(
    "changes",
    [
        {"measured_at": "yesterday"},
        {"copy_bytes_per_s": 0},
        {"dispatch_s": -1.0},
        {"matmul_flop_per_s": {"float32": "fast"}},
        {"bandwidth_bytes_per_s": {"L2": 1e11}},
        {"bandwidth_bytes_per_s": {"65536": 0.0}},
    ],
)
def test_a_ceiling_that_is_none_is_named_before_anything_is_divided_by_it(data, changes):
    path = data / "machines" / "box.json"
    path.parent.mkdir()
    written = {**json_from_value(ceilings()), **changes}
    path.write_text(json.dumps({"format": 2, "machine": "box", "environments": {HERE["environment"]: written}}))
    with pytest.raises(JournalError, match=r"box\.json.*measured anew"):
        of_sweep(data)


def test_a_moment_without_an_offset_is_utc():
    kept = ceilings(measured_at="2026-01-01T00:00:00")
    assert why_outdated(kept, now=datetime(2026, 1, 2, tzinfo=UTC), since="2026-01-01T00:00:01") is not None
