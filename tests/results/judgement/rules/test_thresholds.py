"""[tool.fusebench] in pyproject.toml: which change is relevant, by pattern; and what is no setting is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import assume, given
from hypothesis import strategies as st

from fusebench import cli
from results.errors import InvalidSettings
from results.exit_codes import ExitCode
from results.files.settings import Settings, Threshold, settings_from_bytes, settings_from_file, settings_of
from results.judgement.outcomes import Change, Outcome
from results.judgement.thresholds import _specificity, limits_of
from results.judgement.verdicts import exit_code, judge
from tests.made_values import A, B, row

CALM = [1.0, 1.002, 0.998]


def parsed(text):
    return settings_from_bytes(text.encode(), path="pyproject.toml")


def limit(thresholds, *, provider="fused", **others):
    parameters = ({"provider": provider} if provider else {}) | others
    return limits_of(thresholds, row(1.0, parameters=parameters), least_change=0.05).least_change


def test_a_byte_order_mark_is_no_part_of_the_text():
    written = "[tool.fusebench]\nleast_change = 0.04\n".encode("utf-8-sig")
    assert settings_from_bytes(written, path="pyproject.toml").least_change == 0.04


EXAMPLE = """
[tool.fusebench]
least_change = 0.04

[[tool.fusebench.threshold]]
provider = "compiled*"
least_change = 0.10

[[tool.fusebench.threshold]]
benchmark = "mlp"
metric = "peak_memory_bytes"
tolerance = 0.2
"""


def test_settings_are_read():
    found = parsed(EXAMPLE)
    assert found.least_change == 0.04
    assert found.thresholds == (
        Threshold(provider="compiled*", least_change=0.10, place=1),
        Threshold(benchmark="mlp", metric="peak_memory_bytes", tolerance=0.2, place=2),
    )
    assert parsed("[project]\nname = 'x'\n") == Settings(path="pyproject.toml")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[tool.fusebench]\nleast_chnage = 0.1", "`least_chnage` is no key here; there are least_change, threshold"),
        ("[[tool.fusebench.threshold]]\nbench = 'x'\nleast_change = 0.1", "threshold 1: `bench` is no key here"),
        ("[[tool.fusebench.threshold]]\nbenchmark = 'x'", "threshold 1: none of `least_change`"),
        ("[tool.fusebench]\nleast_change = 5.0e9", "`least_change` is 5e+09, not between 0 and 1: 0.05 is 5 %"),
        ("[tool.fusebench]\nleast_change = -0.1", "not between 0 and 1"),
        ("[tool.fusebench]\nleast_change = true", "`least_change` is True, not a number"),
        ("[tool.fusebench]\nleast_change = nan", "not a finite number"),
        ("[tool.fusebench]\nleast_change = '5%'", "`least_change` is '5%', not a number"),
        ("[[tool.fusebench.threshold]]\nbenchmark = ''\nleast_change = 0.1", "`benchmark` is '', not a pattern"),
        ("[[tool.fusebench.threshold]]\nbetter = 'up'", "`better` is 'up', neither 'lower' nor 'higher'"),
        ("[tool.fusebench]\nthreshold = 3", "`threshold` is 3, not a list"),
        ("[tool.fusebench]\nthreshold = [3]", "threshold 1: 3 is no table"),
        ("[tool]\nfusebench = 3", "it is 3, not a table"),
        ("tool = 'fusebench'", "`tool` is 'fusebench', not a table; write [tool.fusebench]"),
        ("[[tool]]\nfusebench = { least_change = 0.1 }", "not a table; write [tool.fusebench]"),
        ("tool = false", "`tool` is False, not a table"),
        ("[tool.fusebench", "not TOML"),
    ],
)
def test_what_is_no_setting_is_refused_by_file_and_key(text, named):
    with pytest.raises(InvalidSettings) as found:
        parsed(text)
    assert found.value.message.startswith("pyproject.toml: ")
    assert named in found.value.message
    assert found.value.exit_code == ExitCode.WRONG_USAGE


def test_the_nearest_project_above_counts(tmp_path):
    inner = tmp_path / "project" / "folder"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("[tool.fusebench]\nleast_change = 0.5")
    (tmp_path / "project" / "pyproject.toml").write_text("[tool.fusebench]\nleast_change = 0.2")
    assert settings_of(inner).least_change == 0.2
    assert settings_of(tmp_path).least_change == 0.5


def test_a_link_that_leads_nowhere_and_a_folder_that_may_not_be_searched_are_told(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").symlink_to(tmp_path / "gone")
    with pytest.raises(InvalidSettings, match=r"pyproject.toml: cannot be read \(No such file"):
        settings_of(tmp_path)

    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(InvalidSettings, match=r"looked for \(Permission denied\); name a file with --settings"):
        settings_of(tmp_path)


def test_what_is_no_regular_file_is_wrong_usage_and_no_failure_that_was_found():
    with pytest.raises(InvalidSettings, match="/dev/null: is a device") as found:
        settings_from_file(Path("/dev/null"))
    assert found.value.exit_code == ExitCode.WRONG_USAGE


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([{}], 1),
        ([{"benchmark": "mlp"}, {"benchmark": "m*"}], 1),  # without wildcards before with
        ([{"benchmark": "m*"}, {"benchmark": "ml*"}], 2),  # more letters
        ([{"benchmark": "mlp", "provider": "fused"}, {"benchmark": "mlp"}], 1),
        ([{"benchmark": "mlp"}, {"benchmark": "m*", "provider": "f*", "metric": "latency*"}], 1),
        ([{"provider": "fused"}, {"benchmark": "mlp"}], 1),  # more letters
        ([{"benchmark": "mlp"}, {"benchmark": "mlp"}], 2),  # alike: the later
        ([{"benchmark": "linear"}, {"provider": "compiled"}], None),
        ([{"provider": "fused:packed"}], None),
        ([{"metric": "latency_[st]"}], 1),
        ([{"benchmark": "ML*"}], None),  # names have a case
        ([{"project": "fuse*"}, {"project": "scipy", "benchmark": "mlp"}], 1),
        ([{"benchmark": "m*"}, {"benchmark": "m*", "project": "fusebench"}], 2),
    ],
)
def test_the_most_specific_wins(patterns, expected):
    thresholds = [Threshold(**each, least_change=n / 10, place=n) for n, each in enumerate(patterns, start=1)]
    assert limit(thresholds) == (0.05 if expected is None else expected / 10)


def test_packed_weights_are_a_provider_of_their_own_and_a_foreign_benchmark_has_none():
    packed = [Threshold(provider="fused:packed", least_change=0.3)]
    assert (limit(packed, weights="packed"), limit(packed, weights="plain")) == (0.3, 0.05)
    assert limit([Threshold(provider="?*", least_change=0.3)], provider=None) == 0.05
    assert limit([Threshold(provider="*", least_change=0.3)], provider=None) == 0.3


pattern = st.sampled_from(["*", "m*", "mlp", "?l?", "fused", "f*", "latency_s", "l*"])


@given(st.lists(st.tuples(pattern, pattern, pattern), max_size=6), st.randoms())
def test_of_thresholds_that_are_not_alike_the_order_does_not_matter(patterns, random):
    found = [
        Threshold(benchmark=b, provider=p, metric=m, least_change=n / 100, place=1)
        for n, (b, p, m) in enumerate(dict.fromkeys(patterns), start=10)
    ]
    assume(len({_specificity(one) for one in found}) == len(found))
    shuffled = random.sample(found, len(found))
    assert limit(found) == limit(shuffled)


class TestJudged:
    """Limits of series among others."""

    def both(self, factor, **thresholds):
        base = [row(CALM), row(10_000, metric="peak_memory_bytes"), row(3, metric="operator_count")]
        head = [row([factor * one for one in CALM], commit=B), row(11_000, metric="peak_memory_bytes", commit=B)]
        head.append(row(3, metric="operator_count", commit=B))
        found = judge(base, head, base_commit=A, head_commit=B, thresholds=[Threshold(**thresholds)])
        return {verdict.metric.name: verdict for verdict in found.verdicts}, exit_code(found)

    def test_a_slowdown_below_its_limit_passes_and_one_above_does_not(self):
        for factor, outcome in ((1.15, Outcome.UNCHANGED), (1.25, Outcome.REGRESSION)):
            found, _ = self.both(factor, provider="fused", least_change=0.2)
            assert found["latency_s"].outcome is outcome

    def test_a_smaller_limit_finds_what_others_would_not(self):
        found, _ = self.both(1.03, benchmark="mlp", least_change=0.02)
        assert found["latency_s"].change is Change.SLOWER
        found, _ = self.both(1.03, benchmark="linear", least_change=0.02)
        assert found["latency_s"].outcome is Outcome.UNCHANGED

    def test_a_tolerance_is_of_exact_metrics_and_a_least_change_of_others(self):
        found, code = self.both(1.0, metric="*", least_change=0.5)
        assert found["peak_memory_bytes"].outcome is Outcome.REGRESSION
        found, code = self.both(1.0, metric="peak*", tolerance=0.2)
        assert found["peak_memory_bytes"].outcome is Outcome.UNCHANGED
        assert code is ExitCode.FINE


@pytest.fixture
def measured(tmp_path, monkeypatch, journals):
    """A store of twenty commits, the fused mlp 25 % slower from the fifteenth on; the command there."""
    from dataclasses import replace

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FUSEBENCH_DB", str(tmp_path / "x.db"))
    sweeps = journals.history(20, operations=("mlp",), n_visits=3, ruler_version="3")
    slow = {("mlp", "fused"): 1.25}
    journals.write_journals(
        tmp_path / "data", [replace(one, slowdowns=slow) if i >= 14 else one for i, one in enumerate(sweeps)]
    )

    def run(*arguments):
        return CliRunner().invoke(cli, [*arguments], standalone_mode=False)

    run("ingest", "data")
    run.ends = ("--base", sweeps[13].commit, "--head", sweeps[14].commit)
    run.project = tmp_path / "pyproject.toml"
    return run


def test_gate_and_changes_judge_by_the_projects_settings(measured):
    answer = measured("gate", *measured.ends)
    assert answer.return_value == ExitCode.REGRESSION, answer.output
    assert "1 finding in" in measured("changes").stdout
    measured.project.write_text("[[tool.fusebench.threshold]]\nprovider = 'fused'\nleast_change = 0.4\n")
    answer = measured("gate", *measured.ends)
    assert answer.return_value == ExitCode.FINE
    assert "4 series have a least change of their own" in answer.stdout
    assert "0 findings in" in measured("changes").stdout
    measured.project.write_text("[tool.fusebench]\nleast_change = 0.4\n")
    assert measured("gate", *measured.ends).return_value == ExitCode.FINE
    assert measured("gate", *measured.ends, "--least-change", "0.05").return_value == ExitCode.REGRESSION


def test_a_threshold_that_matches_nothing_is_told(measured):
    measured.project.write_text("[[tool.fusebench.threshold]]\nbenchmark = 'mpl'\nleast_change = 0.2\n")
    for arguments in (("gate", *measured.ends), ("changes",)):
        assert "threshold 1 (benchmark mpl) matches no series here" in measured(*arguments).stderr


def test_a_threshold_of_a_metric_that_nobody_judges_is_told(measured):
    measured.project.write_text("[[tool.fusebench.threshold]]\nmetric = 'speedup_vs_eager'\nleast_change = 0.2\n")
    for arguments in (("gate", *measured.ends), ("changes",)):
        assert "threshold 1 (metric speedup_vs_eager) matches no series here" in measured(*arguments).stderr


def test_a_threshold_of_times_is_not_misspelt_where_counts_alone_are_judged(measured):
    measured.project.write_text("[[tool.fusebench.threshold]]\nmetric = 'latency_s'\nleast_change = 0.2\n")
    assert "matches no series" not in measured("gate", *measured.ends, "--exact").stderr


def test_a_misspelt_key_ends_the_command_with_the_file_and_the_key(measured):
    measured.project.write_text("[tool.fusebench]\nleastchange = 0.2\n")
    answer = measured("gate", *measured.ends)
    assert answer.exception.exit_code == ExitCode.WRONG_USAGE
    assert str(measured.project) in answer.exception.message
    assert "`leastchange` is no key here" in answer.exception.message


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ("metric = 'latency_s'\ntolerance = 0.2", "`tolerance` is of exact metrics"),
        ("metric = 'peak*'\nleast_change = 0.2", "`least_change` is of noisy metrics"),
        ("provider = 'fused'\nbetter = 'higher'", "`better` is of metrics that tell no direction"),
        ("metric = '*'\ntolerance = 0.2\nleast_change = 0.2", None),
    ],
)
def test_a_limit_of_another_kind_than_all_that_it_matches_is_told(measured, limit, told):
    measured.project.write_text(f"[[tool.fusebench.threshold]]\n{limit}\n")
    for arguments in (("gate", *measured.ends), ("changes",)):
        found = measured(*arguments).stderr
        assert "It does nothing." not in found if told is None else told in found


def test_a_percentage_for_a_fraction_is_refused(measured):
    measured.project.write_text("[tool.fusebench]\nleast_change = 5\n")
    assert "`least_change` is 5, not between 0 and 1: 0.05 is 5 %" in measured("changes").exception.message
    measured.project.write_text("")
    assert "5.0 is not in the range 0<=x<=1" in measured("changes", "--least-change", "5").exception.message


def test_a_threshold_in_single_brackets_is_told_how_to_write_it(measured):
    measured.project.write_text("[tool.fusebench.threshold]\nleast_change = 0.2\n")
    assert "write [[tool.fusebench.threshold]], with two brackets" in measured("changes").exception.message
