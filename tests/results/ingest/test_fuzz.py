"""Files broken in every way we could think of: each goes in or is set aside with a reason, nothing else moves.

Through the real command. The seed is printed; FUSEBENCH_FUZZ_SEED=number tries another, `random` one that is new.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from results.database.schema import Base, Quarantine, Source
from results.store import open_store

ROOT = Path(__file__).parents[3]
# Of each kind, on each database; a tenth of it but in the exhaustive run.
N_OF_KIND = {"result file": 1320, "journal": 1320, "benchmarks.json": 120, "machine.json": 120, "ceilings": 120}
HUGE = ["1e999", "-1e999", "9" * 400, "9" * 5000, "1" + "0" * 25, "1e-400", "NaN", "Infinity", "-Infinity", "1e308"]
STRANGE = [
    "null", "true", "{}", "[]", '""', '"x"', "-1", "0.5", '"\\u0000"', '"\\ud800"', "[[[]]]", '{"a": null}', "1e400",
    "[null]", '"9999-12-31T23:59:59+00:00"', '"0001-01-01T00:00:00-23:00"', "253402300800000", "-62135596800001",
    '"' + "long " * 2000 + '"',
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


def with_a_key_twice(chance, content):
    """JSON allows it; readers differ in which of the two they take."""
    lines = content.split(b"\n")
    tree = json.loads(lines[0])
    key = chance.choice(list(tree))
    again = json.dumps({key: chance.choice([None, 1, "x", [], tree[key]])})
    lines[0] = json.dumps(tree)[:-1].encode() + b", " + again[1:].encode()
    return b"\n".join(lines)


def with_a_list_of_another_length(chance, content):
    lines = content.split(b"\n")
    number = chance.choice([i for i, line in enumerate(lines) if line.strip()])
    tree = json.loads(lines[number])
    found = []

    def walk(node):
        if isinstance(node, list):
            found.append(node)
        for child in node.values() if isinstance(node, dict) else node:
            if isinstance(child, dict | list):
                walk(child)

    walk(tree)
    if found:
        spot = chance.choice(found)
        spot[:] = chance.choice([[], spot[:1], spot + spot, spot[:-1], [list(spot)], spot * 50, [None] * len(spot)])
    lines[number] = json.dumps(tree).encode()
    return b"\n".join(lines)


def with_nul_bytes(chance, content):
    at = chance.randrange(len(content))
    return content[:at] + b"\0" * chance.choice([1, 100]) + content[at + chance.choice([0, 1]) :]


def of_another_kind(chance, content):
    return chance.choice([b"", b"\n", b"null", b"[]", b"{}", b"{}\n{}\n", b"\xef\xbb\xbf" + content, content[::-1],
                          content.decode().encode("utf-16"), b"PK\x03\x04", b"version https://git-lfs"])  # fmt: skip


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
    with_a_value_replaced,
    with_a_key_removed,
    with_a_key_twice,
    with_a_list_of_another_length,
    with_a_list_of_another_length,
    with_nul_bytes,
    of_another_kind,
]


@pytest.fixture
def good(tmp_path, journals, write_asv_run, timed):
    """A tree that is whole: one file of each kind, by kind."""
    suite = {
        "s.time_it": timed(1e-3, samples=[[1e-3, 1.1e-3]]),
        "s.track_grid": {"result": [1.0, None, 3.0, 4], "params": [["1", "2"], ["'a'", "None"]], "version": "g"},
    }
    tree = tmp_path / "good"
    result = write_asv_run(tree, suite, commit="a" * 40)
    described = {"s.time_it": {"type": "time", "unit": "seconds", "param_names": [], "version": "v1"}, "version": 2}
    (tree / "benchmarks.json").write_text(json.dumps(described))
    sweep = journals.Sweep(
        commit="b" * 40, operations=("mlp",), providers=("eager",), batches=(1,), hiddens=(256,), n_samples=3
    )
    (journal,) = journals.write_journals(tree, [sweep])
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    lines[-1] |= {"stacks": ["a;b 100", "a;c 50"], "trace": "t.json.gz"}
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    ceilings = tree / "machines" / "bench-01.json"
    ceilings.parent.mkdir()
    measured = {"measured_at": "2026-01-01T00:00:00+00:00", "copy_bytes_per_s": 1e10, "dispatch_s": 1e-6}
    content = {"format": 1, "machine": "bench-01", "environments": {"py3.11-cpu-t2": measured}}
    ceilings.write_text(json.dumps(content))
    return {
        "result file": result, "journal": journal, "benchmarks.json": tree / "benchmarks.json",
        "machine.json": result.with_name("machine.json"), "ceilings": ceilings,
    }  # fmt: skip


def content_to_break(good, kind):
    """The file's content, made to speak of a run, machine or project of its own: what it changes is then its own."""
    content = good[kind].read_bytes()
    if kind == "journal":
        return content.replace(b"b" * 40, b"d" * 40).replace(b'"run_id": "', b'"run_id": "broken-')
    if kind == "result file":
        return content.replace(b"a" * 40, b"d" * 40).replace(b'"laptop"', b'"broken"')
    return content.replace(b"laptop", b"broken").replace(b"bench-01", b"broken")


def write_broken(folder, kind, number, content):
    """Where a file of this kind is looked for: each in a tree of its own, where it needs one."""
    match kind:
        case "result file":
            path = folder / "broken" / f"{number}.json"
        case "journal":
            path = folder / "journal" / f"{number}.jsonl"
        case "benchmarks.json":
            path = folder / str(number) / "benchmarks.json"
            (path.parent / "broken").mkdir(parents=True, exist_ok=True)
            (path.parent / "broken" / "machine.json").write_text('{"machine": "broken"}')
        case "machine.json":
            path = folder / str(number) / "broken" / "machine.json"
        case _:
            path = folder / "machines" / f"{number}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path.resolve()


def ingest(folder, database, *options):
    command = [sys.executable, str(ROOT / "fusebench.py"), "ingest", str(folder), "--db", database, *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def rows_of(database):
    """Every row there is, but for what is remembered of files and what was judged: values that are new change that."""
    with open_store(database) as store, store.reading() as connection:
        return {
            table.name: {repr(tuple(row)) for row in connection.execute(sa.select(table))}
            for table in Base.metadata.sorted_tables
            if table.name not in {"source", "quarantine", "judged_series", "judged_place"}
        }


def kept(database):
    """The paths that went in, and those set aside with their reasons."""
    with open_store(database) as store, store.reading() as connection:
        read = set(connection.execute(sa.select(Source.path)).scalars())
        aside = {row.path: row.reason for row in connection.execute(sa.select(Quarantine.path, Quarantine.reason))}
    return read, aside


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, pytest.param(1, marks=pytest.mark.exhaustive)], ids=["tenth", "all"])
@pytest.mark.parametrize("kind", N_OF_KIND)
def test_a_broken_file_is_ingested_or_set_aside_and_moves_nothing_else(database, tmp_path, good, kind, share):
    seed = os.environ.get("FUSEBENCH_FUZZ_SEED", "1")
    seed = str(random.SystemRandom().randrange(10**9)) if seed == "random" else seed
    print(f"FUSEBENCH_FUZZ_SEED={seed}")  # noqa: T201 - pytest shows it where the test fails
    chance = random.Random(f"{kind} {seed}")
    assert ingest(tmp_path / "good", database, "--project", "good").returncode == 0
    before = rows_of(database)

    content = content_to_break(good, kind)
    folder = tmp_path / "files"
    (folder / "broken").mkdir(parents=True)
    (folder / "broken" / "machine.json").write_text('{"machine": "broken"}')
    n_files = max(2 * len(MUTATIONS), int(share * N_OF_KIND[kind]))
    broken = [
        write_broken(folder, kind, number, MUTATIONS[number % len(MUTATIONS)](chance, content))
        for number in range(n_files)
    ]
    answer = ingest(folder, database, "--project", "broken")

    said = answer.stdout + answer.stderr
    assert answer.returncode == 2, said[-2000:]
    assert "Traceback" not in said
    read, aside = kept(database)
    lost = {str(path) for path in broken} - read - set(aside)
    assert not lost, f"neither ingested nor set aside: {sorted(lost)[:3]}"
    assert len(read & {str(path) for path in broken}) > n_files // 20
    assert len(aside) > n_files // 20
    assert not [reason for reason in aside.values() if not reason.strip() or "Error(" in reason or "\n" in reason]
    assert all(f"not read: {path}: " in answer.stderr for path in aside)
    after = rows_of(database)
    moved = {name: rows - after[name] for name, rows in before.items()}
    assert not any(moved.values()), {name: list(rows)[:2] for name, rows in moved.items() if rows}

    again = ingest(folder, database, "--project", "broken")
    assert again.returncode == 2
    assert re.match(r"0 values stored", again.stdout), again.stdout
    assert kept(database) == (read, aside)
