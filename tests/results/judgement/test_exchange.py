"""Code or stack: what is exchanged while the other stays tells which moves a series."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from results.exit_codes import ExitCode
from results.judgement.exchange import Factor, exchange_exit_code, exchange_of, uncertain_of
from results.judgement.verdicts import judge
from results.output.reports.exchange import exchange_as_json, exchange_as_markdown, exchange_as_text
from tests.made_values import A, B, failed, row

ROUNDS = 8
BATCHES = (1, 16, 64, 256, 1024, 4096)
STACK = "torch==2.12"


def exchanged(*, code=1.0, stack=1.0, together=1.0, eager=1.0, noise=0.003, counts=(3, 3, 3, 3)):
    """Judge base and head on two stacks; factors by which `fused` gets slower, eager by that of the stack alone."""
    rng = np.random.default_rng(2)

    def cell(commit, *, is_other):
        rows = []
        own = (code if commit is B else 1) * (stack if is_other else 1) * (together if commit is B and is_other else 1)
        for provider, factor in (("fused", own), ("eager", eager if is_other else 1)):
            for batch in BATCHES:
                values = 1e-4 * batch * factor * np.exp(rng.normal(0, noise, ROUNDS))
                run = f"{commit[0]}-{is_other}"
                rows.append(row(values, commit=commit, provider=provider, batch=batch, run=run))
        count = counts[2 * is_other + (commit is B)]
        if count is None:
            rows[0] = failed(commit=commit, batch=BATCHES[0])
        else:
            rows.append(row(count, commit=commit, metric="operator_count", unit=""))
        return rows

    base, head, other_base, other_head = (cell(at, is_other=other) for other in (False, True) for at in (A, B))

    def judged(before, after, *, has_controls):
        options = {"base_commit": A, "head_commit": B, "is_paired": True, "least_change": 0.03}
        return judge(before, after, has_controls=has_controls, **options)

    return exchange_of(
        code=(judged(base, head, has_controls=True), judged(other_base, other_head, has_controls=True)),
        stack=(judged(base, other_base, has_controls=False), judged(head, other_head, has_controls=False)),
        whole=judged(base, other_head, has_controls=False),
    )


def factors(exchange, *, provider="fused", metric="latency_s"):
    return {
        one.factor
        for one in exchange.series
        if one.whole.head.metric == metric and one.whole.head.parameters[0].value == provider
    }


@pytest.mark.parametrize(
    ("planted", "expected"),
    [
        ({}, Factor.NEITHER),
        ({"code": 1.1}, Factor.CODE),
        ({"stack": 1.1}, Factor.STACK),
        ({"code": 1.1, "stack": 0.8}, Factor.BOTH),
        ({"together": 1.1}, Factor.TOGETHER),
        ({"noise": 0.2}, Factor.UNCERTAIN),
    ],
    ids=["nothing", "code", "stack", "both", "together", "noise"],
)
def test_a_planted_cause_is_named(planted, expected):
    assert factors(exchanged(**planted)) == {expected}


def test_eager_that_a_stack_moves_is_the_stacks_doing_and_hides_no_code():
    exchange = exchanged(code=1.1, stack=1.2, eager=1.2)
    assert factors(exchange, provider="eager") == {Factor.STACK}
    assert factors(exchange) == {Factor.BOTH}


@pytest.mark.parametrize(
    ("counts", "expected"),
    [((3, 4, 3, 4), Factor.CODE), ((3, 3, 5, 5), Factor.STACK), ((3, 3, 3, 4), Factor.TOGETHER)],
)
def test_counts_are_exchanged_exactly(counts, expected):
    assert factors(exchanged(counts=counts), metric="operator_count") == {expected}


def test_a_point_that_fails_on_the_other_stack_alone_is_the_stacks():
    exchange = exchanged(counts=(3, 3, None, None))
    broken = [one for one in exchange.series if one.whole.head.state == "crashed"]
    assert [one.factor for one in broken] == [Factor.STACK]
    assert exchange_exit_code(exchange) is ExitCode.FAILED


def test_what_is_slower_by_either_is_a_regression_and_nothing_is_none():
    assert exchange_exit_code(exchanged(stack=1.1)) is ExitCode.REGRESSION
    assert exchange_exit_code(exchanged()) is ExitCode.FINE
    empty = judge([], [], base_commit=A, head_commit=B)
    nothing = exchange_of(code=(empty, empty), stack=(empty, empty), whole=empty)
    assert exchange_exit_code(nothing) is ExitCode.NOTHING_COMPARABLE


def test_what_stays_uncertain_is_what_is_worth_more_rounds():
    assert uncertain_of(exchanged(code=1.1)) == []
    assert {one.head.metric for one in uncertain_of(exchanged(noise=0.2))} == {"latency_s"}


def test_text_and_markdown_name_the_factor_and_all_four_effects():
    exchange = exchanged(code=1.1)
    for said in (exchange_as_text(exchange, STACK), exchange_as_markdown(exchange, STACK)):
        assert "The code moves it, on either stack" in said
        assert f"present stack → {STACK}: 6 code" in said
        for name in ("code, present stack", "code, other stack", "stack, at base", "stack, at head", "whole"):
            assert name in said
    assert "5 more series are not listed" in exchange_as_text(exchange, STACK, limit=1)


def test_markdown_fits_a_comment_and_mentions_nobody():
    exchange = exchanged(code=1.1)
    [one, *_] = [each for each in exchange.series if each.factor is Factor.CODE]
    head = one.whole.head._replace(benchmark="@me `x` <b> [a](http://b)")
    many = (replace(one, whole=one.whole._replace(head=head)),) * 10_000
    text = exchange_as_markdown(replace(exchange, series=many), STACK)
    assert len(text.encode()) <= 65_536
    assert "have no room here" in text
    assert not any(mark in text for mark in ("@me", "<b>", " `x`", " [a]("))


def test_json_has_every_series_with_its_factor():
    found = json.loads(exchange_as_json(exchanged(code=1.1), STACK))
    assert found["stacks"] == ["present", STACK]
    assert found["counts"]["code"] == len(BATCHES)
    one = next(each for each in found["series"] if each["factor"] == "code")
    assert one["code_on_present"]["verdict"] == "slower"
    low, high = one["code_on_other"]["interval"]
    assert low < one["code_on_other"]["ratio"] < high
    assert one["stack_at_base"]["verdict"] == "same"


def test_eager_that_moved_between_the_commits_on_one_stack_passes_no_exchange():
    steady = exchanged()
    assert exchange_exit_code(steady) is ExitCode.FINE
    base, head = (
        [row([at] * 5, provider="eager", batch=b, commit=c) for b in range(8)] for at, c in ((1.0, A), (2.0, B))
    )
    moved = judge(base, head, base_commit=A, head_commit=B, is_paired=True)
    assert moved.is_control_moved
    assert not moved.n_perhaps_worse
    assert exchange_exit_code(replace(steady, code=(moved, steady.code[1]))) is ExitCode.NOTHING_COMPARABLE
