"""A machine's file that was damaged, or written by a clock that was wrong."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.ruler.errors import DamagedCeilings
from benchmarks.ruler.sweep.machine_file import BestProbe, keep_probe, kept_ceilings, kept_probe
from benchmarks.ruler.sweep.machine_speed import MachineSpeed
from benchmarks.ruler.sweep.sweep_ceilings import why_outdated

HERE = {"machine": "box", "environment": "py3.11-cpu-t2"}
NOW = datetime(2026, 5, 1, tzinfo=UTC)
CEILINGS = {
    "device": "a processor", "measured_at": NOW.isoformat(), "copy_bytes_per_s": 1e10, "dispatch_s": 1e-6,
    "matmul_flop_per_s": {"float32": 3e11}, "vector_instruction_per_s": 1.5e11, "conditions": {},
    "bandwidth_bytes_per_s": {"65536": 1e11},
}  # fmt: skip
PROBE = {"seconds": {"core": 1e-4}, "measured_at": NOW.isoformat(), "conditions": {}}


@pytest.fixture
def write(tmp_path):
    """Writes the machine's file with these values in place of good ones; returns the folder of record."""

    def written(*, ceilings=None, probe=None, spreads=None, text=None):
        content = {
            "format": 2,
            "machine": HERE["machine"],
            "environments": {HERE["environment"]: {**CEILINGS, **(ceilings or {})}},
            "probes": {HERE["environment"]: {**PROBE, **(probe or {})}},
            **({} if spreads is None else {"spreads": {HERE["environment"]: spreads}}),
        }
        path = tmp_path / "machines" / "box.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content) if text is None else text, encoding="utf-8")
        return tmp_path

    return written


def test_a_good_file_is_read(write):
    data = write()
    assert kept_ceilings(data, **HERE).bytes_per_s(2**20) == 1e11
    assert kept_probe(data, **HERE).seconds == {"core": 1e-4}


@pytest.mark.parametrize(
    "damaged",
    [
        {"probe": {"measured_at": "yesterday"}},
        {"probe": {"measured_at": 5}},
        {"probe": {"seconds": {"core": "fast"}}},
        {"probe": {"seconds": {"core": None}}},
        {"probe": {"seconds": [1e-4]}},
        {"ceilings": {"launch_s": "short"}},
        {"ceilings": {"launch_s": -1e-6}},
        {"ceilings": {"launch_s": float("nan")}},
        {"ceilings": {"dispatch_s": 0.0}},
        {"ceilings": {"bandwidth_bytes_per_s": {"65_536": 1e11}}},
        {"ceilings": {"bandwidth_bytes_per_s": {"-65536": 1e11}}},
        {"spreads": {"usual": {"latency": {"sd": -0.01, "dof": 4}}, "measured_at": NOW.isoformat()}},
        {"spreads": {"usual": {"speedup": {"sd": "wide", "dof": 4}}, "measured_at": NOW.isoformat()}},
        {"spreads": {"usual": {"slow_latency": {"sd": float("nan"), "dof": 4}}, "measured_at": NOW.isoformat()}},
        {"spreads": {"usual": {}, "measured_at": "yesterday"}},
        {"spreads": {"measured_at": NOW.isoformat()}},
        {"text": 5000 * "["},
    ],
)
def test_a_value_that_no_measurement_gives_is_damage_with_its_file_and_mend(write, damaged):
    with pytest.raises(DamagedCeilings, match=r"machines/box\.json is .*; move it away, and they are measured anew"):
        kept_ceilings(write(**damaged), **HERE)


def test_ceilings_of_the_future_are_of_a_wrong_clock_and_measured_again(write):
    kept = kept_ceilings(write(), **HERE)
    assert why_outdated(kept, now=NOW - timedelta(hours=1), since=None) is None
    assert "the clock" in why_outdated(kept, now=NOW - timedelta(days=2), since=None)


@pytest.mark.parametrize(("ahead", "is_kept"), [(timedelta(hours=1), True), (timedelta(days=2), False)])
def test_a_best_of_the_future_is_no_best(tmp_path, ahead, is_kept):
    probe = BestProbe(seconds={"core": 1e-4}, measured_at=(NOW + ahead).isoformat(), conditions={})
    keep_probe(tmp_path, probe, **HERE)
    speed = MachineSpeed(tmp_path, **HERE)
    speed.begin({}, now=NOW)
    assert speed.best_s == ({"core": 1e-4} if is_kept else {})


def test_a_time_without_a_zone_is_in_utc(write):
    speed = MachineSpeed(write(probe={"measured_at": NOW.replace(tzinfo=None).isoformat()}), **HERE)
    speed.begin({}, now=NOW + timedelta(days=1))
    assert speed.best_s == {"core": 1e-4}


@pytest.mark.parametrize("probes", [{"py3.11-cpu-t2": {"quartiles": [1e-4, 2e-4]}}, ["of another kind"], None])
def test_a_file_of_a_newer_format_is_told_as_such_whatever_it_holds_and_not_as_damaged(write, probes):
    text = json.dumps({"format": 3, "machine": "box", "surroundings": {}, "probes": probes})
    with pytest.raises(DamagedCeilings, match="has format 3, and this ruler reads 1 and 2; measure with the newer"):
        kept_ceilings(write(text=text), **HERE)
