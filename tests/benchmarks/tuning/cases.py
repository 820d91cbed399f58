"""Cells, and answers about them, that the tests of tuning share."""

from benchmarks.ruler.tuning.cells import Cell, Question, TuningConditions
from fused_mlp.vocabulary import NumberFormat, Operation, Weights

CIRCUMSTANCES = TuningConditions(device="a device", n_threads=2, torch="2", triton=None, source="s")
MLP = {"operation": Operation.MLP, "number_format": NumberFormat.FLOAT32}


def way_cell(*shape, weights=Weights.PLAIN):
    return Cell(question=Question.WAY, weights=weights, shapes=(shape,), **MLP)


CELLS = (way_cell(2, 8, 16), way_cell(3, 8, 16))


def by_name(answer):
    return {one.name: one for one in answer.measured}


def raise_(error):
    def raised(_):
        raise error

    return raised


class CalmWatch:
    def start(self):
        pass

    def disturbance(self, _):
        return None

    def forget(self):
        pass

    def forget_all(self):
        pass

    def forget_disturbed(self):
        pass
