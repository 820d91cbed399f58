"""What the correctness piece finds, what it keeps, and how it goes on."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks.ruler.campaign import correctness as campaign_correctness
from benchmarks.ruler.campaign.correctness import CONTENDERS, Verdict, check_kernels
from benchmarks.ruler.campaign.settings import Budget, Status
from benchmarks.ruler.plan.points import Contender, DeviceKind, Operation, Pass, Weights
from benchmarks.ruler.providers.registry import PACKED_PROVIDERS, PROVIDERS
from benchmarks.ruler.providers.workload import error_rel, padded_with_nan, workload
from benchmarks.ruler.record.outcome import ProfileOutcome, State, TimingOutcome
from benchmarks.ruler.worker.protocol import Task

BAD_PROVIDERS = Path(__file__).parents[1] / "bad_providers.py"


@pytest.fixture
def answered(monkeypatch):
    """Puts answers in place of a worker's, and counts the requests: contender and request → outcome."""
    asked = []

    def put(answer):
        def outcomes(_, request):
            asked.append(request)
            return {contender: answer(contender, request) for contender in request.contenders}, {}

        class Nobody:
            def __init__(self):
                self.hello = {"device": "cpu"}

            def __enter__(self):
                return self

            def __exit__(self, *_):
                pass

            def start(self):
                return None

        monkeypatch.setattr(campaign_correctness, "outcomes_of_group", outcomes)
        monkeypatch.setattr(campaign_correctness, "_worker", lambda *_: Nobody())
        return asked

    return put


def right(_, request):
    if request.task is Task.PROFILE:
        return ProfileOutcome(state=State.OK)
    return TimingOutcome(state=State.OK, error_rel=1e-8, provider_detail="cpp, plain weights")


def test_a_workload_between_nans_is_the_same_until_one_reads_beyond_it(shape):
    at = replace(shape, pass_=Pass.FORWARD_BACKWARD, operation=Operation.GATED_MLP)
    load = workload(at, device=torch.device("cpu"))
    before = load.reference()
    poisoned = padded_with_nan(load)
    assert error_rel(poisoned.reference(), before) == 0
    assert error_rel(poisoned.answer(poisoned.module), before) < 1e-5
    for tensor in (poisoned.x, poisoned.grad_output, *poisoned.module.parameters()):
        around = tensor.detach().as_strided((tensor.numel() + 2,), (1,), tensor.storage_offset() - 1)
        assert around[[0, -1]].isnan().all()
        assert not around[1:-1].isnan().any()
        assert tensor.data_ptr() % 64 == 0


def test_every_fused_provider_there_is_gets_checked():
    plain = {name for name in PROVIDERS if name.startswith("fused")}
    packed = {f"{name}:packed" for name in PACKED_PROVIDERS if name.startswith("fused")}
    assert set(CONTENDERS) == plain | packed | {"eager"}


def test_a_check_covers_every_operation_dtype_activation_and_pass_at_odd_sizes(settings, answered):
    requests = answered(right)
    everything = replace(settings, device=DeviceKind.CUDA, budget=Budget.FULL)
    assert check_kernels(replace(settings, budget=Budget.FULL)).status is Status.DONE
    on_cuda = {(task, group.shape) for task, group in campaign_correctness._all(everything)}
    checked = {shape for task, shape in on_cuda if task is Task.CHECK}
    assert {(s.operation, s.pass_) for s in checked} == {(o, p) for o in Operation for p in Pass}
    assert {s.dtype for s in checked} == {"float32", "bfloat16", "float16"}
    assert {s.activation for s in checked} == {None, "relu", "gelu", "gelu_tanh", "silu", "quick_gelu"}
    assert any(s.batch % 2 and s.dim % 2 and s.hidden % 2 for s in checked)
    assert {request.shape.batch for request in requests} == {s.batch for s in checked}
    assert {(s.operation, s.pass_) for task, s in on_cuda if task is Task.PROFILE} == {
        (o, p) for o in Operation for p in Pass
    }


@pytest.mark.parametrize("device", list(DeviceKind), ids=str)
@pytest.mark.parametrize("budget", list(Budget), ids=str)
def test_what_is_measured_is_checked_first_bfloat16_forward_at_the_counted_size(settings, device, budget):
    everything = list(campaign_correctness._all(replace(settings, device=device, budget=budget)))
    shapes = [group.shape for _, group in everything]
    first, rest = shapes[:6], shapes[6:]
    assert {(s.dtype, s.pass_, s.batch, s.dim, s.hidden) for s in first} == {
        ("bfloat16", Pass.FORWARD, *campaign_correctness._COUNTED_SIZE)
    }
    assert [task for task, _ in everything[:6]] == [Task.CHECK, Task.PROFILE] * 3
    of_bfloat16 = [s.dtype == "bfloat16" for s in rest]
    assert of_bfloat16 == sorted(of_bfloat16, reverse=True)
    is_forward = [s.pass_ is Pass.FORWARD for s in rest if s.dtype == "bfloat16"]
    assert is_forward == sorted(is_forward, reverse=True)


def test_who_hangs_is_waited_for_once_and_the_others_are_checked_everywhere(settings, answered):
    def hangs(contender, request):
        if contender.provider == "fused-pure":
            return TimingOutcome(state=State.TIMED_OUT, reason="gave no sign")
        return right(contender, request)

    requests = answered(hangs)
    report = check_kernels(settings)
    pure = Contender(provider="fused-pure")
    asked = [request for request in requests if pure in request.contenders]
    assert len(asked) == 1
    assert len(requests) > len(asked)
    assert report.status is Status.FAILED
    assert "nothing was left to check" in check_kernels(settings).words


def test_what_is_right_is_not_checked_again_and_that_is_said(settings, answered):
    requests = answered(right)
    first = check_kernels(settings)
    assert (first.status, first.measured > 100) == (Status.DONE, True)
    n_requests = len(requests)
    again = check_kernels(settings)
    assert (again.status, again.measured) == (Status.DONE, 0)
    assert "nothing was left to check" in again.words
    assert len(requests) == n_requests


def test_other_code_is_checked_anew(settings, answered, monkeypatch):
    answered(right)
    first = check_kernels(settings)
    monkeypatch.setattr(campaign_correctness, "code_measured", lambda _: "other code")
    assert check_kernels(settings).measured == first.measured


def test_a_check_whose_time_is_up_is_unfinished_and_goes_on(settings, answered):
    requests = answered(right)
    assert check_kernels(replace(settings, until=time.time() - 1)).status is Status.UNFINISHED
    assert requests == []
    assert check_kernels(settings).status is Status.DONE


def test_a_line_that_a_kill_has_torn_is_checked_again(settings, answered):
    requests = answered(right)
    check_kernels(settings)
    path = settings.out / "correctness.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    # The first contender of the last group.
    path.write_bytes(b"".join(lines[: -len(CONTENDERS)]) + lines[-len(CONTENDERS)][:-40])
    requests.clear()
    assert check_kernels(settings).status is Status.DONE
    assert len(requests) == 1
    assert check_kernels(settings).measured == 0


def test_one_wrong_answer_fails_the_piece_each_time_until_the_code_is_another(settings, answered, capsys):
    def one_is_wrong(contender, request):
        if contender.provider == "fused-pure" and request.shape.activation == "silu":
            return TimingOutcome(state=State.WRONG, reason="off by 0.1")
        return right(contender, request)

    answered(one_is_wrong)
    for _ in range(2):
        report = check_kernels(settings)
        assert report.status is Status.FAILED
        assert (
            "fused-pure, linear silu float32, batch 3, dim 17, hidden 31: wrong: off by 0.1" in capsys.readouterr().out
        )


def test_a_kernel_more_than_declared_fails_ours_and_is_only_told_of_others(settings, answered, capsys):
    def profiled(contender, request):
        outcome = right(contender, request)
        at = request.shape
        if request.task is not Task.PROFILE or (at.operation, at.pass_) != (Operation.MLP, Pass.FORWARD):
            return outcome
        count = {"eager": 4.0, "fused": 2.0}.get(contender.provider) if contender.weights is Weights.PLAIN else None
        return replace(outcome, operator_count=count)

    answered(profiled)
    report = check_kernels(settings)
    assert report.status is Status.FAILED
    assert "1 failed" in report.words
    said = capsys.readouterr().out
    assert re.search(r"^  fused, mlp .*: expected 1 operator, saw 2", said, re.MULTILINE)
    assert re.search(r"not ours, and no failure:  eager, mlp .*: expected 3 operators, saw 4", said)


def test_a_verdict_of_fused_on_a_gpu_is_held_to_the_level_its_check_named(shape):
    contender = Contender(provider="fused")
    seen = ProfileOutcome(state=State.OK, operator_count=1.0, kernel_launches=2.0)
    found = [
        campaign_correctness._verdict(
            Task.PROFILE, shape, contender, seen, device=DeviceKind.CUDA, detail=f"{level}, plain weights"
        )
        for level in ("epilogue", "single")
    ]
    assert [isinstance(one, Verdict) and one.is_failure for one in found] == [False, True]


def test_a_real_worker_finds_who_reads_beyond_its_input_and_goes_on(settings, monkeypatch):
    settings = replace(settings, ruler=replace(settings.ruler, provider_module=BAD_PROVIDERS))
    monkeypatch.setattr(campaign_correctness, "CONTENDERS", ("eager", "reads-beyond", "segfaults", "fused-pure"))
    monkeypatch.setattr(campaign_correctness, "_ODD_SIZES", {Budget.QUICK: ((3, 17, 31),)})
    monkeypatch.setattr(campaign_correctness, "_DTYPES", {(DeviceKind.CPU, Budget.QUICK): ("float32",)})
    everything = list(campaign_correctness._all(settings))
    monkeypatch.setattr(campaign_correctness, "_all", lambda _: everything[10:11])
    report = check_kernels(settings)
    assert report.status is Status.FAILED
    lines = [json.loads(line) for line in (settings.out / "correctness.jsonl").read_text().splitlines()]
    states = {line["contender"]: line["state"] for line in lines}
    assert states == {"eager": "ok", "reads-beyond": "wrong", "segfaults": "crashed", "fused-pure": "ok"}
    assert "NaN" in next(line["reason"] for line in lines if line["contender"] == "reads-beyond")


def test_a_device_that_is_not_there_is_absent_and_nothing_is_said_of_its_kernels(settings):
    report = check_kernels(replace(settings, device=DeviceKind.CUDA))
    assert report.status is Status.ABSENT
    assert "torch sees no cuda device here" in report.words
    assert not (settings.out / "correctness.jsonl").exists()
