"""Sentences of an advice: why, what a model gains, how to run what is advised, and where it was measured; pure."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from results.judgement.choices import rows_in_words
from results.judgement.reach import reach_in_words
from results.judgement.winners import BASELINE
from results.units import percent, with_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.judgement.advice import Advice, Gain, Question
    from results.judgement.choices import Choice
    from results.rows import PointRow


class Recipe(NamedTuple):
    """Python that runs a contender, and what else to know of it."""

    contender: str
    code: str
    remark: str = ""


_RECIPES = {
    each.contender: each
    for each in (
        Recipe("compiled", "torch.compile(model, fullgraph=True, dynamic=False)"),
        Recipe(
            "compiled-cudagraphs", 'torch.compile(model, mode="reduce-overhead", dynamic=False)', "replays a CUDA graph"
        ),
        Recipe("compiled-max-autotune", 'torch.compile(model, mode="max-autotune", dynamic=False)'),
        Recipe(
            "compiled-max-autotune-no-cudagraphs",
            'torch.compile(model, mode="max-autotune-no-cudagraphs", dynamic=False)',
        ),
        Recipe(
            "compiled-frozen:packed",
            'torch.compile(model, options={"freezing": True, "max_autotune": True})',
            "first called under torch.inference_mode() and torch._inductor.config.patch(freezing=True)",
        ),
        Recipe("fused", "fused_mlp.fuse(model, prepare=False)"),
        Recipe("fused:packed", 'fused_mlp.fuse(model, mode="inference")', "packs the weights: their memory once more"),
        Recipe(
            "fused-onednn:packed",
            'fused_mlp.fuse(model, mode="inference", prepare=False); fused_mlp.prepare(model, implementation="onednn")',
            "packs the weights: their memory once more",
        ),
        Recipe("packed-eager:packed", "gate, up = gate_up(x).chunk(2, dim=-1)", "one layer of both stacked weights"),
        Recipe(
            "addmm-activation",
            "torch._addmm_activation(up.bias, x, up.weight.t(), use_gelu=True)",
            "the first product and its activation",
        ),
        Recipe("onnxruntime:packed", "torch.onnx.export(model, (x,), file)", "run by onnxruntime.InferenceSession"),
        Recipe("liger", "liger_kernel.transformers.LigerSwiGLUMLP", "LigerGEGLUMLP for the tanh form of gelu"),
        Recipe("liger-mlp", "liger_kernel.ops.LigerMLPFunction.apply"),
    )
}


def recipes_of(advice: Advice) -> list[Recipe]:
    """Return how each contender that the advice names is run, where it is one of ours."""
    return [_RECIPES[name] for name in advice.named if name in _RECIPES]


def why_in_words(advice: Advice, question: Question) -> list[str]:
    """Say what bounds the advised and eager at the ends of each block's batches; nothing without a profile."""
    found = []
    has_many = len({choice.block for choice in advice.choices}) > 1
    for _, group in groupby(advice.choices, key=lambda choice: choice.block):
        choices = list(group)
        ends = [choices[0]] if len(choices) == 1 else [choices[0], choices[-1]]
        found += [sentence for choice in ends if (sentence := _why(choice, question, of_many=has_many))]
    return found


def _why(choice: Choice, question: Question, *, of_many: bool) -> str | None:
    row, eager = choice.advised or choice.ranking.leader, choice.ranking.eager
    shown = [row] if eager is None or row.provider == BASELINE else [row, eager]
    if choice.advised is None:
        # What is run is known all the same; times that decide nothing would only contradict each other.
        known = [f"{each.contender} is {count}" for each in shown if (count := _count(each))]
    else:
        known = [_bound(each, question) for each in shown if each.bound_in_words or _count(each)]
    where = f"{choice.block.title}, at" if of_many else "At"
    return f"{where} {rows_in_words([choice.batch])}: {'; '.join(known)}." if known else None


def _count(row: PointRow) -> str:
    """Return how many launches or operators a call is, in words; empty where no profile says so."""
    if row.kernel_launches is not None:
        return f"{row.kernel_launches:g} {'launch' if row.kernel_launches == 1 else 'launches'}"
    if row.operator_count is not None:
        return f"{row.operator_count:g} {'operator' if row.operator_count == 1 else 'operators'}"
    return ""


def _bound(row: PointRow, question: Question) -> str:
    count = _count(row)
    does = f"is {count}" if count else "is measured"
    if question.has_times:
        does = f"takes {with_prefix(row.latency_s, 's')}{f' in {count}' if count else ''}"
    detail = f" ({row.bound_detail})" if row.bound_detail and row.bound == "overhead" and question.has_times else ""
    reach = reach_in_words(row)
    return f"{row.contender} {does}{f', {reach}{detail}' if reach else ''}"


def gains_in_words(advice: Advice, question: Question) -> str | None:
    """Say what a model's blocks gain in one forward; not the model, whose other parts are not known."""
    if not advice.gains:
        return None
    first = advice.gains[0]
    gained = _of_all_calls(first, question) if first.batch is None else _by_batch(advice.gains, question)
    doubt = "times that this rests on are in doubt; " if any(gain.is_in_doubt for gain in advice.gains) else ""
    return f"{question.model}: {gained}; {doubt}what the rest of the model takes is not in it."


def _of_all_calls(gain: Gain, question: Question) -> str:
    n = gain.n_calls + gain.n_unknown
    if not gain.n_calls:
        calls = "the one call of its block gains" if n == 1 else f"the {n} calls of its blocks gain"
        return f"what {calls} is not known, as it is undecided what to run"
    if gain.n_unknown:
        left_out = "1 is" if gain.n_unknown == 1 else f"{gain.n_unknown} are"
        return (
            f"{gain.n_calls} of the {n} calls of its blocks take, against eager, {_saved(gain, question)}; the other "
            f"{left_out} not in it, as it is undecided what to run there"
        )
    calls = "the one call of its block takes" if n == 1 else f"together the {n} calls of its blocks take"
    return f"{calls}, against eager, {_saved(gain, question)}"


def _by_batch(gains: Sequence[Gain], question: Question) -> str:
    batches = [(gain, gain.batch) for gain in gains if gain.batch is not None]
    known = [_saved(gain, question, at=f" at {rows_in_words([batch])}") for gain, batch in batches if gain.n_calls]
    unknown = [batch for gain, batch in batches if gain.n_unknown]
    n = gains[0].n_calls + gains[0].n_unknown
    parts = [f"together its {n} blocks take, against eager, {', '.join(known)}"] if known else []
    if unknown:
        they = "they" if known else f"its {n} blocks"
        parts.append(f"what {they} gain at {rows_in_words(unknown)} is not known, as it is undecided what to run")
    return "; ".join(parts)


def _saved(gain: Gain, question: Question, *, at: str = "") -> str:
    saved = (gain.eager_s - gain.advised_s) / gain.eager_s
    times = f" ({with_prefix(gain.eager_s, 's')} → {with_prefix(gain.advised_s, 's')})" if question.has_times else ""
    return f"{percent(saved)} less{at}{times}" if saved > 0 else f"as long{at}"


def provenance_in_words(advice: Advice) -> str:
    """Say where and at which commit it was measured, and by how many visits."""
    rows = [row for choice in advice.choices for row in choice.ranking.candidates]
    row = max(rows, key=lambda one: one.measured_at)
    visits = min((one.visit_count for one in rows if one.visit_count), default=None)
    each = "one visit" if visits == 1 else f"{visits} visits spread over the run, each a process of its own"
    by = f", in {each}" if visits else ""
    return f"Measured on {row.machine}, {row.environment}, at {row.commit[:8]}, {row.measured_at:%Y-%m-%d}{by}."
