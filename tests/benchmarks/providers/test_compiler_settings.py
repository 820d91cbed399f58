"""Settings of torch.compile hold for the provider that makes them, and for no other."""

import sys
import threading
import warnings

import pytest
import torch
import torch._dynamo
from torch._dynamo import config as dynamo
from torch._inductor import config as inductor

from benchmarks.ruler.plan.points import Contender
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.compiler_settings import CompilerSettings, made_when_loaded
from benchmarks.ruler.providers.workload import workload

CPU = torch.device("cpu")


def stance():
    return torch._dynamo.eval_frame._stance


@pytest.fixture
def settings():
    found = CompilerSettings()
    found.restore()
    yield found
    found.restore()


def set_all():
    inductor.cpp.simdlen = 1
    dynamo.recompile_limit = 99
    torch.compiler.set_stance("eager_on_recompile", skip_guard_eval_unsafe=True)


def all_set():
    return inductor.cpp.simdlen, dynamo.recompile_limit, stance().stance, stance().skip_guard_eval_unsafe


def test_what_one_sets_while_it_is_built_holds_in_its_turns_alone(settings):
    before = all_set()
    with settings.built_by("theirs"):
        set_all()
        own = all_set()
    assert all_set() == before
    with settings.built_by("rival"):
        assert all_set() == before
    settings.take_turn("theirs")
    assert all_set() == own == (1, 99, "eager_on_recompile", True)
    settings.take_turn("rival")
    assert all_set() == before
    settings.take_turn("theirs")
    settings.restore()
    assert all_set() == before


def test_what_is_set_once_a_process_holds_again_when_it_is_built_for_the_next_shape(settings):
    with settings.built_by("theirs"):
        inductor.cpp.simdlen = 1
    with settings.built_by("theirs"):
        assert inductor.cpp.simdlen == 1
    assert inductor.cpp.simdlen is None


def test_two_that_set_the_same_have_each_their_own(settings):
    for limit in (98, 99):
        with settings.built_by(str(limit)):
            dynamo.recompile_limit = limit
    settings.take_turn("98")
    assert dynamo.recompile_limit == 98
    settings.take_turn("99")
    assert dynamo.recompile_limit == 99


def test_what_is_set_by_somebody_who_fails_is_put_back(settings):
    def fails():
        inductor.cpp.simdlen = 1
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"), settings.built_by("theirs"):
        fails()
    assert inductor.cpp.simdlen is None


def test_a_list_that_grew_in_place_and_what_cannot_be_copied_are_put_back(settings):
    before = list(inductor._fuse_ddp_communication_passes)
    with settings.built_by("theirs"):
        inductor._fuse_ddp_communication_passes.append("theirs")
        inductor.post_grad_custom_post_pass = threading.Lock()
    assert (inductor._fuse_ddp_communication_passes, inductor.post_grad_custom_post_pass) == (before, None)
    with settings.built_by("theirs"), made_when_loaded("their file"):
        assert inductor._fuse_ddp_communication_passes == [*before, "theirs"]


def test_nobody_is_warned_of_settings_that_nobody_made(settings):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with settings.built_by("theirs"):
            dynamo.recompile_limit = 99
        settings.take_turn("theirs")


def test_a_process_that_compiles_nothing_imports_no_compiler(monkeypatch):
    for name in [
        name for name in sys.modules if name.startswith(("torch._inductor", "torch._dynamo", "torch._functorch"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    settings = CompilerSettings()
    with settings.built_by("eager"):
        pass
    settings.take_turn("eager")
    assert not {"torch._inductor.config", "torch._dynamo.config"} & set(sys.modules)


def test_what_is_set_where_a_file_imports_it_holds_for_every_provider_of_that_file(
    settings, shape, tmp_path, monkeypatch
):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "their_settings.py").write_text("import torch._inductor.config as c\nc.cpp.simdlen = 1\n")
    file = tmp_path / "theirs.py"
    file.write_text(
        "import their_settings, torch._inductor.config as c\n"
        "told = lambda load: f'simdlen {c.cpp.simdlen}'\n"
        "PROVIDERS = {'first': told, 'second': told}\n"
    )
    load = workload(shape, device=CPU)
    for _ in range(2):
        for name in ("first", "second"):
            with settings.built_by(name):
                assert providers.build(Contender(provider=name), load, module=file).reason == "simdlen 1"
    assert inductor.cpp.simdlen is None


def test_what_was_compiled_under_its_own_settings_is_not_compiled_again_without_them(settings):
    compiled = []

    def backend(graph, _):
        compiled.append(graph)
        return graph.forward

    torch._dynamo.reset()
    with settings.built_by("theirs"):
        inductor.cpp.simdlen, dynamo.recompile_limit = 1, 99
        function = torch.compile(lambda x: x.relu() * 2, backend=backend)
        function(torch.ones(3))
    for user in ("rival", "theirs", "rival"):
        settings.take_turn(user)
        function(torch.ones(3))
    assert len(compiled) == 1
