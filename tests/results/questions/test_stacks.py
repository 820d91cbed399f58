from __future__ import annotations

import json

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from results.database.schema import Benchmark, Profile, Series, Source, Value
from results.files.records import JOURNAL_RECORDS_VERSION
from results.files.stacks import is_folded, stacks_as_bytes, stacks_from_bytes

frames = st.text(st.characters(codec="utf-8", exclude_characters=";\n\0"), min_size=1).filter(lambda t: t.strip())
STACKS = ["forward;aten::linear;aten::addmm 1500", "forward;aten::gelu 20"]


@pytest.fixture
def journal(tmp_path, journals):
    """Write a journal of two points whose lines hold what the arguments say besides; the path."""

    def write(*, profile=None, timing=None):
        sweep = journals.Sweep(operations=("mlp",), providers=("eager", "compiled"), batches=(1,), hiddens=(256,))
        others = {"profile": profile or {}, "timing": timing or {}}
        path = tmp_path / "journal" / "x.jsonl"
        path.parent.mkdir(exist_ok=True)
        lines = [json.dumps(line | others[line["kind"]]) for line in journals.lines_of(sweep)]
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


@given(stacks=st.lists(st.tuples(st.lists(frames, min_size=1, max_size=5), st.integers(0, 10**15)), max_size=20))
def test_folded_stacks_come_back_as_they_were(stacks):
    folded = [f"{';'.join(names)} {time_ns}" for names, time_ns in stacks]
    assert all(is_folded(text) for text in folded)
    found = stacks_from_bytes(stacks_as_bytes(folded))
    assert [(list(stack.frames), round(stack.time_s * 1e9)) for stack in found] == [
        (names, time_ns) for names, time_ns in stacks
    ]


@pytest.mark.parametrize("text", ["forward", "forward -1", "forward 1.5", "two\nlines 3", " 3", "a;b "])
def test_what_is_no_folded_stack_is_told(text):
    assert not is_folded(text)


def test_a_profiles_stacks_trace_and_expectations_are_kept(opened, journal):
    expected = {"expected_operator_count": 2, "expected_kernel_launches": None, "unexpected": "3 operators, not 2"}
    opened.ingest([journal(profile={"stacks": STACKS, "trace": "run/mlp.json.gz", **expected})])
    with opened.reading() as connection:
        rows = connection.execute(sa.select(Profile.__table__)).all()
    assert len(rows) == 2
    for row in rows:
        assert [stack.frames for stack in stacks_from_bytes(row.stacks)] == [
            ("forward", "aten::linear", "aten::addmm"), ("forward", "aten::gelu"),
        ]  # fmt: skip
        assert (row.trace, row.unexpected) == ("run/mlp.json.gz", "3 operators, not 2")
        assert (row.expected_operator_count, row.expected_kernel_launches) == (2, None)


def test_profiles_without_stacks_have_none(opened, journal):
    opened.ingest([journal()])
    with opened.reading() as connection:
        assert set(connection.execute(sa.select(Profile.stacks, Profile.trace)).all()) == {(None, None)}


@pytest.mark.parametrize(
    ("profile", "reason"),
    [
        ({"stacks": ["forward;mlp"]}, "a stack is 'forward;mlp'"),
        ({"stacks": [7]}, "Expected `str`, got `int` - at `stacks[0]`"),
        ({"trace": "../../secret"}, "not the name of a file under traces/"),
        ({"trace": "/etc/passwd"}, "not the name of a file under traces/"),
    ],
)
def test_a_stack_or_trace_that_is_none_is_named_by_its_line(opened, journal, profile, reason):
    (problem,) = opened.ingest([journal(profile=profile)]).problems
    assert "line 3" in problem
    assert reason in problem


def cold_compile_times(store):
    with store.reading() as connection:
        query = sa.select(Value.median).join(Series, Series.id == Value.series_id).join(Benchmark)
        return list(connection.execute(query.where(Benchmark.metric == "compile_time_cold_s")).scalars())


def test_the_compile_time_of_a_cold_cache_is_a_metric_of_its_own(opened, journal):
    opened.ingest([journal(timing={"compile_time_cold_s": 30.0})])
    assert cold_compile_times(opened) == [30.0, 30.0]


def test_a_store_filled_before_a_key_was_read_reads_its_journals_again(opened, journal):
    path = journal(timing={"compile_time_cold_s": 30.0})
    opened.ingest([path])
    with opened.engine.begin() as connection:
        signature = connection.execute(sa.select(Source.signature)).scalar()
        connection.execute(sa.delete(Value))
        connection.execute(
            sa.update(Source).values(
                signature=signature.replace(f"{JOURNAL_RECORDS_VERSION}:", "1:", 1), content_hash="older"
            )
        )
    opened.ingest([path])
    assert cold_compile_times(opened) == [30.0, 30.0]
