"""`fusebench explain`: causes planted in journals, ingested as ever, are explained by name; silence elsewhere."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from results.commands.judging.changes import changes
from results.commands.judging.explain import explain
from results.commands.judging.gate import gate
from results.exit_codes import ExitCode
from results.output.reports.comments import escaped

A, B = "a" * 40, "b" * 40
SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "findings.schema.json").read_text(encoding="utf-8"))
GEMM = "nvjet_sm90_tst_{}_64x4_2x1_v_bz_TNT"


def of_fused_mlp(change):
    """Apply a change to the lines of mlp's fused alone."""

    def changed(line):
        is_meant = (line["point"]["operation"], line["point"]["provider"]) == ("mlp", "fused")
        return change(line) if is_meant else line

    return changed


def ran(line, *names):
    """Let a profile line have run these operators, a microsecond each."""
    if line["kind"] != "profile":
        return line
    rows = [
        {"name": name, "count": names.count(name), "self_time_s": 1e-6, "total_time_s": 1e-6, "is_compute": True}
        for name in dict.fromkeys(names)
    ]
    stacks = [f"host;forward;{name} {1000 * names.count(name)}" for name in dict.fromkeys(names)]
    return line | {
        "operators": rows,
        "operator_count": len(names),
        "stacks": stacks,
        "operator_time_s": 1e-6 * len(names),
    }


def launched(line, tile, time_s):
    if line["kind"] != "profile":
        return line | {"device_time_s": time_s}
    name = GEMM.format(tile)
    kernels = [{"name": name, "count": 2, "device_time_s": time_s}]
    stacks = [f"device;forward;aten::linear;{name} {round(time_s * 1e9)}"]
    return line | {"kernels": kernels, "stacks": stacks, "device_time_s": time_s, "kernel_launches": 2}


def larger(line):
    return line | {"peak_memory_bytes": 2 * line["peak_memory_bytes"]} if line["kind"] == "profile" else line


def lost_fusion(line):
    return ran(line, "aten::addmm", "aten::gelu", "aten::addmm")


def under(line, **conditions):
    return line | {"conditions": line["conditions"] | conditions}


newer, throttled = partial(under, torch="2.14.0"), partial(under, cpu_mhz=2000.0)
FUSED = of_fused_mlp(lambda line: ran(line, "fused_mlp::mlp"))


def test_a_lost_fusion_within_the_noise_fails_the_gate_and_is_explained(compared):
    run = compared(of_fused_mlp(lost_fusion), also=FUSED)
    assert run(command=gate).return_value == ExitCode.REGRESSION
    text = run().stdout
    assert "mlp operator_count [pass=forward, provider=fused, weights=plain]: × 3  (code · all 4 points)" in text
    assert "Lost fusion: `fused_mlp::mlp` became `aten::addmm` ×2 and `aten::gelu`." in text
    assert "stack: torch 2.13.0, python 3.11.9 at both" in text
    assert f"fusebench ab {A[:12]} {B[:12]} --axes point.toml --provider fused" in text


def test_every_finding_has_its_command_beyond_the_first_tables_too(compared):
    run = compared(lambda line: larger(lost_fusion(line)), also=FUSED)
    findings = json.loads(run("--format", "json").stdout)["findings"]
    assert len({one["benchmark"] for one in findings}) > 1
    assert (text := run().stdout).count("    Again: ") == len(findings) > 3
    assert "other calls: --all" in text
    assert "bench-01" not in text, "one machine needs no name"
    comment = run("--format", "markdown").stdout
    commands = list(dict.fromkeys(one["explanation"]["command"] for one in findings))
    assert [text.count(f"    Again: {one}\n") for one in commands] == [1] * len(commands), "each is written once"
    assert text.count("    Again: as for ") == len(findings) - len(commands) > 0
    assert f"Again: {escaped(commands[0])} (of " in comment
    assert all(one in comment for one in (*map(escaped, commands), f"### Again ({len(commands) - 1})"))


def test_the_comment_of_the_gate_says_why(compared):
    run = compared(of_fused_mlp(lost_fusion), also=FUSED)
    assert "ost fusion: \\`fused" in run("--format", "markdown", command=gate).stdout


@pytest.mark.parametrize("command", [gate, changes])
def test_json_of_other_commands_has_the_sentence_and_the_class(compared, command):
    # An operator that only the version of torch can explain: eager's.
    run = compared(
        lambda line: newer(ran(line, "aten::mm", "aten::mul") if line["point"]["provider"] == "eager" else line),
        also=lambda line: line if line["point"]["provider"] != "eager" else ran(line, "aten::mm"),
    )
    document = json.loads(run("--format", "json", command=command).stdout)
    found = [one for one in document["findings"] if one["metric"] == "operator_count"]
    assert {one["class"] for one in found} == {"stack"}
    assert {one["explanation"] for one in found} == {
        "Torch 2.13.0 → 2.14.0 between the two; `aten::mul` runs in addition."
    }


def test_the_history_says_why(compared):
    run = compared(of_fused_mlp(lost_fusion), also=FUSED)
    assert "ost fusion" in run("--format", "markdown", command=changes).stdout


def test_a_kernel_with_another_tile_is_explained_on_a_gpu(compared):
    run = compared(
        of_fused_mlp(lambda line: launched(line, "64x64", 9e-5)),
        also=of_fused_mlp(lambda line: launched(line, "128x128", 6e-5)),
        device="cuda",
        slowdowns={("mlp", "fused"): 1.5},
    )
    assert "tile 128x128x64 → 64x64x64" in run().stdout


@pytest.mark.parametrize(("provider", "class_"), [("compiled", "stack"), ("fused", "class unknown")])
def test_another_version_of_torch_is_named_and_is_the_class_of_what_is_not_ours(compared, provider, class_):
    text = compared(newer, slowdowns={("mlp", provider): 1.5})().stdout
    assert f"({class_} · all 4 points" in text
    assert "Torch 2.13.0 → 2.14.0 between the two" in text


@pytest.mark.parametrize("command", [gate, changes])
def test_no_command_classes_as_code_what_another_version_may_have_changed_as_well(compared, command):
    run = compared(lambda line: newer(of_fused_mlp(lost_fusion)(line)), also=FUSED)
    (found,) = json.loads(run("--format", "json", command=command).stdout)["findings"]
    assert (found["metric"], found["class"]) == ("operator_count", None)
    assert "so code and stack are not told apart; lost fusion" in found["explanation"]


def test_a_slower_machine_is_one_finding_about_everything(compared):
    slowdowns = {
        (operation, provider): 1.3
        for operation in ("linear", "mlp", "gated_mlp")
        for provider in ("eager", "compiled", "fused")
    }

    run = compared(throttled, slowdowns=slowdowns)
    assert run(command=gate).return_value == ExitCode.NOTHING_COMPARABLE
    text = run().stdout
    assert "everything: +30.0 %  (machine" in text
    assert "the machine (cpu_mhz 2600 → 2000)" in text


def test_where_everything_moved_and_there_is_no_eager_that_is_one_finding(compared):
    providers = ("compiled", "fused")
    slowdowns = {(operation, each): 1.3 for operation in ("linear", "mlp", "gated_mlp") for each in providers}
    uncontrolled = {"also": lambda line: None if line["point"]["provider"] == "eager" else line}
    text = compared(throttled, **uncontrolled, slowdowns=slowdowns)().stdout
    assert "1 finding" in text
    assert "everything: +30.0 %  (machine" in text
    assert "More than half of 24 series of latency_s moved together: the machine, or all code" in text
    assert "(cpu_mhz 2600 → 2000)" in text


def test_a_sleep_on_the_host_is_told_as_time_outside_operators(compared):
    def slept(line):
        return line | {"overhead_s": line["overhead_s"] + 1e-3} if line["kind"] == "profile" else timed(line, 1e-3)

    text = compared(of_fused_mlp(slept), also=with_one_stack)().stdout
    assert "he host spends more time outside operators, in Python" in text


def timed(line, more_s):
    """Let every call take so much longer."""
    keys = ("latency_s", "latency_ci_low_s", "latency_ci_high_s")
    visits = [visit | {"median_s": visit["median_s"] + more_s} for visit in line["visits"]]
    samples = [sample + more_s for sample in line["samples_s"]]
    return line | {key: line[key] + more_s for key in keys} | {"visits": visits, "samples_s": samples}


def with_one_stack(line):
    """Give a profile line the stacks of its operators, as the ruler does."""
    if line["kind"] != "profile":
        return line
    time_ns = round(line["operator_time_s"] * 1e9)
    return line | {"stacks": [f"host;forward;aten::addmm {time_ns}"]}


def test_a_recompilation_at_every_call_is_named(compared):
    def recompiled(line):
        return line | {"compilations": 1} if line["kind"] == "profile" else timed(line, 5e-2)

    def quiet(line):
        return line | {"compilations": 0} if line["kind"] == "profile" else line

    assert "torch.compile compiles in every call" in compared(of_fused_mlp(recompiled), also=quiet)().stdout


def test_a_larger_allocation_is_named_with_what_allocates_it(compared):
    def larger(line):
        if line["kind"] != "profile":
            return line
        empty = {"name": "aten::empty", "count": 1, "self_time_s": 1e-7, "is_compute": False, "allocated_bytes": 5e6}
        return line | {"peak_memory_bytes": 5e6, "operators": [*line["operators"], empty]}

    assert "by `aten::empty`, which allocates 5 MB more a call" in compared(of_fused_mlp(larger))().stdout


def test_without_a_profile_at_the_base_a_slowdown_is_not_explained(compared):
    def unprofiled(line):
        return None if line["kind"] == "profile" and line["run"]["commit"] == A else line

    text = compared(also=of_fused_mlp(unprofiled), slowdowns={("mlp", "fused"): 1.5})().stdout
    assert "1 of them not explained" in text
    assert "Not explained: nothing is known of its inside: no profile is stored at the base." in text


def test_equal_commits_have_nothing_to_explain(compared):
    told = " ".join(compared()().stdout.split())
    assert re.fullmatch(f"{A[:8]} → {B[:8]}: 0 findings in [1-9][0-9]* series", told)


def test_what_is_undecided_is_no_finding_and_named_with_the_command_that_lists_it(compared):
    def wild(line):
        visits = [one | {"median_s": one["median_s"] * 1.4**i} for i, one in enumerate(line.get("visits", ()))]
        return line | ({"visits": visits} if visits else {})

    run = compared(of_fused_mlp(wild))
    told = run().stdout
    [(count, command)] = re.findall(r"0 findings in \d+ series; (\d+) undecided, which `(fusebench [^`]*)` lists", told)
    assert command == f"fusebench gate --base {A[:8]} --head {B[:8]}"
    assert f"{count} undecided" in run(command=gate).stdout


def test_a_point_without_finding_is_shown_when_it_is_asked_for(compared):
    text = compared()("--where", "operation=mlp", "--where", "batch=1", "--where", "provider=fused").stdout
    assert "no finding, so no change is certain; 2 points" in text
    assert "Where the time goes" in text


def test_json_is_what_the_schema_says(compared):
    document = json.loads(compared(of_fused_mlp(lost_fusion), also=FUSED)("--format", "json").stdout)
    jsonschema.validate(document, SCHEMA)
    jsonschema.validate(document, {"$defs": SCHEMA["$defs"], "$ref": "#/$defs/explain"})
    (found,) = document["findings"]
    assert found["class"] == "code"
    assert found["explanation"]["sentence"].startswith("Lost fusion")
    assert found["explanation"]["scope"] == {"changed": 4, "points": 4, "along": None}
    parts = found["explanation"]["parts"]
    assert sum(part["head_s"] - part["base_s"] for part in parts) == pytest.approx(0, abs=1e-9)


def test_a_count_of_a_history_is_not_classed_as_code_where_git_has_equal_kernels(compared, monkeypatch):
    run = compared(of_fused_mlp(larger))
    for is_equal, class_ in ((False, "code"), (True, None)):
        monkeypatch.setattr("results.explanations.have_equal_kernels", lambda *_, is_equal=is_equal: is_equal)
        (found,) = json.loads(run("--format", "json", command=changes).stdout)["findings"]
        assert (found["metric"], found["class"]) == ("peak_memory_bytes", class_)


def test_markdown_folds_the_tables(compared):
    text = compared(of_fused_mlp(lost_fusion), also=FUSED)("--format", "markdown").stdout
    assert "### Why (1)" in text
    assert text.index("ost fusion") < text.index("<details>")


def test_one_commit_against_itself_is_refused(compared):
    run = compared()
    with pytest.raises(Exception, match="are both aaaaaaaa; name two commits"):
        CliRunner().invoke(explain, [A, A[:8], "--db", "explain.db"], standalone_mode=False, catch_exceptions=False)
    assert run("--where", "operation=mlp").return_value == ExitCode.FINE


def test_how_a_point_failed_is_said_once(compared):
    text = compared(states={("mlp", "fused"): "crashed"})().stdout
    assert text.lower().count("crashed: fused is crashed in this test") == 1
