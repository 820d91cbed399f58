"""Files broken in every way we could think of: each goes in or is set aside with a reason, nothing else moves."""

from __future__ import annotations

import json
import random

import pytest
import sqlalchemy as sa

from results.schema import Quarantine, Run, Value

N_EACH = 1050  # of result files and of journals, on each database
HUGE = ["1e999", "-1e999", "9" * 400, "1" + "0" * 25, "1e-400", "NaN", "Infinity", "-Infinity"]
STRANGE = [
    "null", "true", "{}", "[]", '""', '"x"', "-1", "0.5", '"\\u0000"', '"\\ud800"', "[[[]]]", '{"a": null}', "1e400",
]  # fmt: skip


def truncated(chance, content):
    return content[: chance.randrange(len(content))]


def with_a_byte_changed(chance, content):
    at = chance.randrange(len(content))
    return content[:at] + bytes([chance.randrange(256)]) + content[at + 1 :]


def with_a_piece_removed(chance, content):
    at = chance.randrange(len(content))
    return content[:at] + content[at + chance.randrange(1, 40) :]


def with_a_piece_repeated(chance, content):
    at = chance.randrange(len(content))
    return content[:at] + content[at : at + chance.randrange(1, 80)] * 2 + content[at:]


def with_bad_utf8(chance, content):
    at = chance.randrange(len(content))
    return content[:at] + chance.choice([b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\x00"]) + content[at:]


def nested_deeply(chance, content):
    at = content.find(b"[") if b"[" in content else 0
    depth = chance.choice([10, 2_000, 200_000])
    return content[:at] + b"[" * depth + b"]" * depth + content[at:]


def with_a_value_replaced(chance, content):
    """Replace one value somewhere in the tree by something strange, keeping the JSON whole."""
    lines = content.split(b"\n")
    number = chance.choice([i for i, line in enumerate(lines) if line.strip()])
    mark = "@@strange@@"
    tree = json.loads(lines[number])
    spots = []

    def walk(node):
        keys = node if isinstance(node, dict) else range(len(node))
        for key in keys:
            spots.append((node, key))
            if isinstance(node[key], dict | list):
                walk(node[key])

    walk(tree)
    node, key = chance.choice(spots)
    node[key] = mark
    written = json.dumps(tree).replace(f'"{mark}"', chance.choice(STRANGE + HUGE))
    lines[number] = written.encode()
    return b"\n".join(lines)


def with_a_key_removed(chance, content):
    lines = content.split(b"\n")
    tree = json.loads(lines[0])
    spots = [tree, *(node for node in tree.values() if isinstance(node, dict) and node)]
    node = chance.choice(spots)
    node.pop(chance.choice(list(node)))
    lines[0] = json.dumps(tree).encode()
    return b"\n".join(lines)


MUTATIONS = [
    truncated,
    with_a_byte_changed,
    with_a_piece_removed,
    with_a_piece_repeated,
    with_bad_utf8,
    nested_deeply,
    with_a_value_replaced,
    with_a_value_replaced,
    with_a_value_replaced,
    with_a_key_removed,
]


def rows_of(store, run_ids):
    with store.reading() as connection:
        query = sa.select(Value.__table__).where(Value.run_id.in_(run_ids)).order_by(Value.run_id, Value.series_id)
        return connection.execute(query).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["result file", "journal"])
def test_a_broken_file_is_ingested_or_set_aside_and_moves_nothing_else(
    opened, tmp_path, journals, write_asv_run, timed, kind
):
    suite = {
        "s.time_it": timed(1e-3, samples=[[1e-3, 1.1e-3]]),
        "s.track_grid": {"result": [1.0, None, 3.0, 4], "params": [["1", "2"], ["'a'", "None"]], "version": "g"},
    }
    good = write_asv_run(tmp_path / "good", suite, commit="a" * 40)
    sweep = journals.Sweep(
        commit="b" * 40, operations=("mlp",), providers=("eager",), batches=(1,), hiddens=(256,), n_samples=3
    )
    (journal,) = journals.write_journals(tmp_path / "good", [sweep])
    opened.ingest([tmp_path / "good"], project="good")
    with opened.reading() as connection:
        good_runs = list(connection.execute(sa.select(Run.id)).scalars())
    before = rows_of(opened, good_runs)

    # The broken ones speak of a run of their own, so that whatever they change is theirs.
    if kind == "journal":
        content = journal.read_bytes().replace(b"b" * 40, b"d" * 40).replace(b'"run_id": "', b'"run_id": "x')
    else:
        content = good.read_bytes().replace(b"a" * 40, b"d" * 40)
    chance = random.Random(kind)
    folder = tmp_path / "broken" / "laptop"
    folder.mkdir(parents=True)
    (folder / "machine.json").write_text('{"machine": "laptop"}')
    suffix = ".jsonl" if kind == "journal" else ".json"
    for number in range(N_EACH):
        mutation = MUTATIONS[number % len(MUTATIONS)]
        (folder / f"{number}{suffix}").write_bytes(mutation(chance, content))
    report = opened.ingest([tmp_path / "broken"], project="broken")

    n_read = report.n_files - len(report.problems)
    assert report.n_files == N_EACH + 1
    assert 0 < n_read < report.n_files
    with opened.reading() as connection:
        reasons = list(connection.execute(sa.select(Quarantine.reason)).scalars())
    assert len(reasons) == len(report.problems)
    assert all(reasons)
    assert not [reason for reason in reasons if "Traceback" in reason or "Error(" in reason]
    assert rows_of(opened, good_runs) == before
