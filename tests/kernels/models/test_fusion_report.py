"""fuse()'s report, its choice of blocks, and the way back."""

import pytest
import torch
from torch import nn

import fused_mlp
from fused_mlp import InvalidArgument, fuse, unfuse
from tests.kernels.models.blocks import (
    Branching,
    GptStyle,
    LlamaStyle,
    OptStyle,
    Stack,
    expect_close,
)

pytestmark = pytest.mark.usefixtures("cpu_kernels")


def test_the_report_is_a_value_and_a_table():
    model = Stack(LlamaStyle(), Branching(), OptStyle())
    report = fuse(model, mode="inference")
    heads, *lines, packed = str(report).splitlines()
    assert heads.split() == ["path", "block", "computed", "as", "layers;", "activation,", "or", "reason"]
    assert [line.split()[0] for line in lines] == ["blocks.0", "blocks.2", "blocks.1"]
    assert "gate_proj, up_proj, down_proj; silu" in lines[0]
    assert "kept" in lines[2]
    assert "cannot be traced" in lines[2]
    assert packed.startswith("2 packed: ")
    assert [item.path for item in report.packed] == ["blocks.0", "blocks.2"]
    assert str(fuse(nn.Tanh())) == "no block with linear layers was found, or none was chosen"


def test_layers_of_one_block_are_told_in_the_order_of_its_code():
    layers = [module for _ in range(5) for module in (nn.Linear(12, 12), nn.ReLU())]
    report = fuse(nn.Sequential(*layers))
    assert [item.layers for item in report.replaced] == [("0",), ("2", "4"), ("6", "8")]


def test_long_reasons_are_folded_below_their_column():
    model = nn.ModuleDict({"language_model": nn.ModuleDict({"text_decoder": Stack(LlamaStyle(), Branching())})})
    model["language_model"]["text_decoder"].blocks[0].act_fn = nn.Softplus()
    heads, *lines = str(fuse(model)).splitlines()
    assert len(lines) > 2
    assert max(map(len, lines)) <= 120
    start = heads.index("layers; activation")
    assert {line[:start].strip().split(" ")[0] for line in lines} == {
        "",
        "language_model.text_decoder.blocks.0",
        "language_model.text_decoder.blocks.1",
    }
    assert "(Softplus)" in " ".join(line[start:] for line in lines)


def test_a_block_of_which_all_is_computed_is_not_kept_as_well():
    report = fuse(nn.Sequential(nn.Sequential(nn.Linear(12, 12), nn.ReLU()), nn.Tanh()))
    assert [(item.path, item.operation) for item in report.replaced] == [("0", "linear")]
    assert report.kept == (), str(report)


def test_fusing_twice_changes_nothing_more():
    model = Stack(LlamaStyle(), OptStyle())
    fuse(model)
    again = fuse(model)
    assert again.replaced == ()
    assert [item.path for item in again.kept] == ["blocks.0", "blocks.1"]
    assert all("it is fused already" in item.reason for item in again.kept)
    x = torch.randn(3, 12)
    fused = model(x)
    expect_close(fused, unfuse(model)(x))


@pytest.mark.parametrize(
    ("chosen", "paths"),
    [
        ({"include": ["blocks.0"]}, ["blocks.0"]),
        ({"include": ["blocks.*"], "exclude": ["*.1"]}, ["blocks.0", "blocks.2"]),
        ({"include": [GptStyle]}, ["blocks.2"]),
        ({"exclude": [LlamaStyle]}, ["blocks.2"]),
        ({"include": "blocks.1"}, ["blocks.1"]),
    ],
    ids=str,
)
def test_only_blocks_that_are_chosen_are_fused(chosen, paths):
    report = fuse(Stack(LlamaStyle(), LlamaStyle(), GptStyle()), **chosen)
    assert [item.path for item in report.replaced] == paths
    assert report.kept == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"include": ["layers.*"]}, r"include is 'layers\.\*', which matches no module"),
        ({"exclude": [nn.Conv2d]}, "exclude is .*Conv2d.*, which matches no module"),
        ({"mode": "serving"}, "mode is 'serving'; expected one of training, inference"),
    ],
    ids=str,
)
def test_a_wrong_argument_is_named_and_nothing_is_fused(given, message):
    model = Stack(LlamaStyle())
    with pytest.raises(InvalidArgument, match=message):
        fuse(model, **given)
    assert type(model.blocks[0]) is LlamaStyle


def test_an_exception_leaves_the_model_as_it_was(monkeypatch):
    model = Stack(LlamaStyle(), GptStyle())

    def fail(*_, **__):
        raise MemoryError

    monkeypatch.setattr("fused_mlp.models.fusion._pack_blocks", fail)
    with pytest.raises(MemoryError):
        fuse(model, mode="inference")
    assert [type(block) for block in model.blocks] == [LlamaStyle, GptStyle]


def test_a_model_is_fused_for_the_length_of_a_block_of_code():
    model, x = Stack(LlamaStyle(), GptStyle()), torch.randn(3, 12)
    before = model(x)
    fuse(model.blocks[1])
    with pytest.raises(KeyError), fused_mlp.fused(model, mode="inference") as report:  # noqa: PT012 - the block of code
        assert [item.path for item in report.replaced] == ["blocks.0"]
        expect_close(model(x), before)
        raise KeyError
    assert type(model.blocks[0]) is LlamaStyle
    assert type(model.blocks[1]) is not GptStyle


def test_a_class_changed_by_another_library_is_not_undone_behind_its_back():
    model = Stack(LlamaStyle(), GptStyle())
    fuse(model)
    model.blocks[1].__class__ = type("Sharded", (type(model.blocks[1]),), {})
    with pytest.raises(InvalidArgument, match="given the class Sharded by something else"):
        unfuse(model)
    assert type(model.blocks[0]) is not LlamaStyle


def test_preparing_a_model_packs_every_fused_block_and_module():
    model = Stack(LlamaStyle(), fused_mlp.FusedMLP(12, 20)).eval()
    fuse(model)
    report = fused_mlp.prepare(model, implementation="cpp")
    assert [(item.path, item.report.implementation) for item in report.packed] == [
        ("blocks.0", "cpp"),
        ("blocks.1", "cpp"),
    ]
    assert str(report).splitlines()[1].split()[:2] == ["blocks.0", "cpp"]
    with pytest.raises(InvalidArgument, match="implementation is 'single'"):
        fused_mlp.prepare(model, implementation="single")


def test_layers_chosen_without_their_block_are_told_which_block_to_choose():
    model = nn.Sequential(nn.Sequential(nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, 12)), nn.Linear(12, 3))
    report = fuse(model, include=["0.0", "1"])
    assert not report.replaced
    assert [(item.path, item.reason) for item in report.kept] == [
        ("0.0", "a layer; blocks are chosen, and the one that holds it is '0'"),
        ("1", "a layer; blocks are chosen, and the one that holds it is the model itself, ''"),
    ]
    with_blocks = fuse(model, include=["0", nn.Linear])
    assert [item.path for item in with_blocks.replaced] == ["0"]
    assert [item.path for item in with_blocks.kept] == ["1"], str(with_blocks)
