"""One visit to every group with the kernels of one commit: a process that finds its wheel on PYTHONPATH."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.command_line import Parser
from benchmarks.ruler.errors import UnknownCommit
from benchmarks.ruler.plan.axes_files import axes_from_settings
from benchmarks.ruler.plan.points import Operation
from benchmarks.ruler.plan.settings import settings_from_environment
from benchmarks.ruler.record.codec import json_from_value
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.record.provenance import expected_device, measured_commit
from benchmarks.ruler.sweep.interruption import ended_by_exit_code
from benchmarks.ruler.sweep.measure import measure
from benchmarks.ruler.sweep.sweep_plan import plan_sweep, read_plan, write_plan
from benchmarks.ruler.worker.outcomes import outcomes_of_group
from benchmarks.ruler.worker.parent_death import die_with_parent
from benchmarks.ruler.worker.process import WorkerProcess
from benchmarks.ruler.worker.protocol import Request, Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.ruler.plan.points import Group
    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.sweep.sweep_plan import Sweep

# A commit's C++ is compiled at its first call, which takes minutes beside others' work, and says nothing meanwhile.
_COMPILED_WITHIN_S = 1800.0


def main() -> None:
    """Measure up to the visit that the settings name, or only check; the last line printed is what came of it."""
    parser = Parser(description=__doc__)
    parser.add_argument("commit", help="full hash of the commit that the installed wheel must be of")
    parser.add_argument("--visits", type=int, required=True, help="visits to each group in the end")
    parser.add_argument("--check", action="store_true", help="compare results with the reference, time nothing")
    parser.add_argument("--only", type=Path, help="file with the shapes to visit, as JSON; all of the axes without it")
    options = parser.parse_args()
    die_with_parent()
    settings = settings_from_environment()
    sweep = planned_sweep(settings, commit=options.commit, n_visits=options.visits)
    if options.only is not None:
        sweep = with_shapes(sweep, json.loads(options.only.read_text(encoding="utf-8")))
    print(checked(sweep, settings) if options.check else visited(sweep, settings))  # noqa: T201 - a command


def planned_sweep(settings: Settings, *, commit: str, n_visits: int) -> Sweep:
    """Plan the sweep of `commit` with all operations. Raises: UnknownCommit if another one's wheel is installed."""
    found = measured_commit(settings)
    if found.hash != commit:
        raise UnknownCommit(f"the installed fused_mlp is that of {found.hash[:12]}, and not of {commit[:12]}")
    axes = replace(axes_from_settings(settings), visits=n_visits)
    sweep, _ = plan_sweep(settings, axes, device=expected_device(settings))
    return sweep


def with_shapes(sweep: Sweep, shapes: Sequence[Mapping[str, object]]) -> Sweep:
    """Return the sweep of the groups that are of one of `shapes`, each the parameters that it is stored with."""

    def is_wanted(group: Group) -> bool:
        found = json_from_value(group.shape)
        return any(
            all(found["pass_" if name == "pass" else name] == value for name, value in shape.items())
            for shape in shapes
        )

    chosen = tuple(group for group in sweep.plan.groups if is_wanted(group))
    return replace(sweep, plan=replace(sweep.plan, groups=chosen))


def visited(sweep: Sweep, settings: Settings) -> str:
    """Measure what `sweep` lacks up to the settings' visit; return in words what is recorded then."""
    with tempfile.TemporaryDirectory() as folder:
        # Whoever started this process holds the machine's lock.
        plan = Path(folder) / "plan.json"
        write_plan(plan, sweep.plan)
        recorded = measure(replace(settings, plan=plan), operation=Operation.MLP)
        after = replace(sweep, plan=read_plan(plan), recorded=recorded)
    n_visits = settings.visits_now(after.plan.axes.visits)
    n_left = sum(after.n_visits(group) < n_visits for group in after.plan.groups)
    lines = [line for key, line in recorded.timings.items() if key in set(after.points())]
    n_disturbed = sum(line.outcome.disturbed is not None for line in lines)
    has_floors = any(line.floor_s is not None for line in lines)
    words = [_counted(line.outcome.state for line in lines)]
    words += (
        []
        if has_floors or not settings.measures_ceilings
        else ["no floors, as the machine was not quiet enough for its ceilings"]
    )
    words += [f"{n_disturbed} disturbed"] if n_disturbed else []
    words += [f"{n_left} groups lack a visit"] if n_left else []
    return ", ".join(words)


def checked(sweep: Sweep, settings: Settings) -> str:
    """Run every contender of ours once against its reference; return in words how many are right, and who is not."""
    plan = sweep.plan
    states, said = [], []
    with WorkerProcess(
        device=plan.device,
        threads=plan.threads,
        allocator=settings.allocator,
        point_limit_s=max(settings.point_limit_s, _COMPILED_WITHIN_S),
        provider_module=settings.provider_module,
    ) as worker:
        for group in plan.groups:
            # The others are the same at every commit.
            contenders = tuple(each for each in group.contenders if each.provider.startswith("fused"))
            request = Request(task=Task.CHECK, shape=group.shape, contenders=contenders, budget_s=0.0)
            outcomes, _ = outcomes_of_group(worker, request)
            states += [outcome.state for outcome in outcomes.values()]
            said += [
                f"{contender} at {group.shape.label()}: {outcome.state}: {outcome.reason}"
                for contender, outcome in outcomes.items()
                if outcome.state not in {State.OK, State.UNAVAILABLE}
            ]
    return "\n  ".join([_counted(states), *said])


def _counted(states: Iterable[State]) -> str:
    return ", ".join(f"{n} {state}" for state, n in Counter(states).items()) or "nothing was measured"


if __name__ == "__main__":
    with ended_by_exit_code(name="visit"):
        main()
