"""`python -m fused_mlp.static_checks` finds what does not fit a GPU that is not here, and a page that is out of date.

That every committed configuration fits is the command's own work, `make kernels-report`, not repeated here.
"""

import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

pytest.importorskip("triton", reason="triton is not installed")

from fused_mlp.configurations import Configuration, product_instruction
from fused_mlp.static_checks import KERNEL_FILES, configurations_of
from fused_mlp.static_checks import report as report_module
from fused_mlp.static_checks.footprints import Footprint
from fused_mlp.static_checks.page import Section, compare, page_from_sections
from fused_mlp.static_checks.report import (
    CAPABILITIES,
    Row,
    check_triton_kernels,
    rows_from_table,
    table_from_rows,
)

pytestmark = pytest.mark.compile_kernels

PLANTED = """
from dataclasses import replace

import torch
import triton
import triton.language as tl

from fused_mlp.configurations import Configuration
from fused_mlp.linear import triton_epilogue


@triton.jit
def planted_add_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) + 1.0)


@triton.jit
def planted_descriptor_kernel(x_desc, y_ptr, n_rows, n_columns, BLOCK: tl.constexpr):
    y_desc = tl.make_tensor_descriptor(y_ptr, [n_rows, n_columns], [n_columns, 1], [BLOCK, BLOCK])
    y_desc.store([0, 0], x_desc.load([0, 0]))


def add(**changes):
    return Configuration(
        **{
            "kernel": planted_add_kernel,
            "dtype": torch.float32,
            "label": "128",
            "constants": {"BLOCK": 128},
            "n_warps": 4,
            "n_stages": 1,
            **changes,
        }
    )


def product(label, *, n_stages=3, options=None, **blocks):
    first = next(iter(triton_epilogue.configurations(capability=90)))
    constants = {**first.constants, **blocks}
    return replace(first, label=label, constants=constants, n_stages=n_stages, options=options or {})


def only_on_sm_90(configuration):
    def offered(*, capability):
        return [configuration] if capability == 90 else []

    return offered


fits = only_on_sm_90(add(label="planted-fits"))
fits_otherwise = only_on_sm_90(add(label="planted-fits", constants={"BLOCK": 256}))
spills = only_on_sm_90(product("planted-spills", options={"maxnreg": 40}))
overflows = only_on_sm_90(product("planted-overflows", n_stages=4, BLOCK_ROWS=64, BLOCK_OUT=128, BLOCK_IN=128))
lacks = only_on_sm_90(add(label="planted-lacks", instructions=frozenset({"HGMMA", "UTMALDG"})))
does_not_compile = only_on_sm_90(add(label="planted-wrong", constants={"BLOCK": 100}))
descriptors = only_on_sm_90(
    add(
        kernel=planted_descriptor_kernel,
        label="planted-descriptors",
        constants={"BLOCK": 64},
        types={"x_desc": "tensordesc<fp32[64, 64]>"},
        instructions=frozenset({"UTMALDG", "UTMASTG"}),
    )
)


def same_label(*, capability):
    return [add(), add(n_warps=4, constants={"BLOCK": 256})]
"""


@pytest.fixture
def planted(tmp_path, monkeypatch):
    (tmp_path / "planted_kernels.py").write_text(PLANTED)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def report(folder, function, *options):
    command = [sys.executable, "-m", "fused_mlp.static_checks", "--only", "planted"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [*command, "--also", f"planted_kernels:{function}", *options],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        ("spills", "bytes a thread"),
        ("overflows", "bytes of shared memory, the device has 232448"),
        ("lacks", "has no HGMMA, which it declares; has no UTMALDG, which it declares"),
        ("does_not_compile", "does not compile: "),
    ],
)
def test_a_configuration_that_does_not_fit_makes_the_command_fail_and_is_named(planted, function, fault):
    finished = report(planted, function)
    assert finished.returncode == 1, finished.stderr
    summary, named = finished.stdout.splitlines()[-2:]
    assert summary == "0 fit, 1 do not, 0 not checked"
    assert "planted" in named
    assert fault in named


def test_a_configuration_that_fits_passes_and_a_page_of_it_is_current_until_a_number_changes(planted, tmp_path):
    page = tmp_path / "page.md"
    assert report(planted, "fits", "--write", str(page)).returncode == 0
    unchanged = report(planted, "fits", "--compare", str(page))
    assert unchanged.returncode == 0, unchanged.stdout
    line = next(line for line in page.read_text().splitlines() if "planted-fits" in line)
    page.write_text(page.read_text().replace(line, line.replace(" 0 |", " 1 |")))
    stale = report(planted, "fits", "--compare", str(page))
    assert stale.returncode == 1
    numbers = line.removesuffix(" |").rpartition(" | ")[0]
    assert f"not there: {numbers}" in stale.stdout


def test_what_stands_on_the_page_under_its_key_is_not_compiled_again_until_it_changes(planted, monkeypatch):
    monkeypatch.setattr(report_module, "RECOMPILED_ANYWAY", 0)
    (row,) = check_triton_kernels(["planted_kernels:fits"])
    recorded = rows_from_table(table_from_rows([row]))
    assert list(check_triton_kernels(["planted_kernels:fits"], recorded=recorded)) == [replace(row, is_recorded=True)]
    (changed,) = check_triton_kernels(["planted_kernels:fits_otherwise"], recorded=recorded)
    assert not changed.is_recorded


def test_some_of_what_stands_on_the_page_is_compiled_again_so_that_a_wrong_number_is_found(planted):
    (row,) = check_triton_kernels(["planted_kernels:fits"])
    wrong = replace(row, footprint=replace(row.footprint, registers=row.footprint.registers + 1))
    recorded = rows_from_table(table_from_rows([wrong]))
    assert list(check_triton_kernels(["planted_kernels:fits"], recorded=recorded)) == [row]


def test_a_row_that_does_not_fit_is_not_recorded():
    row = Row(target="sm_90", kernel="some", key="0123456789", faults=("spills 8 bytes a thread",))
    assert rows_from_table(table_from_rows([row])) == {}


def test_kernels_with_tensor_descriptors_of_the_host_and_of_the_device_are_compiled(planted):
    (row,) = check_triton_kernels(["planted_kernels:descriptors"])
    assert row.faults == ()
    assert {"UTMALDG", "UTMASTG"} <= row.footprint.instructions


def test_two_configurations_of_one_name_are_refused(planted):
    with pytest.raises(ValueError, match="offers two configurations called planted_add_kernel-float32-128-4w1s"):
        configurations_of("planted_kernels:same_label", capability=90)


@pytest.mark.parametrize("offer", KERNEL_FILES)
def test_every_kernel_file_offers_configurations_for_every_target(offer):
    for capability in CAPABILITIES:
        offered = configurations_of(offer, capability=capability)
        assert all(isinstance(configuration, Configuration) for configuration in offered)
    assert configurations_of(offer, capability=90)


def test_a_target_without_an_assembler_is_a_row_with_the_reason(monkeypatch):
    from triton import knobs

    monkeypatch.setattr(knobs, "nvidia", SimpleNamespace(ptxas=knobs.nvidia.ptxas))
    (row,) = check_triton_kernels([])
    assert row.target == "sm_100"
    assert "brings no assembler for sm_100" in row.unchecked


def test_a_page_made_with_other_versions_is_not_compared_and_says_so():
    footprint = Footprint(
        registers=1, stack_bytes=0, shared_memory_bytes=0, tensor_memory_columns=0, instructions=frozenset()
    )
    rows = [Row(target="sm_90", kernel="some", footprint=footprint)]
    page = page_from_sections([Section(title="Kernels", versions={"triton": "1"}, rows=rows)])
    comparison = compare(page, [Section(title="Kernels", versions={"triton": "2"}, rows=[])])
    assert comparison.differences == []
    assert comparison.not_compared == ["Kernels: compiled with triton 1 there, with triton 2 here"]


def test_products_of_few_rows_use_the_instruction_of_a_warp():
    assert product_instruction(capability=90, block_rows=16) == "HMMA"
    assert product_instruction(capability=90, block_rows=64) == "HGMMA"
    assert product_instruction(capability=100, block_rows=128) == "UTCHMMA"


def test_the_same_configurations_can_be_asked_for_with_another_activation():
    offer = "fused_mlp.linear.triton_epilogue"
    silu = configurations_of(offer, capability=90, activation="silu")
    assert len(silu) == len(configurations_of(offer, capability=90))
    assert all(one.constants["ACTIVATION"] == "silu" and "-silu-" in str(one) for one in silu)
