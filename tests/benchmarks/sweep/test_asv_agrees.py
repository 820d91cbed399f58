"""asv's own commands on the recorded points."""

import json
import re
import sys
from dataclasses import replace

import pytest
from asv.results import Results

from benchmarks.ruler.plan.axes import groups
from benchmarks.ruler.plan.axes_files import axes_from_toml
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import Settings
from benchmarks.ruler.record.journal import append, journal_path
from benchmarks.ruler.record.outcome import Visit
from benchmarks.ruler.record.provenance import RULER_VERSION, commit_from_git, environment_name

AXES = """
batches = [1, 8]
hiddens = [16]
providers = ["eager", "fused"]
budget_s = 0.05
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_asv_compares_and_shows_what_was_recorded(asv_place):
    place = asv_place(AXES)
    assert place.run().wait() == 0
    (path,) = (place.folder / "data" / "journal" / "testbox").glob("*.jsonl")
    head, slow = place.head, place.before
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    medians = {}
    for line in lines:
        line["run"]["commit"] = slow
        if line["kind"] == "timing" and line["point"]["operation"] == "mlp":
            medians[line["point"]["provider"], line["point"]["batch"]] = line["latency_s"]
            for key in ("latency_s", "latency_ci_low_s", "latency_ci_high_s"):
                line[key] *= 1.5
            line["samples_s"] = [1.5 * sample for sample in line["samples_s"]]
    slowed = path.with_name(path.name.replace(head[:8], slow[:8]))
    slowed.write_text("".join(json.dumps(line) + "\n" for line in lines))
    recorded = slowed.read_bytes()
    assert place.run(commit=slow).wait() == 0
    assert slowed.read_bytes() == recorded, "what is recorded is replayed, not measured again"

    compared, _ = place.output_of("compare", slow, head, "--machine", "testbox", "--sort", "ratio")
    ratios = {
        (provider, int(batch)): float(ratio)
        for ratio, provider, batch in re.findall(
            r"\|\s*~?([0-9.]+)\s*\|\s*mlp\.Mlp\.time_forward\('(\w+)', (\d+),.*'float32'", compared
        )
    }
    assert set(ratios) == set(medians)
    assert "n/a" not in compared, "dtypes, passes and counts that a CPU does not have are not offered"
    assert all(ratio == pytest.approx(1 / 1.5, abs=0.011) for ratio in ratios.values())

    shown, _ = place.output_of("show", head, "--machine", "testbox", "--details")
    for operation in ("linear.Linear", "mlp.Mlp", "gated_mlp.GatedMlp"):
        assert f"{operation}.time_forward" in shown
    rows = re.findall(r"(eager|fused)\s+(1|8)\s+16\s+hidden/4\s+float32\s+gelu\s+warm\s+(\S+)", shown)
    times = [value for _, _, value in rows if value.endswith("s")]
    assert len(times) == 4


BENCHMARK = "mlp.Mlp.time_forward"
VISIT = Visit(measured_at="2026-01-02T03:04:05.678+00:00", n_samples=1, median_s=1e-5)
VISITS = tuple(
    replace(VISIT, n_samples=n, measured_at=f"2026-01-02T03:04:0{n_done}.678+00:00")
    for n_done, n in enumerate((2, 2, 1), 5)
)


@pytest.fixture
def recorded_place(asv_place, timing_line, profile_line):
    """A place where the run of HEAD has recorded everything of mlp, so that asv has nothing to measure."""
    place = asv_place(AXES)
    head = commit_from_git(place.head)
    run = replace(
        timing_line.head.run,
        commit=head.hash,
        commit_date=head.date,
        commit_subject=head.subject,
        machine="testbox",
        environment=environment_name(DeviceKind.CPU, Settings(threads=1)),
        ruler_version=RULER_VERSION,
    )
    axes = axes_from_toml(place.folder / "axes.toml")
    for number, group in enumerate(groups(axes, operation="mlp", device=DeviceKind.CPU)):
        for contender in group.contenders:
            at = replace(timing_line.head, run=run, shape=group.shape, contender=contender, threads=1)
            samples_s = tuple((number + each) * 1e-6 for each in (1.0, 2.0, 3.0, 4.0, 50.0))
            outcome = replace(timing_line.outcome, samples_s=samples_s, visits=VISITS)
            lines = (replace(timing_line, head=at, outcome=outcome), replace(profile_line, head=at))
            append(journal_path(place.folder / "data", run), lines)
    return place


def kept_by_asv(place):
    """What asv has kept of the benchmark: its value and its samples by combination of parameters."""
    (path,) = (path for path in (place.folder / "asv" / "testbox").glob("*.json") if path.name != "machine.json")
    results = Results.load(str(path))
    params = results.get_result_params(BENCHMARK)
    return results.get_result_value(BENCHMARK, params), results.get_result_samples(BENCHMARK, params)


@pytest.mark.slow
def test_asv_counts_a_recording_once_whatever_it_is_asked_and_says_what_it_replays(recorded_place):
    place, only = recorded_place, ("--bench", BENCHMARK, "--show-stderr")
    before = place.journal()
    assert place.run(*only, "--record-samples").wait() == 0
    values, samples = kept_by_asv(place)
    assert [len(one) for one in samples] == [5] * 4

    assert place.run(*only, "--record-samples", "-a", "rounds=4").wait() == 0
    said = (place.folder / "asv-output.txt").read_text()
    assert said.count("mlp: replayed from run 0123456789ab of 2026-01-02 03:04 UTC") == 1
    assert kept_by_asv(place) == (values, samples)

    assert place.run(*only, "--append-samples").wait() == 0
    appended = kept_by_asv(place)
    assert appended[0] == values
    assert [len(one) for one in appended[1]] == [6] * 4
    assert place.journal() == before, "nothing was measured"


@pytest.mark.slow
def test_asvs_own_profile_command_shows_the_providers_calls(recorded_place):
    place = recorded_place
    said, code = place.output_of("profile", BENCHMARK + r"\('fused', 8.*", "-E", f"existing:{sys.executable}")
    assert code == 0, said
    assert "real calls, profiled" in said
    assert re.search(r"\s\d+\s.*packable.py:\d+\(forward\)", said), said
