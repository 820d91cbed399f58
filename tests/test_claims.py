"""docs/claims.md and docs/article.md: every command can be typed, and a check says what the profile says."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path

import article_page
import claims
import pytest
from claimed import asv_claims, profile_claims

import fusebench
from benchmarks.ruler.article import command as article
from benchmarks.ruler.plan.article_axes import ARTICLE_AXES
from benchmarks.ruler.sweep import run

ROOT = Path(__file__).parent.parent
PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("claims", "article")}
TABLE = PAGES["claims"].partition(claims.BEGIN)[2].partition(claims.END)[0]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in TABLE.splitlines() if line.startswith("|")][
    2:
]
TYPED = sorted(
    {row[1].strip("`") for row in ROWS}
    | set(re.findall(r"`(?:\.venv/bin/)?((?:fusebench|python|make) [^`]+)`", "".join(PAGES.values())))
    | {line.partition("#")[0].strip() for line in PAGES["article"].splitlines() if line.startswith("fusebench ")}
)
MEASURING = {"run": run.main, "article": article.main}


@pytest.mark.parametrize("command", TYPED)
def test_every_command_can_be_typed(command):
    program, *words = shlex.split(command)
    if program == "make":
        assert f"\n{words[0]}:" in (ROOT / "Makefile").read_text()
    elif program == "python" and words[0] == "-m":
        assert importlib.util.find_spec(words[1])
    elif program == "python":
        assert (ROOT / words[0]).is_file()
        assert set(words[1:]) <= {claim.name for claim in (*claims.CLAIMS, *claims.GPU_CLAIMS)} | {"NAME"}
    else:
        name, *options = words
        assert name in fusebench.COMMANDS
        if name in MEASURING:
            MEASURING[name].make_context(name, options)


def test_the_table_has_every_claim_with_its_command_and_a_verdict():
    found = [(text, command.strip("`")) for text, command, *_ in ROWS]
    assert found == [(claim.text, claim.command) for claim in claims.CLAIMS]
    verdicts = {"**confirmed**", "**refuted**", "**undecided**"}
    assert {row[2] for row in ROWS} <= verdicts
    assert all(row[3] for row in ROWS)


def test_what_the_page_says_of_a_gpu_is_what_the_published_files_show():
    made = {claim.text: claims.row_of(claim, claim.check()) for claim in claims.GPU_CLAIMS}
    on_page = claims.rows_on(PAGES["claims"])
    assert {text: on_page.get(text) for text in made} == made


def test_some_rows_are_made_anew_and_the_others_stay():
    one, other, *_ = claims.CLAIMS
    empty, row = f"before\n{claims.BEGIN}\n{claims.END}\nafter\n", claims.row_of(one, ("confirmed", "x"))
    page = claims.with_rows(empty, {one.text: row})
    assert claims.rows_on(page) == {one.text: [one.text, f"`{one.command}`", "**confirmed**", "x"]}
    more = claims.with_rows(page, {**claims.rows_on(page), other.text: claims.row_of(other, ("refuted", "a, b"))})
    assert [row[3] for row in claims.rows_on(more).values()] == ["x", "a, b"]
    assert (more[:7], more[-6:]) == ("before\n", "after\n")
    assert claims.with_rows(PAGES["claims"], claims.rows_on(PAGES["claims"])) == PAGES["claims"]


def test_the_article_shows_every_case_and_its_picture():
    (device,) = (device for device in ARTICLE_AXES if device == "cpu")
    parts = ARTICLE_AXES[device].parts()
    text = PAGES["article"].partition(article_page.BEGIN)[2].partition(article_page.END)[0]
    for number, part in enumerate(parts, start=1):
        assert f"{part.batches[0]:,} rows, {part.dims[0]:,} → {part.hiddens[0]:,}, float32" in text
        assert f"](article-{number}.png)" in text
        assert (ROOT / "docs" / f"article-{number}.png").stat().st_size < 100_000


def test_remaking_the_page_leaves_what_a_person_wrote():
    page = f"before\n{article_page.BEGIN}\nold\n{article_page.END}\nafter\n"
    made = article_page.with_output(page, "new output\n", [Path("docs/article-1.png")], ["One case"])
    assert made.startswith(f"before\n{article_page.BEGIN}\n\n![One case](article-1.png)\n\n```\nnew output\n```")
    assert made.endswith(f"{article_page.END}\nafter\n")
    assert article_page.with_output(made, "new output\n", [Path("docs/article-1.png")], ["One case"]) == made


def contender(steps, *, bookkeeping=None, host_s=10e-6, speedup=None, **others):
    listed = [
        {"name": name, "count": count, "share": 1 / len(steps), "within": within}
        for name, (count, within) in steps.items()
    ]
    return {
        "steps": listed, "bookkeeping_s": bookkeeping or {}, "host_time_s": host_s, "speedup_vs_eager": speedup,
        "latency_s": 1e-5, "is_profile_disturbed": False,
        "compile_time_cold_s": None, "recompile_time_s": None, **others,
    }  # fmt: skip


def test_the_parts_of_a_bar_sum_to_its_length_and_the_bias_is_apart():
    guards = {"TorchDynamo Cache Lookup": 3e-6, "aten::t": 1e-6}
    parts = article_page.parts_of(
        contender({"aten::addmm": (1, {"aten::copy_": 0.25})}, bookkeeping=guards, speedup=0.5)
    )
    assert sum(parts.values()) == pytest.approx(2)
    assert parts[article_page.BIAS] == pytest.approx(2 * 0.6 * 0.25)
    assert parts[article_page.PRODUCTS] == pytest.approx(2 * 0.6 * 0.75)
    assert parts[article_page.GUARDS] == pytest.approx(2 * 0.3)
    assert parts[article_page.REST] == pytest.approx(2 * 0.1)


def test_a_bar_whose_shares_are_not_known_has_no_parts():
    known = contender({"aten::mm": (3, {}), "aten::mul": (1, {})}, speedup=0.5)
    for step in known["steps"]:
        step["share"] = None
    parts = article_page.parts_of(known)
    assert parts[article_page.UNKNOWN] == sum(parts.values()) == 2


@pytest.fixture
def of_linear(monkeypatch):
    """The verdicts on a Linear layer's claims, by what its contenders' profiles hold."""

    def answer(eager, compiled):
        cases = [{"by": {"eager": eager, "compiled": compiled}}]
        monkeypatch.setattr(profile_claims, "_article", lambda: cases)
        checks = (profile_claims.one_product, profile_claims.bias_in_epilogue, profile_claims.nothing_to_fuse)
        return [check()[0] for check in checks]

    return answer


def test_a_check_confirms_or_refutes_by_what_the_profile_holds(of_linear):
    copying, bare = {"aten::addmm": (1, {"aten::copy_": 0.4})}, {"aten::addmm": (1, {})}
    with_t = {"aten::t": 1e-6}
    confirmed, refuted = profile_claims.CONFIRMED, profile_claims.REFUTED
    assert of_linear(contender(copying, bookkeeping=with_t), contender(copying)) == [confirmed, refuted, confirmed]
    assert of_linear(contender(bare, bookkeeping=with_t), contender(bare, bookkeeping=with_t)) == [
        confirmed, confirmed, refuted,
    ]  # fmt: skip
    two = {**bare, "aten::add": (1, {})}
    assert of_linear(contender(two, bookkeeping=with_t), contender(bare)) == [refuted, confirmed, refuted]


@pytest.mark.parametrize(
    ("few", "many", "verdict"),
    [((2.0, 1.9, 2.1), (1.5, 1.4, 1.6), "confirmed"), ((1.5, 1.4, 1.6), (2.0, 1.9, 2.1), "refuted"),
     ((2.0, 1.4, 2.6), (1.5, 1.4, 1.6), "undecided")],
)  # fmt: skip
def test_gains_are_compared_by_intervals(monkeypatch, few, many, verdict):
    names = ("speedup_vs_eager", "speedup_ci_low", "speedup_ci_high")
    points = {
        (operation, hidden, batch, "fused"): dict(zip(names, values, strict=True))
        for operation in ("mlp", "gated_mlp")
        for hidden in (256, 1024)
        for batch, values in ((16, few), (256, many))
    }
    monkeypatch.setattr(profile_claims, "_sweep", lambda: points)
    assert profile_claims.gains_by_batch()[0] == verdict


@pytest.mark.slow
@pytest.mark.parametrize("name", [claim.name for claim in claims.CLAIMS if claim.name.startswith("asv-")])
def test_asv_does_what_the_table_says(name):
    (claim,) = (claim for claim in claims.CLAIMS if claim.name == name)
    (said,) = (row[2].strip("*") for row in ROWS if row[0] == claim.text)
    verdict, evidence = claim.check()
    assert verdict == said, evidence
    assert asv_claims.LIMIT_S < 600
