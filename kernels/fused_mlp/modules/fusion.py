"""Putting the fused modules into a model that somebody else wrote."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from torch import nn

from fused_mlp.modules.block_patterns import (
    GatedBlock,
    LinearBlock,
    MlpBlock,
    NoPattern,
    Pattern,
    activation_computed_by,
    pattern_of,
)
from fused_mlp.modules.layers import FusedGatedMLP, FusedLinear, FusedMLP
from fused_mlp.modules.packable import PackableModule
from fused_mlp.ops.validation import SUPPORTED_DTYPES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fused_mlp.ops.recomputation import Recompute


@dataclass(frozen=True, kw_only=True)
class Replaced:
    """Block that was replaced. path: where it is in the model ("" for the model itself); by: what with."""

    path: str
    by: str


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Block with linear layers that was left as it was, and why."""

    path: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class FusionReport:
    """Result of `fuse`. model: the model, or what replaced it when it was itself a block."""

    model: nn.Module
    replaced: tuple[Replaced, ...]
    kept: tuple[Kept, ...]

    def __str__(self) -> str:
        lines = [f"{item.path or 'the model'}: now {item.by}" for item in self.replaced]
        lines += [f"{item.path or 'the model'}: kept, {item.reason}" for item in self.kept]
        return "\n".join(lines) or "no block with linear layers"


def fuse(model: nn.Module, *, recompute: Recompute | str | None = None) -> FusionReport:
    """Replace the MLPs in `model` by fused modules, in place; parameters, their names and state dicts stay.

    A block is replaced when its forward, traced, is exactly act(Linear), Linear → act → Linear or
    down(act(gate) · up), whatever it and its layers are called; in an nn.Sequential of more layers each Linear with
    an activation behind it becomes a FusedLinear. A dropout with p > 0 between or behind, hooks, parametrized or
    quantised layers and dtypes the kernels do not take leave a block as it is, and the report says so.

    `recompute` is what the new modules' backward passes compute again, as in `mlp`; it is no part of a state dict.

    Code that calls the layers one by one finds them where they were; code that tests a replaced block's class does
    not recognise it.
    """
    replaced: list[Replaced] = []
    kept: list[Kept] = []
    for path, block in list(_blocks(model)):
        try:
            new = _replacement(block, recompute)
        except NoPattern as mismatch:
            kept.append(Kept(path=path, reason=str(mismatch)))
            continue
        replaced.append(Replaced(path=path, by=repr(type(new).__name__).strip("'")))
        if new is not block:
            new.train(block.training)
            model = _with_child(model, path, new)
    return FusionReport(model=model, replaced=tuple(replaced), kept=tuple(kept))


def _blocks(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Yield every module that calls linear layers itself, with its path."""
    for path, module in model.named_modules():
        inside_ours = isinstance(module, PackableModule)
        if not inside_ours and any(type(child) is nn.Linear for child in module.children()):
            yield path, module


def _replacement(block: nn.Module, recompute: Recompute | str | None) -> nn.Module:
    _expect_plain(block)
    if isinstance(block, nn.Sequential) and len(block) != 3:
        return _fused_pairs(block, recompute)
    pattern = pattern_of(block)
    layers = [cast("nn.Linear", block.get_submodule(name)) for name in _names_in(pattern)]
    match pattern:
        case LinearBlock(name=name, activation=activation):
            fused = FusedLinear.from_linear(layers[0], activation=activation, recompute=recompute)
            return nn.Sequential(OrderedDict([(name, fused)]))
        case MlpBlock(names=names, activation=activation):
            return FusedMLP.from_linears(layers[0], layers[1], activation=activation, recompute=recompute, names=names)
        case GatedBlock(names=gated_names, activation=activation):
            return FusedGatedMLP.from_linears(*layers, activation=activation, recompute=recompute, names=gated_names)


def _fused_pairs(sequence: nn.Sequential, recompute: Recompute | str | None) -> nn.Sequential:
    """Return the sequence itself, each Linear → activation in it now a FusedLinear and an Identity."""
    found = False
    children = list(sequence.named_children())
    for (name, layer), (after, activation) in pairwise(children):
        if type(layer) is not nn.Linear or any(True for _ in activation.parameters()):
            continue
        computed = activation_computed_by(activation)
        if computed is not None:
            setattr(sequence, name, FusedLinear.from_linear(layer, activation=computed, recompute=recompute))
            setattr(sequence, after, nn.Identity())
            found = True
    if not found:
        raise NoPattern("no Linear in it is followed by an activation we know")
    return sequence


def _names_in(pattern: Pattern) -> tuple[str, ...]:
    return (pattern.name,) if isinstance(pattern, LinearBlock) else pattern.names


def _expect_plain(block: nn.Module) -> None:
    """Raise NoPattern where a fused call would skip something that the user relies on."""
    for name, module in block.named_modules():
        where = name or type(block).__name__
        if module._forward_hooks or module._forward_pre_hooks or module._backward_hooks:  # noqa: SLF001 - no other way
            raise NoPattern(f"{where} has hooks, which a fused call would not run")
        if hasattr(module, "parametrizations"):
            raise NoPattern(f"{where} is parametrized")
    for name, parameter in block.named_parameters():
        if parameter.dtype not in SUPPORTED_DTYPES:
            raise NoPattern(f"{name} is {str(parameter.dtype).removeprefix('torch.')}, which the kernels do not take")


def _with_child(model: nn.Module, path: str, child: nn.Module) -> nn.Module:
    if not path:
        return child
    parent, _, name = path.rpartition(".")
    setattr(model.get_submodule(parent), name, child)
    return model
