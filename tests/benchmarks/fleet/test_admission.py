"""Admission of hosts: by their class, and by twenty points within a tolerance of what the class takes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.ruler.errors import UnfitHost
from benchmarks.ruler.fleet import calibration as calibration_module
from benchmarks.ruler.fleet.admission import Calibration, HostFile, host_path, unfit_hosts, why_unfit
from benchmarks.ruler.fleet.calibration import admit, shapes_of_calibration
from benchmarks.ruler.fleet.folder import write_value
from benchmarks.ruler.fleet.host import Host, HostClass
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import Settings

KIND = HostClass(cpu="EPYC", cores=8, gpu="H200", gpu_memory_gib=141, gpu_power_limit_w=700)


def calibrated(name, slowness=1.0, *, kind=KIND, odd=None, product=1e12, at=None):
    times = {f"p{i}": slowness * (1 + i) * 1e-5 for i in range(20)} | (odd or {})
    at = at or datetime.now(UTC).isoformat()
    found = Calibration(measured_at=at, times_s=times, ceilings={"product bfloat16": product})
    return HostFile(host=Host(name=name, node=name, kind=kind), calibration=found)


def why(name, *files):
    return why_unfit(name, {file.host.name: file for file in files}, KIND, tolerance=0.02)


def test_the_first_host_is_what_its_class_is():
    assert why("a", calibrated("a")) is None


@pytest.mark.parametrize(
    ("slowness", "is_fit"), [(1.0, True), (1.015, True), (0.985, True), (1.03, False), (0.96, False)]
)
def test_a_host_is_fit_within_two_percent_of_the_median_of_its_class(slowness, is_fit):
    found = why("c", calibrated("a"), calibrated("b", 1.001), calibrated("c", slowness), calibrated("d", 0.999))
    assert (found is None) == is_fit
    if not is_fit:
        assert f"{'slower' if slowness > 1 else 'faster'} than the class's median over 20 points" in found
        assert "(4 hosts, tolerance 2 %)" in found


def test_of_two_hosts_the_slower_one_is_unfit_whoever_came_first():
    slow, fast = calibrated("slow", 1.5), calibrated("fast")
    assert why("slow", slow, fast).startswith("50 % slower than the class's median")
    assert why("fast", slow, fast) is None


def test_a_few_odd_points_are_noise_and_many_are_not():
    of_class = [calibrated(name) for name in "abc"]
    odd = {f"p{i}": 1.2 * (1 + i) * 1e-5 for i in range(9)}
    few = dict(list(odd.items())[:5])
    assert why("d", *of_class, calibrated("d", odd=few)) is None
    found = why("d", *of_class, calibrated("d", odd=odd))
    assert found.startswith("9 of 20 points of calibration lie more than 5 % from")
    assert "at 120 %" in found


def test_a_low_ceiling_is_unfit_and_named():
    of_class = [calibrated(name) for name in "abc"]
    assert why("d", *of_class, calibrated("d", product=0.9e12)) == (
        "its ceiling product bfloat16 at 90 % of the class's median; tolerance 5 %"
    )
    assert why("d", *of_class, calibrated("d", product=1.2e12)) is None


def test_another_power_cap_is_another_class_and_counts_for_nothing_in_ours():
    capped = replace(KIND, gpu_power_limit_w=350)
    other = calibrated("b", 2.0, kind=capped)
    assert why("b", calibrated("a"), other) == "is of another class: gpu power limit w 350 instead of 700"
    assert why("a", calibrated("a"), other, calibrated("c", 2.0, kind=capped)) is None


def test_the_class_of_a_gpu_is_named_by_what_makes_its_times():
    assert KIND.name() == "h200-141gib-700w"
    assert replace(KIND, gpu=None).name() == "epyc-8-cores"


class TestAdmitting:
    """A host is calibrated when it comes, once a day, and again when it may have been mended."""

    @pytest.fixture
    def times(self, monkeypatch):
        """Calibrations that are made; the last number is how slow the host is then."""
        made, slowness = [], [1.0]

        def calibration_of(fleet, settings):
            made.append(settings.machine)
            return calibrated("x", slowness[-1]).calibration

        monkeypatch.setattr(calibration_module, "calibration_of", calibration_of)
        return made, slowness

    def admit(self, made, name="a", kind=KIND):
        admit(made.folder, made.fleet, Host(name=name, node=name, kind=kind), Settings(), say=lambda _: None)

    def test_a_host_is_calibrated_once(self, made_fleet, times):
        fleet = made_fleet()
        self.admit(fleet)
        self.admit(fleet)
        assert len(times[0]) == 1
        self.admit(fleet, "b")
        assert len(times[0]) == 2

    def test_a_slow_host_is_refused_by_name_with_the_figures_and_the_folder_knows(self, made_fleet, times):
        fleet = made_fleet()
        self.admit(fleet)
        times[1].append(1.5)
        with pytest.raises(UnfitHost, match=r"host slow: 50 % slower than the class's median over 20 points"):
            self.admit(fleet, "slow")
        assert list(unfit_hosts(fleet.folder, tolerance=0.02)) == ["slow"]
        assert unfit_hosts(fleet.folder, tolerance=0.6) == {}

    @pytest.mark.usefixtures("times")
    def test_a_mended_host_is_calibrated_again_after_ten_minutes(self, made_fleet):
        fleet = made_fleet()
        self.admit(fleet)
        before = (datetime.now(UTC) - timedelta(minutes=11)).isoformat()
        write_value(host_path(fleet.folder, "slow"), calibrated("slow", 1.5, at=before))
        self.admit(fleet, "slow")
        assert unfit_hosts(fleet.folder, tolerance=0.02) == {}

    def test_an_old_calibration_is_made_again(self, made_fleet, times):
        fleet = made_fleet()
        before = (datetime.now(UTC) - timedelta(hours=25)).isoformat()
        write_value(host_path(fleet.folder, "a"), calibrated("a", at=before))
        self.admit(fleet)
        assert len(times[0]) == 1

    def test_a_host_with_another_gpu_than_before_is_calibrated_again(self, made_fleet, times):
        fleet = made_fleet()
        self.admit(fleet)
        with pytest.raises(UnfitHost, match="another class: gpu memory gib 80 instead of 141"):
            self.admit(fleet, kind=replace(KIND, gpu_memory_gib=80))
        assert len(times[0]) == 2


@pytest.mark.parametrize("device", DeviceKind)
def test_twenty_points_are_timed(device):
    assert len(set(shapes_of_calibration(device))) == 20
