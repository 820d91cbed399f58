"""asv's own commands on the recorded points."""

import json
import re

import pytest

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
    assert all(ratio == pytest.approx(1 / 1.5, abs=0.011) for ratio in ratios.values())

    shown, _ = place.output_of("show", head, "--machine", "testbox", "--details")
    for operation in ("linear.Linear", "mlp.Mlp", "gated_mlp.GatedMlp"):
        assert f"{operation}.time_forward" in shown
    rows = re.findall(r"(eager|fused)\s+(1|8)\s+16\s+hidden/4\s+float32\s+gelu\s+warm\s+(\S+)", shown)
    times = [value for _, _, value in rows if value.endswith("s")]
    assert len(times) == 4
