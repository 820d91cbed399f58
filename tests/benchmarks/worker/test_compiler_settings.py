"""A worker measures each contender under its own settings of torch.compile, and its rivals under the process's."""

from dataclasses import replace

import pytest

from benchmarks.ruler.plan.points import Contender, DeviceKind
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.worker.outcomes import outcomes_of_group
from benchmarks.ruler.worker.process import WorkerProcess
from benchmarks.ruler.worker.protocol import Request, Task

FILE = """
import torch, torch._dynamo
from torch import nn
from torch._inductor import config

def settings():
    return config.cpp.simdlen, torch._dynamo.config.recompile_limit == 99, torch._dynamo.eval_frame._stance.stance

class Strict(nn.Module):
    def __init__(self, module, needed):
        super().__init__()
        self.module, self.needed = module, needed
    def forward(self, x):
        if settings() != self.needed:
            raise RuntimeError(f"{settings()} in place of {self.needed}")
        return self.module(x)

def sets(load):
    config.cpp.simdlen = 1
    torch._dynamo.config.recompile_limit = 99
    torch.compiler.set_stance("force_eager")
    return Strict(load.module, (1, True, "force_eager"))

PROVIDERS = {"sets": sets, "rival": lambda load: Strict(load.module, (None, False, "default"))}
"""


@pytest.mark.parametrize("task", [Task.TIME, Task.PROFILE], ids=str)
def test_settings_that_one_provider_makes_hold_for_it_alone_at_every_shape(tmp_path, shape, task):
    module = tmp_path / "theirs.py"
    module.write_text(FILE, encoding="utf-8")
    contenders = tuple(Contender(provider=name) for name in ("eager", "sets", "rival"))
    with WorkerProcess(device=DeviceKind.CPU, threads=1, point_limit_s=300.0, provider_module=module) as worker:
        for batch in (8, 16):
            request = Request(task=task, shape=replace(shape, batch=batch), contenders=contenders, budget_s=0.05)
            outcomes, _ = outcomes_of_group(worker, request)
            found = {str(contender): (outcome.state, outcome.reason) for contender, outcome in outcomes.items()}
            assert found == dict.fromkeys(("eager", "sets", "rival"), (State.OK, None))
