"""Profile of one sweep point → JSON; pure."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from results.judgement.latency_parts import parts_of
from results.kernel_names import decoded
from results.output.plain_values import plain_fields, plain_value
from results.printable import json_for_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from results.files.stacks import FoldedStack
    from results.judgement.latency_parts import LatencyPart
    from results.rows import KernelRow, PointRow, ProfileRow, VisitRow


def profile_as_json(
    point: PointRow,
    profile: ProfileRow,
    *,
    visits: Sequence[VisitRow] = (),
    stacks: Sequence[FoldedStack] = (),
    trace: Path | None = None,
) -> str:
    """Render a profile as one object: SI units, the unit in the name, null for what is not known.

    `kernels` are decoded; `product_libraries` with the reason where it is empty; `missing`: why a key is null.
    `latency_parts` sum to the latency; `latency_parts_reason`: why there are none, or no floor among them.
    """
    found = parts_of(point, profile, stacks)
    values = {
        "point": plain_fields(point._asdict()),
        **_plain(asdict(profile)),
        "kernels": [_kernel(row) for row in profile.kernels],
        "latency_parts": [_part(each) for each in found.parts],
        "latency_parts_reason": found.reason,
        "visits": [_plain(asdict(visit)) for visit in visits],
        "trace": None if trace is None else str(trace),
    }
    return json_for_terminal(json.dumps(values, indent=1, ensure_ascii=False))


def _part(each: LatencyPart) -> Any:  # noqa: ANN401 - a JSON object
    within = [{"name": name, "time_s": time_s} for name, time_s in each.within]
    return _plain({"part": str(each.part), "time_s": each.time_s, "within": within})


def _kernel(row: KernelRow) -> Any:  # noqa: ANN401 - a JSON object
    known = {name: value for name, value in asdict(decoded(row.name)).items() if name != "stable"}
    return _plain({**asdict(row), **known})


def _plain(values: Any) -> Any:  # noqa: ANN401 - any value of a row
    if isinstance(values, dict):
        return {key: _plain(value) for key, value in values.items()}
    return [_plain(value) for value in values] if isinstance(values, list | tuple) else plain_value(values)
