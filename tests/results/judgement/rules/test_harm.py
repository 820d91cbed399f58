"""How far flagged visits lie from undisturbed ones, from journals."""

from __future__ import annotations

import json

from real_aa.harm import kind_of, rows_of, shifts, visits_by_point

from results.units import THIN_SPACE

SLOW = "the machine ran at 84 % of its best (one core's arithmetic)"


def line(visits, *, run="a", state="ok"):
    return json.dumps({"state": state, "point": {"batch": 1}, "run": {"run_id": run}, "visits": visits})


def visit(i, speedup, latency, disturbed=None):
    return {
        "measured_at": str(i), "speedup_vs_eager": speedup, "median_s": latency, "disturbed": disturbed,
        "machine_speed": 0.84 if disturbed else 1.0,
    }  # fmt: skip


def test_shifts_are_against_the_undisturbed_median_and_a_visit_counts_once_as_it_was_judged_last():
    calm = [visit(i, 2.0, 1e-3) for i in range(6)]
    slow = [visit(i, 2.02, 1.2e-3, SLOW) for i in (6, 7)]
    stolen = [visit(8, 1.0, 2e-3, "12 % of the time was stolen by the hypervisor")]
    lines = [line([*calm, visit(6, 2.02, 1.2e-3)]), line([*calm, *slow, *stolen]), line(calm, state="wrong")]
    rows = {row[0]: row[1:] for row in rows_of(shifts(visits_by_point(lines)))}
    assert rows["undisturbed"][0] == "6"
    (kind,) = (kind for kind in rows if kind.startswith("slow, at 80"))
    n, speedup, _, beyond, *ends, latency, _, far, _, _ = (cell.replace(THIN_SPACE, "") for cell in rows[kind])
    assert (n, speedup, beyond, latency, far) == ("2", "1.00%", "0.00%", "18.23%", "100.00%")
    assert ends == ["1.01 ×", "1.01 ×"]
    assert rows["disturbed otherwise"][0] == "1"


def test_points_of_few_undisturbed_visits_say_nothing():
    assert shifts(visits_by_point([line([visit(i, 2.0, 1e-3) for i in range(5)])])) == {}


def test_time_lost_to_others_and_a_slow_machine_are_told_by_tenths_of_the_worst_cause():
    waited = "other processes used 1.0 cores while this was measured, which waited for a processor {} % of the time"
    told = [SLOW, f"{SLOW}; the machine ran at 39 %", f"{SLOW}; {waited.format(52)}", waited.format(9), "throttled"]
    kinds = [kind_of(visit(0, 2.0, 1e-3, each)).replace(THIN_SPACE, "") for each in told]
    assert kinds == [
        "slow, at 80% to 90% of its best", "slow, at 30% to 40% of its best", "lost 50% to 60% of the time to others",
        "lost 0% to 10% of the time to others", "disturbed otherwise",
    ]  # fmt: skip
