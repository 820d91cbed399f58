"""Options of `advise` become axes that the sweep reads, and a question that the store's half reads."""

from __future__ import annotations

import pytest
from click import BadParameter

from benchmarks.ruler.advice.command import asked, main
from benchmarks.ruler.advice.contenders import contenders_known, contenders_of
from benchmarks.ruler.advice.module_file import module_and_inputs
from benchmarks.ruler.errors import InvalidAxes, InvalidSettings
from benchmarks.ruler.plan.axes import groups
from benchmarks.ruler.plan.axes_files import axes_from_toml
from benchmarks.ruler.plan.points import DeviceKind, Operation, Pass
from benchmarks.ruler.plan.presets import PRESETS
from results.commands.measuring.advice import question_from

OPTIONS = main.make_context("advise", []).params


def measured(tmp_path, *, device=DeviceKind.CPU, **options):
    """Return the shapes that would be measured, the contenders' names, and the question."""
    batches = {} if options.get("module") else {"batch": "1,16"}
    text, question = asked({**OPTIONS, **batches, **options}, device=device)
    path = tmp_path / "advise.toml"
    path.write_text(text, encoding="utf-8")
    axes = axes_from_toml(path)
    found = [group for operation in Operation for group in groups(axes, operation=operation, device=device)]
    names = {str(contender) for group in found for contender in group.contenders}
    return [group.shape for group in found], names, question


def test_a_block_by_its_widths(tmp_path):
    shapes, names, _ = measured(tmp_path, dim=96, hidden=384)
    assert {(s.operation, s.dim, s.hidden, s.activation, s.dtype) for s in shapes} == {
        ("mlp", 96, 384, "gelu", "float32")
    }
    assert [s.batch for s in shapes] == [1, 16]
    assert {"eager", "compiled", "fused", "fused:packed"} <= names


def test_a_gated_block_on_a_gpu(tmp_path):
    shapes, names, _ = measured(tmp_path, dim=96, hidden=384, gated=True, device=DeviceKind.CUDA)
    assert {(s.operation, s.activation, s.dtype) for s in shapes} == {("gated_mlp", "silu", "bfloat16")}
    assert {"liger", "compiled-cudagraphs"} <= names


def test_eager_is_always_among_them(tmp_path):
    assert measured(tmp_path, dim=96, hidden=384, provider="fused")[1] == {"eager", "fused"}


@pytest.mark.parametrize("name", PRESETS)
def test_a_known_model(tmp_path, name):
    shapes, _, question = measured(tmp_path, model=name)
    preset = PRESETS[name]
    assert {(s.dim, s.hidden, s.activation, s.operation) for s in shapes} == {
        (preset.dim, preset.hidden, preset.activation, preset.operation)
    }
    assert question["layers"] == preset.layers
    assert preset.source in question["model"]


FILE = """
import torch
from torch import nn
from beside import block
def build(): return nn.Sequential(block(64), block(128), block(128)), torch.randn(6, 32)
def named(): return Named(), {"hidden_states": torch.randn(6, 32)}
def many():
    widths = range(8, 8 * 16, 8)
    return nn.Sequential(*map(block, widths)), torch.randn(6, 32)
class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp = block(64)
    def forward(self, hidden_states): return self.mlp(hidden_states)
"""
BESIDE = """
from torch import nn
def block(width): return nn.Sequential(nn.Linear(32, width), nn.GELU(), nn.Linear(width, 32))
"""


@pytest.fixture
def module_file(tmp_path, monkeypatch):
    """Write a file with functions that build modules, and one beside it that it imports."""
    (tmp_path / "beside.py").write_text(BESIDE, encoding="utf-8")
    path = tmp_path / "mine.py"
    path.write_text(FILE, encoding="utf-8")
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    monkeypatch.delitem(__import__("sys").modules, "beside", raising=False)
    return path


def test_a_modules_shapes_are_measured_each_alone_and_weighed_by_its_calls(tmp_path, module_file):
    shapes, _, question = measured(tmp_path, module=f"{module_file}:build")
    assert {(s.hidden, s.batch) for s in shapes} == {(64, 6), (128, 6)}
    read = question_from(question)
    assert sorted((block.hidden, batch, count) for (block, batch), count in read.calls.items()) == [
        (64, 6, 1),
        (128, 6, 2),
    ]


def test_the_calls_of_a_module_are_of_the_pass_that_is_measured(tmp_path, module_file):
    options = {"module": f"{module_file}:build", "pass_": "forward_backward"}
    shapes, _, question = measured(tmp_path, **options)
    assert {shape.pass_ for shape in shapes} == {"forward_backward"}
    assert {block.pass_ for block, _ in question_from(question).calls} == {"forward_backward"}


def test_inputs_may_be_given_by_name(tmp_path, module_file):
    shapes, _, _ = measured(tmp_path, module=f"{module_file}:named")
    assert {(s.hidden, s.batch) for s in shapes} == {(64, 6)}


def test_of_many_shapes_those_with_most_products_are_measured_and_the_share_told(tmp_path, module_file):
    shapes, _, question = measured(tmp_path, module=f"{module_file}:many")
    assert {s.hidden for s in shapes} == set(range(32, 128, 8))
    assert question["notes"] == [
        "one forward calls its blocks at 15 shapes; measured are the 12 that hold 95 % of their products"
    ]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("def build(): return 3", r"build\(\) returned int; it is to return a module and its inputs"),
        ("from torch import nn\ndef build(): return nn.ReLU()", "returned a module alone; it is to return"),
        ("from torch import nn\nbuild = nn.ReLU()", "build is a module, and a function is wanted"),
        ("def other(): pass", "has no function build; it has other"),
        ("def build(n_layers, *, width=3): pass", "build needs n_layers, and is called without arguments"),
        ("def build():\n    raise ValueError('no weights')", r"raised ValueError: no weights \(line 2\)"),
        ("import nowhere_to_be_found", r"mine.py raised ModuleNotFoundError: .*nowhere_to_be_found.* \(line 1\)"),
        ("def build(:", "raised SyntaxError: .*line 1"),
        ("raise SystemExit(3)", r"raised SystemExit: 3 \(line 1\)"),
    ],
)
def test_a_module_that_is_none_is_refused_with_what_is_wrong_and_where(module_file, content, reason):
    module_file.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidSettings, match=reason):
        module_and_inputs(f"{module_file}:build")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "name one of"),
        ({"dim": 8, "hidden": 8, "model": "gpt2"}, "--model and --dim: the model decides that"),
        ({"model": "gpt2", "gated": True}, "--model and --gated: the model decides that"),
        ({"module": "mine.py:build", "batch": "1,2"}, "--module and --batch: its inputs decide the rows"),
        ({"dim": 8, "hidden": 8, "batch": "1,x"}, "whole numbers"),
        ({"dim": 8, "hidden": 8, "batch": ""}, "whole numbers"),
        ({"dim": 8, "hidden": 8, "batch": "1,99999999999999999999"}, "from 1 to 2147483647"),
        ({"dim": 8}, "--hidden is missing"),
        ({"hidden": 8}, "--dim is missing"),
        ({"dim": 8, "hidden": 8, "module": ""}, "--module and --dim"),
        ({"module": __file__}, "which function of it builds"),
        ({"module": "nowhere.py:build"}, "there is no file nowhere.py"),
        ({"dim": 8, "hidden": 8, "dtype": "bf16"}, "--dtype bf16: there is none; did you mean bfloat16"),
        ({"dim": 8, "hidden": 8, "activation": "swish"}, "known are relu, silu"),
        ({"model": "lama-3-8b"}, "did you mean llama-3-8b"),
        ({"dim": 8, "hidden": 8, "provider": "eager,fusde"}, "--provider fusde: there is none; did you mean fused"),
    ],
)
def test_a_question_that_is_none_is_refused(tmp_path, options, reason):
    with pytest.raises(InvalidSettings, match=reason):
        measured(tmp_path, **options)


@pytest.mark.parametrize("option", ["--dim", "--hidden"])
def test_a_width_that_no_journal_could_hold_is_refused(option):
    with pytest.raises(BadParameter, match="not in the range 1<=x<=2147483647"):
        main.make_context("advise", [option, "99999999999999999999"])


def test_the_axes_are_named_after_the_question(tmp_path):
    text, _ = asked({**OPTIONS, "dim": 96, "hidden": 384}, device=DeviceKind.CPU)
    assert 'name = "mlp gelu 96 × 384"' in text
    text, _ = asked({**OPTIONS, "model": "gpt2"}, device=DeviceKind.CPU)
    assert 'name = "gpt2"' in text


def test_what_compiles_for_minutes_is_left_out_named_and_measured_when_asked_for(tmp_path):
    _, names, question = measured(tmp_path, dim=96, hidden=384)
    assert question["left_out"] == ["compiled-max-autotune-no-cudagraphs", "compiled-frozen:packed"]
    assert not names & set(question["left_out"])
    _, all_names, thorough = measured(tmp_path, dim=96, hidden=384, thorough=True)
    assert all_names == names | set(question["left_out"])
    assert thorough["left_out"] == []


@pytest.mark.parametrize("device", list(DeviceKind))
@pytest.mark.parametrize("pass_", list(Pass))
@pytest.mark.parametrize("operation", [Operation.MLP, Operation.GATED_MLP])
def test_every_contender_that_may_be_advised_is_known(operation, pass_, device):
    from benchmarks.ruler.providers.registry import PACKED_PROVIDERS, PROVIDERS

    registered = {*PROVIDERS, *(f"{name}:packed" for name in PACKED_PROVIDERS)}
    found = contenders_of(operation, "silu", pass_, device=device, is_thorough=True)
    assert found.measured[0] == "eager"
    assert len(set(found.measured)) == len(found.measured)
    assert set(found.measured) <= registered
    assert registered <= set(contenders_known(None))


def test_axes_files_add_products_and_refuse_what_they_do_not_know(tmp_path):
    path = tmp_path / "axes.toml"
    path.write_text("batches = [1]\n[[also]]\nbatches = [2]\nhidden = [3]\n", encoding="utf-8")
    with pytest.raises(InvalidAxes, match="unknown key 'hidden'"):
        axes_from_toml(path)
    path.write_text("also = 3\n", encoding="utf-8")
    with pytest.raises(InvalidAxes, match="list of tables"):
        axes_from_toml(path)
