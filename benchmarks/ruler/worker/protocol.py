"""What a sweep asks of its worker, as values and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from benchmarks.ruler.plan.axes import CachePolicy, Contender, Operation, Pass, Shape, Weights


class Task(StrEnum):
    """What a worker can be asked to do with a group: CHECK compares with the reference and times nothing."""

    TIME = "time"
    PROFILE = "profile"
    CHECK = "check"


CEILINGS = "ceilings"


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request about one group. budget_s: time of samples per contender, in seconds.

    traces: where a profile leaves its trace, as the beginning of a path; None for no traces.
    """

    task: Task
    shape: Shape
    contenders: tuple[Contender, ...]
    budget_s: float
    traces: str | None = None

    def to_json(self) -> dict[str, object]:
        """The request as the worker reads it."""
        return asdict(self)


def request_from_json(values: dict[str, Any]) -> Request:
    """The Request whose to_json is `values`."""
    return Request(
        task=Task(values["task"]),
        shape=shape_from_json(values["shape"]),
        contenders=tuple(contender_from_json(each) for each in values["contenders"]),
        budget_s=values["budget_s"],
        traces=values.get("traces"),
    )


def shape_from_json(values: dict[str, object]) -> Shape:
    """The Shape whose asdict is `values`."""
    return Shape(
        operation=Operation(str(values["operation"])),
        pass_=Pass(str(values["pass_"])),
        dtype=str(values["dtype"]),
        activation=None if values["activation"] is None else str(values["activation"]),
        batch=int(str(values["batch"])),
        hidden=int(str(values["hidden"])),
        dim=int(str(values["dim"])),
        cache=CachePolicy(str(values["cache"])),
    )


def contender_from_json(values: dict[str, str]) -> Contender:
    """The Contender whose asdict is `values`."""
    return Contender(provider=values["provider"], weights=Weights(values["weights"]))
