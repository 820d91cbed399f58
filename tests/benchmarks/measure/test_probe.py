"""What the machine's parts take at best, by a probe on a clock that the test turns."""

from benchmarks.ruler.measure.probe import usual_best_s
from benchmarks.ruler.record.part_speed import Part


def test_the_best_that_a_look_finds_is_what_a_fifth_of_its_readings_reach():
    turned, takes = [0.0], iter([9.0, *range(1, 11)] * 3)

    class Turned:
        def times_s(self):
            turned[0] += 0.05
            return {Part.CORE: next(takes)}

    assert usual_best_s(Turned(), now=lambda: turned[0]) == {Part.CORE: 3}
