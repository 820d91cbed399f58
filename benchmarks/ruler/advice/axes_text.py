"""Axes of a question as a TOML file, which the sweep reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.ruler.plan.points import DeviceKind, Operation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.ruler.plan.points import Pass


@dataclass(frozen=True, kw_only=True)
class Part:
    """One block at some batches. providers: contenders by name; none yet, until it is known who can compute it."""

    operation: Operation
    dim: int
    hidden: int
    activation: str
    dtype: str
    batches: tuple[int, ...]
    providers: tuple[str, ...] = ()


def toml_from_parts(parts: Sequence[Part], *, name: str, pass_: Pass, visits: int) -> str:
    """Return axes with these parts, each measured in `pass_`, as the text of a TOML file."""
    first, *others = (list(_lines(part, pass_)) for part in parts)
    lines = [f"name = {_text(name)}", f"visits = {visits}", *first]
    for other in others:
        lines += ["", "[[also]]", *other]
    return "\n".join(lines) + "\n"


def _lines(part: Part, pass_: Pass) -> Iterable[str]:
    values = {
        "operations": [part.operation],
        "dims": [part.dim],
        "hiddens": [part.hidden],
        "batches": part.batches,
        "providers": part.providers,
        "passes": [pass_],
    }
    yield from (f"{key} = {_text(value)}" for key, value in values.items())
    yield f"activations = {{ {part.operation} = {_text([part.activation])} }}"
    dtypes = ", ".join(f"{device} = {_text([part.dtype])}" for device in DeviceKind)
    yield f"dtypes = {{ {dtypes} }}"


def _text(value: object) -> str:
    # What JSON writes of texts, numbers and lists of them is TOML, too.
    return json.dumps(value, ensure_ascii=False)
