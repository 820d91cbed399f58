"""The table of models that people run: what it counts, what it finds wrong, and the page it writes."""

from dataclasses import replace

import fused_models
import pytest
import torch
from known_models import round_trip, speeds
from known_models.models import Model
from torch import nn

import fused_mlp
from tests.kernels.models.blocks import BertLayer, Branching, ClipStyle, LlamaStyle, OptStyle, Stack, T5Style

pytestmark = [pytest.mark.usefixtures("cpu_kernels"), pytest.mark.filterwarnings("ignore")]

PAGE = "# Page\n\n<!-- make models -->\n\nold\n\n<!-- end -->\n\nbehind\n"


def known(*blocks):
    return Model(Stack(*blocks), {"x": torch.randn(3, 12)}, len(blocks))


@pytest.fixture
def models(monkeypatch):
    """Lets the table have only these models, by name."""

    def put(**made):
        by_size = {name: lambda *_, make=make: make() for name, make in made.items()}
        monkeypatch.setattr(fused_models, "MODELS", by_size)

    return put


@pytest.mark.parametrize("mode", ["training", "inference"])
def test_undoing_gives_back_the_very_model(mode):
    model = known(OptStyle(), BertLayer(), LlamaStyle(), T5Style(), ClipStyle(), Branching())
    model.module.train(mode == "training")
    assert round_trip.differences_after_undoing(model, mode=mode) == []


def leave_it_fused(model):
    return model


def write_a_weight(model):
    fused_mlp.models.fusion.unfuse(model)
    with torch.no_grad():
        model.blocks[0].fc1.weight.mul_(2)


def change_a_block(model):
    fused_mlp.models.fusion.unfuse(model)
    model.blocks[0].p = 0.5


def drop_hooks(model):
    fused_mlp.models.fusion.unfuse(model)
    model.blocks[0]._forward_hooks.clear()


def add_a_buffer(model):
    fused_mlp.models.fusion.unfuse(model)
    model.blocks[0].register_buffer("more", torch.zeros(1))


@pytest.mark.parametrize(
    ("undo", "differing"),
    [
        (leave_it_fused, {"modules"}),
        (write_a_weight, {"state dict"}),
        (change_a_block, {"modules"}),
        (drop_hooks, {"modules", "hooks"}),
        (add_a_buffer, {"state dict", "modules"}),
    ],
)
def test_what_is_not_given_back_is_named(monkeypatch, undo, differing):
    model = known(OptStyle())
    model.module.eval()
    monkeypatch.setattr(fused_mlp, "unfuse", undo)
    found = round_trip.differences_after_undoing(model, mode="inference")
    # What runs another way may still give the same outputs, to the last bit.
    assert set(found) - {"outputs"} == differing
    assert "outputs" in found or undo is not write_a_weight


def test_hooks_that_are_not_called_while_fused_are_named(monkeypatch):
    model = known(OptStyle())
    stashed = {}

    def fuse(module, *, mode):
        report = fused_mlp.models.fusion.fuse(module, mode=mode)
        stashed.update(module.blocks[0]._forward_hooks)
        module.blocks[0]._forward_hooks.clear()
        return report

    def unfuse(module):
        module.blocks[0]._forward_hooks.update(stashed)
        return fused_mlp.models.fusion.unfuse(module)

    monkeypatch.setattr(fused_mlp, "fuse", fuse)
    monkeypatch.setattr(fused_mlp, "unfuse", unfuse)
    assert round_trip.differences_after_undoing(model, mode="training") == ["hooks"]


def test_the_table_stands_on_the_page_between_its_marks(models, tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    models(first=lambda: known(LlamaStyle(), T5Style()), second=lambda: known(Branching()))
    assert fused_models.main(["--write", str(page)]) == 0
    text = page.read_text()
    assert "| first | 2 | 1 | 2 |" in text
    assert "| yes | `blocks.1`: dropout (Dropout) drops with p = 0.1 in training |" in text
    assert "| second | 1 | 0 | 0 | 0e+00 | yes | `blocks.0`: its forward cannot be traced" in text
    assert "2 of 3 MLPs replaced for inference (67 %); 0 models" in text
    assert text.startswith("# Page\n\n<!-- make models -->\n\n| model |")
    assert text.endswith("\n\n<!-- end -->\n\nbehind\n")
    assert "old" not in text
    assert capsys.readouterr().out.strip() in text


def test_a_wrong_model_is_an_exit_code_and_a_word(models, monkeypatch, capsys):
    def fuse(module, *, mode, **_):
        report = fused_mlp.models.fusion.fuse(module, mode=mode)
        module.register_forward_hook(lambda *given: given[-1] * 1.001)
        return report

    models(first=lambda: known(LlamaStyle()))
    monkeypatch.setattr(fused_mlp, "fuse", fuse)
    assert fused_models.main([]) == 2
    printed = capsys.readouterr().out
    assert "| not: modules, outputs | result |" in printed
    assert "; 1 models" in printed


def test_a_library_that_is_missing_is_named_and_the_page_is_left(models, tmp_path, capsys):
    def missing():
        raise ImportError("no timm")

    page = tmp_path / "page.md"
    page.write_text(PAGE)
    models(first=lambda: known(LlamaStyle()), second=missing)
    assert fused_models.main(["--write", str(page)]) == 2
    assert page.read_text() == PAGE
    assert "Not tried: second (no timm)." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch"], "no model nosuch; there are llama, "),
        (["llama", "--write", "page.md"], "--write page.md: the page has all models, not only llama"),
        (["--keep", "rows.json"], "--keep rows.json: only what is timed is kept, with --speed"),
        (["--write", "nosuch.md"], "--write nosuch.md: there is no page with <!-- make models -->"),
    ],
)
def test_what_cannot_be_asked_for_is_named(arguments, message, capsys):
    with pytest.raises(SystemExit) as exited:
        fused_models.main(arguments)
    assert exited.value.code == 2
    assert message in capsys.readouterr().err


def test_speeds_are_ratios_with_intervals_and_what_does_not_compile_is_said(models, monkeypatch, capsys):
    monkeypatch.setattr(speeds, "POLICY", speeds.Policy(budget_s=0.02, min_rounds=3))
    ways = iter([lambda module: module, lambda _: nn.Linear(1, 1)])
    monkeypatch.setattr(speeds, "compiled", lambda module: next(ways)(module))  # noqa: PLW0108 - each time the next
    models(first=lambda: known(LlamaStyle()), second=lambda: known(ClipStyle()))
    assert fused_models.main(["--speed"]) == 0
    first, second = (line.split(" | ") for line in capsys.readouterr().out.splitlines() if "ms |" in line)
    assert len(first) == len(second) == len(speeds.HEADS)
    assert first[2].count("–") == first[3].count("–") == second[3].count("–") == 1
    assert second[2].startswith("does not compile: TypeError")


def test_an_interrupted_timing_goes_on_from_what_it_kept(models, monkeypatch, tmp_path, capsys):
    timed = []

    class Timed:
        def cells(self, model):
            timed.append(model.n_mlps)
            if len(timed) == 2:
                raise KeyboardInterrupt
            return ["1 ms", "1.00", "1.00", "undisturbed"]

    monkeypatch.setattr(fused_models, "Timed", Timed)
    models(first=lambda: known(LlamaStyle()), second=lambda: known(ClipStyle(), ClipStyle()))
    arguments = ["--speed", "--keep", str(tmp_path / "build" / "rows.json")]
    with pytest.raises(KeyboardInterrupt):
        fused_models.main(arguments)
    capsys.readouterr()
    assert fused_models.main(arguments) == 0
    assert timed == [1, 2, 2]
    assert "| first | 1 ms |" in capsys.readouterr().out
    # Rows of another width are of other models.
    fused_models.main([*arguments, "--width", "64"])
    assert timed == [1, 2, 2, 1, 2]


def test_of_each_kind_of_disturbance_the_worst_is_told(models, monkeypatch, capsys):
    sampled = speeds.sample_group

    def disturbed(*args, **kwargs):
        causes = "; ".join(f"the machine ran at {share}% of its best (one core's arithmetic)" for share in (80, 61, 90))
        return {name: replace(each, disturbed=causes) for name, each in sampled(*args, **kwargs).items()}

    monkeypatch.setattr(speeds, "POLICY", speeds.Policy(budget_s=0.02, min_rounds=3))
    monkeypatch.setattr(speeds, "compiled", lambda module: module)
    monkeypatch.setattr(speeds, "sample_group", disturbed)
    models(first=lambda: known(LlamaStyle()))
    assert fused_models.main(["--speed"]) == 0
    assert "| disturbed: the machine ran at 61 % of its best (one core's arithmetic) |" in capsys.readouterr().out
