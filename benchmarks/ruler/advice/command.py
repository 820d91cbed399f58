"""`fusebench advise`, its first half: from options to the axes to measure and the question to answer."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from benchmarks.ruler.advice.axes_text import Part, toml_from_parts
from benchmarks.ruler.advice.contenders import contenders_known, contenders_of
from benchmarks.ruler.errors import InvalidSettings, RulerError
from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.plan.axes import LARGEST_SIZE
from benchmarks.ruler.plan.points import BASELINE, DeviceKind, Operation, Pass
from benchmarks.ruler.plan.presets import PRESETS
from benchmarks.ruler.plan.settings import settings_from_environment
from benchmarks.ruler.plan.units import percent
from benchmarks.ruler.plan.work import ACTIVATIONS, DTYPES
from benchmarks.ruler.record.provenance import expected_device
from benchmarks.ruler.sweep.interruption import interruptible, run_command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BATCHES = "1,8,64,512"
_ROWS_OF_MODULE = 12
_VISITS = 3
_SIZE = click.IntRange(1, LARGEST_SIZE)
# Of a block, of a known model and of a module: only one of these is asked about, and has its own options.
_WAYS = {
    "module": ("dim", "hidden", "gated", "activation", "model", "batch"),
    "model": ("dim", "hidden", "gated", "activation"),
}


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--dim", type=_SIZE, help="Width of the block's input and output.")
@click.option("--hidden", type=_SIZE, help="Width between its layers.")
@click.option("--batch", metavar="NUMBERS", help=f"Rows of a call: samples × sequence.  [default: {_BATCHES}]")
@click.option("--gated", is_flag=True, help="Two layers side by side, as in SwiGLU, instead of one.")
@click.option("--activation", metavar="NAME", help=f"{', '.join(ACTIVATIONS)}.  [default: gelu, gated silu]")
@click.option("--model", metavar="NAME", help=f"A known model: {', '.join(PRESETS)}.")
@click.option("--module", metavar="FILE.py:FUNCTION", help="A module of yours: FUNCTION returns it and its inputs.")
@click.option("--dtype", metavar="NAME", help=f"{', '.join(DTYPES)}.  [default: float32 on a CPU, bfloat16 on a GPU]")
@click.option("--pass", "pass_", type=click.Choice([each.value for each in Pass]), default="forward", show_default=True)
@click.option("--provider", metavar="NAMES", help="Only these implementations; eager is always among them.")
@click.option("--provider-module", metavar="FILE.py", help="Measure the implementations of this file, too.")
@click.option("--thorough", is_flag=True, help="Measure those that compile for minutes, too.")
@click.option("--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text", show_default=True)
@click.option("--ratios", is_flag=True, help="Leave absolute times out, as a machine shared with others gives them.")
@click.option("--uncommitted", is_flag=True, help="Measure files that no commit holds; nothing is recorded then.")
@click.option("--again", is_flag=True, help="Measure anew what is recorded already.")
@click.option("--cwd", type=Path, hidden=True, help="Folder that relative paths start from.")
@click.option("--out", type=Path, hidden=True, help="Folder for the axes and the question.")
def main(**options: Any) -> None:  # noqa: ANN401 - click's values, each of its own type
    """Measure every implementation at your shape, and say which to run, since where, and why.

    Give a block (--dim and --hidden), a known model (--model), or a module of yours (--module). A minute or two for
    four batches of a BERT's block on two cores; what is recorded of this commit already is not measured again.

    Exit code 0: it advises something at every batch, 3: it leaves one undecided, or nothing gave a time.

    \b
    fusebench advise --dim 768 --hidden 3072 --batch 1,16,128
    fusebench advise --model llama-3-8b --dtype bfloat16 --batch 1
    fusebench advise --module my_model.py:build --format markdown

    \b
    # my_model.py
    def build():
        return model, (torch.randn(8, 128, 768),)     # or a dict of arguments by name
    """  # noqa: D301 - click wants the character, which keeps the lines as they are
    if options["cwd"] is not None:
        os.chdir(options["cwd"])
    try:
        with interruptible():
            axes, question = asked(options, device=expected_device(settings_from_environment()))
    except (RulerError, click.UsageError) as error:
        click.echo(f"fusebench advise: {error}", err=True)
        sys.exit(ExitCode.WRONG_USAGE)
    folder: Path = options["out"] or Path()
    (folder / "advise.toml").write_text(axes, encoding="utf-8")
    (folder / "question.json").write_text(json.dumps(question), encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What was asked: a name for it, the parts to measure, and what the results' half needs to know of it."""

    name: str
    parts: Sequence[Part]
    question: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def asked(options: Mapping[str, Any], *, device: DeviceKind) -> tuple[str, dict[str, Any]]:
    """Return the axes in TOML, and the question as the results' half reads it. Raises: InvalidSettings."""
    way = next((name for name in _WAYS if options[name] is not None), None)
    if way is not None:
        _refuse_others(options, way)
    elif not options["dim"] or not options["hidden"]:
        missing = "--hidden is missing" if options["dim"] else "--dim is missing" if options["hidden"] else None
        raise InvalidSettings(
            f"{missing or 'name one of --dim and --hidden, --model, or --module'}; "
            "as in fusebench advise --dim 768 --hidden 3072"
        )
    match way:
        case "module":
            found = _of_module(options)
        case "model":
            found = _of_model(options, device)
        case _:
            found = _of_widths(options, device)
    pass_ = Pass(options["pass_"])
    chosen, left_out = _named_contenders(options), []
    parts = []
    for part in found.parts:
        if chosen is None:
            usual = contenders_of(
                part.operation, part.activation, pass_, device=device, is_thorough=bool(options["thorough"])
            )
            left_out += [name for name in usual.left_out if name not in left_out]
            parts.append(replace(part, providers=usual.measured))
        else:
            parts.append(replace(part, providers=chosen))
    text = toml_from_parts(parts, name=found.name, pass_=pass_, visits=_VISITS)
    question = {
        **{name: options[name] for name in ("form", "ratios", "uncommitted", "again", "provider_module")},
        **found.question,
        "pass": pass_.value,
        "left_out": left_out,
        "notes": list(found.notes),
    }
    return text, question


def _refuse_others(options: Mapping[str, Any], way: str) -> None:
    given = [name for name in _WAYS[way] if options[name]]
    if given:
        decides = "its inputs decide the rows" if given[0] == "batch" else f"the {way} decides that"
        raise InvalidSettings(f"--{way} and --{given[0]}: {decides}; leave one of them out")


def _of_widths(options: Mapping[str, Any], device: DeviceKind) -> _Asked:
    operation = Operation.GATED_MLP if options["gated"] else Operation.MLP
    activation = options["activation"] or ("silu" if options["gated"] else "gelu")
    _require("--activation", activation, ACTIVATIONS)
    part = Part(
        operation=operation,
        dim=options["dim"],
        hidden=options["hidden"],
        activation=activation,
        dtype=_dtype(options, device),
        batches=_batches(options),
    )
    return _Asked(name=f"{operation} {activation} {part.dim} × {part.hidden}", parts=[part], question={})


def _of_model(options: Mapping[str, Any], device: DeviceKind) -> _Asked:
    name = options["model"]
    _require("--model", name, tuple(PRESETS))
    preset = PRESETS[name]
    part = Part(
        operation=preset.operation,
        dim=preset.dim,
        hidden=preset.hidden,
        activation=preset.activation,
        dtype=_dtype(options, device),
        batches=_batches(options),
    )
    return _Asked(name=name, parts=[part], question={"model": f"{name} ({preset.source})", "layers": preset.layers})


def _of_module(options: Mapping[str, Any]) -> _Asked:
    # torch takes seconds to import, and only a module of one's own needs it.
    from benchmarks.ruler.advice.module_blocks import calls_of  # noqa: PLC0415
    from benchmarks.ruler.advice.module_file import module_and_inputs  # noqa: PLC0415

    built = module_and_inputs(options["module"])
    try:
        found = calls_of(built.module, built.inputs, built.options)
    except InvalidSettings as error:
        raise InvalidSettings(f"--module {options['module']}: {error}") from error
    calls = dict(found.calls)
    if options["dtype"]:
        _require("--dtype", options["dtype"], DTYPES)
        calls = {call._replace(dtype=options["dtype"]): n for call, n in calls.items()}
    notes = list(found.notes)
    weights = {call: n * call.products for call, n in calls.items()}
    kept = sorted(calls, key=lambda call: -weights[call])[:_ROWS_OF_MODULE]
    if len(kept) < len(calls):
        share = sum(weights[call] for call in kept) / sum(weights.values())
        notes.append(
            f"one forward calls its blocks at {len(calls)} shapes; measured are the {len(kept)} that hold "
            f"{percent(share)} of their products"
        )
    parts = [
        Part(
            operation=Operation(call.operation),
            dim=call.dim,
            hidden=call.hidden,
            activation=call.activation,
            dtype=call.dtype,
            batches=(call.batch,),
        )
        for call in sorted(kept)
    ]
    return _Asked(
        name=options["module"],
        parts=parts,
        question={"model": options["module"], "calls": [[*call, calls[call]] for call in sorted(kept)]},
        notes=tuple(notes),
    )


def _named_contenders(options: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the contenders that the options name, the baseline first; None if they name none."""
    if not options["provider"]:
        return None
    names = [name.strip() for name in options["provider"].split(",") if name.strip()]
    known = contenders_known(Path(options["provider_module"]) if options["provider_module"] else None)
    for name in names:
        _require("--provider", name, known)
    return tuple(dict.fromkeys((BASELINE, *names)))


def _dtype(options: Mapping[str, Any], device: DeviceKind) -> str:
    dtype: str = options["dtype"] or ("bfloat16" if device is DeviceKind.CUDA else "float32")
    _require("--dtype", dtype, DTYPES)
    return dtype


def _require(option: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        nearest = get_close_matches(value, known, n=1)
        hint = f"did you mean {nearest[0]}? " if nearest else ""
        raise InvalidSettings(f"{option} {value}: there is none; {hint}known are {', '.join(known)}")


def _batches(options: Mapping[str, Any]) -> tuple[int, ...]:
    text = _BATCHES if options["batch"] is None else options["batch"]
    try:
        numbers = [int(word) for word in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1 or max(numbers) > LARGEST_SIZE:
        raise InvalidSettings(f"--batch {text}: whole numbers from 1 to {LARGEST_SIZE} are needed, separated by commas")
    return tuple(sorted(set(numbers)))


if __name__ == "__main__":
    run_command(main, name="fusebench advise")
