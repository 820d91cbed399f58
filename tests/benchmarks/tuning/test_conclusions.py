"""The tuned table says what was found, and nothing else changes in it."""

from benchmarks.ruler.tuning.cells import Cell, Measured, Question
from benchmarks.ruler.tuning.command import tune, write_table
from benchmarks.ruler.tuning.conclusions import merged, policies_from, policy_value, ways_from, winner
from fused_mlp.tuned import Entry, Policy, Way, entries_from_json, json_from_entries
from fused_mlp.vocabulary import Implementation, NumberFormat, Operation, Weights
from tests.benchmarks.tuning.cases import CELLS, CIRCUMSTANCES, MLP


def timed(name, seconds, *, width=0.01, implementation="epilogue", **rest):
    return Measured(
        name=name,
        implementation=implementation,
        seconds=seconds,
        low_s=seconds * (1 - width),
        high_s=seconds * (1 + width),
        **rest,
    )


def test_the_default_stays_unless_another_is_clearly_faster():
    assert winner([timed("default", 1.015), timed("other", 1.0)]).name == "default"
    assert winner([timed("default", 1.05, width=0.05), timed("other", 1.0)]).name == "default"
    assert winner([timed("default", 1.05), timed("other", 1.0)]).name == "other"


def test_without_a_right_result_there_is_no_winner():
    assert winner([Measured(name="a", reason="wrong at …")]) is None
    assert ways_from([(CELLS[0], [Measured(name="a", implementation="single", reason="wrong at …")])]) == {}


def test_of_values_that_are_as_good_the_one_nearest_to_the_general_value_is_taken():
    measured = [Measured(name=str(v), value=v, seconds=s) for v, s in ((48, 1.009), (24, 1.0), (12, 1.005), (96, 1.5))]
    assert policy_value(measured, Question.ROW_SPLIT_ROWS) == 48
    assert policy_value(measured[1:], Question.ROW_SPLIT_ROWS) == 24


def test_a_number_is_found_with_the_numbers_that_stood_while_it_was_asked():
    cell = Cell(
        question=Question.ROW_SPLIT_ROWS,
        weights=Weights.PACKED,
        shapes=((1, 2, 3),),
        others=Policy(serial_flop=7),
        **MLP,
    )
    found = policies_from([(cell, [Measured(name="96", value=96, seconds=1.0)])])
    assert found == {(Operation.MLP, NumberFormat.FLOAT32): Policy(serial_flop=7, row_split_rows=96)}


def test_ways_hold_the_fastest_and_the_tiles_by_which_another_beats_its_own_rule():
    measured = [
        timed("single by its rule", 1.0, implementation="single"),
        timed("epilogue by its rule", 2.0),
        timed("epilogue wide", 1.5, tiles={"n_warps": 8}),
        timed("pointwise by its rule", 3.0, implementation="pointwise"),
    ]
    (ways,) = ways_from([(CELLS[0], measured)]).values()
    shape = {"rows": 2, "dim": 8, "hidden": 16}
    assert ways == (
        Way(**shape, implementation=Implementation.SINGLE),
        Way(**shape, implementation=Implementation.EPILOGUE, tiles={"n_warps": 8}, is_fastest=False),
    )


def test_where_cublaslt_is_fastest_the_fastest_with_every_activation_stands_behind_it():
    measured = [
        timed("single by its rule", 2.0, implementation="single"),
        timed("epilogue wide", 1.5, tiles={"n_warps": 8}),
        timed("cublaslt by its rule", 1.0, implementation="cublaslt"),
    ]
    (ways,) = ways_from([(CELLS[0], measured)]).values()
    shape = {"rows": 2, "dim": 8, "hidden": 16}
    assert ways == (
        Way(**shape, implementation=Implementation.CUBLASLT),
        Way(**shape, implementation=Implementation.EPILOGUE, tiles={"n_warps": 8}),
    )


def test_what_was_found_replaces_what_the_table_knew_of_the_same_shapes_only():
    def entry(answers, known=None):
        return merged(known, CIRCUMSTANCES, answers)

    old = entry([(cell, [timed("a", 1.0, implementation="pointwise")]) for cell in CELLS])
    new = entry([(CELLS[1], [timed("b", 1.0, implementation="single")])], old)
    (ways,) = new.ways.values()
    assert [(way.rows, str(way.implementation)) for way in ways] == [(2, "pointwise"), (3, "single")]


def test_the_table_is_written_with_other_devices_untouched(machine, candidate, compete, tmp_path):
    compete(candidate("slow", 2e-3), candidate("fast", 1e-3, tiles={"n_warps": 4}))
    other = Entry(device="another", n_threads=1, torch="2", triton=None)
    table = tmp_path / "tuned.json"
    table.write_text(json_from_entries([other]))
    write_table(table, tune(CELLS, machine, path=tmp_path / "tuning.jsonl", say=lambda _: None), machine)
    written = entries_from_json(table.read_text())
    assert written["another"] == other
    (ways,) = written["a device"].ways.values()
    assert [(way.rows, dict(way.tiles)) for way in ways] == [(2, {"n_warps": 4}), (3, {"n_warps": 4})]
