"""MLP blocks of somebody's module: which there are, and with how many rows one forward calls each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

import fused_mlp
from benchmarks.ruler.errors import InvalidSettings
from fused_mlp.vocabulary import Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fused_mlp.models.fusion_report import FusionReport, Replaced

_NAMED_REASONS = 3


class Call(NamedTuple):
    """Shape of a block's call: operation, widths, activation and dtype by name, and rows."""

    operation: str
    dim: int
    hidden: int
    activation: str
    dtype: str
    batch: int

    @property
    def products(self) -> int:
        """Multiply-adds of the call, to weigh calls by."""
        return (3 if self.operation == Operation.GATED_MLP else 2) * self.batch * self.dim * self.hidden


@dataclass(frozen=True, kw_only=True)
class ModuleCalls:
    """How often one forward calls a module's MLP blocks at each shape. notes: what of it is not measured, in words."""

    calls: Mapping[Call, int]
    notes: tuple[str, ...]


def calls_of(module: torch.nn.Module, inputs: tuple[Any, ...], options: Mapping[str, Any] | None = None) -> ModuleCalls:
    """Return how often one forward of `module` calls each of its MLP blocks at each shape.

    The module is run once in evaluation, without gradients, and is afterwards what it was. Raises: InvalidSettings
    where it fails, or calls no block that is known with any row, with the reasons.
    """
    modes = [(each, each.training) for each in module.modules()]
    module.eval()
    report = fused_mlp.fuse(module, mode="inference", prepare=False)
    fused_mlp.unfuse(module)
    blocks = _blocks_of(module, report)
    found: Counter[Call] = Counter()
    handles = [layer.register_forward_hook(_counted(layer, block, found)) for layer, block in blocks.items()]
    try:
        with torch.no_grad():
            module(*inputs, **(options or {}))
    except Exception as error:
        raise InvalidSettings(f"a forward of the module with the inputs given fails: {_in_words(error)}") from error
    finally:
        for handle in handles:
            handle.remove()
        for each, was_training in modes:
            each.training = was_training
    is_called = bool(found)
    found = Counter({call: count for call, count in found.items() if call.batch})
    if not found:
        unknown = "the module has no MLP block that is known, Linear → activation → Linear or a gated one"
        how = "its MLP blocks with no row" if is_called else "none of its MLP blocks"
        why = f"with the inputs given its forward calls {how}" if blocks else unknown
        reasons = _reasons(module, report)
        raise InvalidSettings(f"{why}{': ' + '; '.join(reasons) if reasons else ''}")
    return ModuleCalls(calls=found, notes=_notes(module, report, n_blocks=len(blocks)))


def _in_words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip().rstrip(":")


def _blocks_of(module: torch.nn.Module, report: FusionReport) -> dict[torch.nn.Module, Replaced]:
    """Return the blocks as measured ones are, by their first layer: one that has several paths is one block."""
    return {
        _layer(module, each, 0): each
        for each in report.replaced
        if each.operation is not Operation.LINEAR and _why_other_widths(module, each) is None
    }


def _why_other_widths(module: torch.nn.Module, block: Replaced) -> str | None:
    """Return why a block is not as wide at its end as at its beginning, which those that are measured are; or None."""
    dim, out = _widths(_layer(module, block, 0))[1], _widths(_layer(module, block, -1))[0]
    return None if dim == out else f"it makes {out} columns of {dim}, and those measured end as wide as they begin"


def _layer(module: torch.nn.Module, block: Replaced, index: int) -> torch.nn.Module:
    name = block.layers[index]
    return module.get_submodule(f"{block.path}.{name}" if block.path else name)


def _widths(layer: torch.nn.Module) -> tuple[int, int]:
    """Return the columns that a linear layer makes, and those it takes."""
    weight: Any = layer.weight
    n_out, n_in = weight.shape
    # transformers' Conv1D keeps its weight the other way round.
    return (int(n_in), int(n_out)) if type(layer).__name__ == "Conv1D" else (int(n_out), int(n_in))


def _counted(layer: torch.nn.Module, block: Replaced, found: Counter[Call]) -> Callable[..., None]:
    """Return a hook of the block's first layer: it sees every row that the block is given."""
    is_merged = block.operation is Operation.GATED_MLP and len(block.layers) == 2
    hidden, dim = _widths(layer)
    width = hidden // 2 if is_merged else hidden

    def hook(_: object, args: tuple[torch.Tensor, ...], out: torch.Tensor) -> None:
        rows = args[0].numel() // dim
        # Of the output, since autocast leaves the input what it was.
        dtype = str(out.dtype).removeprefix("torch.")
        found[Call(block.operation.value, dim, width, block.activation.value, dtype, rows)] += 1

    return hook


def _reasons(module: torch.nn.Module, report: FusionReport) -> list[str]:
    """Return why blocks with linear layers are none of those measured, the same reason once."""
    by_reason: dict[str, list[str]] = {}
    for kept in report.kept:
        if any(_is_inside(each.path, kept.path) for each in report.replaced):
            continue  # what holds a block is no block itself, and its own reason would be about the block's layers
        by_reason.setdefault(kept.reason, []).append(kept.path or "the module")
    for each in report.replaced:
        if each.operation is Operation.LINEAR:
            reason = "a single layer with its activation, and no second product"
        else:
            reason = _why_other_widths(module, each) or ""
        if reason:
            by_reason.setdefault(reason, []).append(each.path or "the module")
    found = [
        f"{paths[0]}{f' and {len(paths) - 1} more' if len(paths) > 1 else ''}: {reason}"
        for reason, paths in by_reason.items()
    ]
    n_others = len(found) - _NAMED_REASONS
    return [*found[:_NAMED_REASONS], *([f"{n_others} other reasons"] if n_others > 0 else [])]


def _is_inside(path: str, outer: str) -> bool:
    return path != outer and path.startswith(f"{outer}." if outer else "")


def _notes(module: torch.nn.Module, report: FusionReport, *, n_blocks: int) -> tuple[str, ...]:
    reasons = _reasons(module, report)
    if not reasons:
        return ()
    measured = f"{n_blocks} of the module's blocks {'is' if n_blocks == 1 else 'are'} measured"
    return (f"{measured}; other layers are not: {'; '.join(reasons)}",)
