"""`python -m fused_mlp.static_checks` finds what does not fit a GPU that is not here, and a page that is out of date.

That every committed configuration fits is the command's own work, `make kernels-report`, not repeated here.
"""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

pytest.importorskip("triton", reason="triton is not installed")

from fused_mlp.activations import Activation
from fused_mlp.gpu.configurations import Configuration, product_instruction
from fused_mlp.static_checks import KERNEL_FILES, configurations_of, with_each_activation
from fused_mlp.static_checks import report as report_module
from fused_mlp.static_checks.__main__ import main
from fused_mlp.static_checks.footprints import Footprint, faults_in, longest_loop
from fused_mlp.static_checks.keys import key_of
from fused_mlp.static_checks.page import Report, compare, page_from_report
from fused_mlp.static_checks.report import CAPABILITIES, Row, check_triton_kernels
from fused_mlp.static_checks.table import line_from_row, rows_from_table, table_from_rows

pytestmark = pytest.mark.compile_kernels

PLANTED = """
from dataclasses import replace

import torch
import triton
import triton.language as tl

from fused_mlp.gpu.configurations import Configuration
from fused_mlp.linear import triton_epilogue
from fused_mlp.gpu.activations import activate


@triton.jit
def planted_add_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) + 1.0)


@triton.jit
def planted_activation_kernel(x_ptr, ACTIVATION: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, activate(tl.load(x_ptr + offsets), ACTIVATION))


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
activates = only_on_sm_90(add(kernel=planted_activation_kernel, label="planted-activates"))
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


def a_footprint(**changes):
    nothing = Footprint(registers=1, stack_bytes=0, shared_memory_bytes=0, instructions=frozenset())
    return replace(nothing, **changes)


@pytest.fixture
def planted(tmp_path, monkeypatch):
    (tmp_path / "planted_kernels.py").write_text(PLANTED)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def arguments(function, *options):
    return ["--only", "planted", "--also", f"planted_kernels:{function}", *options]


@pytest.fixture
def report(planted, capsys):
    """Run the command on planted kernels, in this process: its exit code and what it printed."""

    def run(function, *options):
        code = main(arguments(function, *options))
        return code, capsys.readouterr().out

    return run


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        ("spills", "bytes a thread"),
        ("overflows", "bytes of shared memory, the device has 232448"),
        ("lacks", "has no HGMMA, which it declares; has no UTMALDG, which it declares"),
        ("does_not_compile", "does not compile: "),
    ],
)
def test_a_configuration_that_does_not_fit_makes_the_command_fail_and_is_named(report, function, fault):
    code, printed = report(function)
    assert code == 1, printed
    summary, named = printed.splitlines()[-2:]
    assert summary == "0 fit, 1 do not"
    assert "planted" in named
    assert fault in named


def test_a_configuration_that_fits_passes_and_a_page_of_it_is_current_until_a_number_changes(report, tmp_path):
    page = tmp_path / "page.md"
    assert report("fits", "--write", str(page))[0] == 0
    assert report("fits", "--compare", str(page))[0] == 0
    line = next(line for line in page.read_text().splitlines() if "planted-fits" in line)
    page.write_text(page.read_text().replace(line, line.replace(" 0 |", " 1 |")))
    code, printed = report("fits", "--compare", str(page))
    assert code == 1
    numbers = line.removesuffix(" |").rpartition(" | ")[0]
    assert f"not there: {numbers}" in printed


def test_the_command_exits_with_what_it_found(planted):
    finished = subprocess.run(
        [sys.executable, "-m", "fused_mlp.static_checks", *arguments("lacks")],
        env={**os.environ, "PYTHONPATH": str(planted)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 1, finished.stderr
    assert "has no HGMMA" in finished.stdout


def test_what_stands_on_the_page_under_its_key_is_not_compiled_again_until_it_changes(planted, monkeypatch):
    monkeypatch.setattr(report_module, "RECOMPILED_ANYWAY", 0)
    (row,) = check_triton_kernels(["planted_kernels:fits"])
    recorded = rows_from_table(table_from_rows([row]))
    assert list(check_triton_kernels(["planted_kernels:fits"], recorded=recorded)) == [replace(row, is_recorded=True)]
    (changed,) = check_triton_kernels(["planted_kernels:fits_otherwise"], recorded=recorded)
    assert not changed.is_recorded


def test_some_of_what_stands_on_the_page_is_compiled_again_so_that_a_wrong_number_is_found(planted):
    (row,) = check_triton_kernels(["planted_kernels:fits"])
    (footprint,) = row.footprints
    wrong = replace(row, footprints=(replace(footprint, registers=footprint.registers + 1),))
    recorded = rows_from_table(table_from_rows([wrong]))
    assert list(check_triton_kernels(["planted_kernels:fits"], recorded=recorded)) == [row]


def test_a_row_that_does_not_fit_is_not_recorded():
    row = Row(target="sm_90", kernel="some", key="0123456789", faults=("spills 8 bytes a thread",))
    assert rows_from_table(table_from_rows([row])) == {}


def test_kernels_with_tensor_descriptors_of_the_host_and_of_the_device_are_compiled(planted):
    (row,) = check_triton_kernels(["planted_kernels:descriptors"])
    assert row.faults == ()
    assert {"UTMALDG", "UTMASTG"} <= row.footprints[0].instructions


def test_two_configurations_of_one_name_are_refused(planted):
    with pytest.raises(ValueError, match="offers two configurations called planted_add_kernel-float32-128-4w1s"):
        configurations_of("planted_kernels:same_label", capability=90)


@pytest.mark.parametrize("offer", KERNEL_FILES)
def test_every_kernel_file_offers_configurations_for_every_target(offer):
    for capability in CAPABILITIES:
        offered = configurations_of(offer, capability=capability)
        assert all(isinstance(configuration, Configuration) for configuration in offered)
    assert configurations_of(offer, capability=90)


def test_a_page_made_with_other_versions_is_not_compared_and_says_so():
    footprint = a_footprint()
    rows = [Row(target="sm_90", kernel="some", footprints=(footprint,))]
    page = page_from_report(Report(versions={"triton": "1"}, rows=rows))
    comparison = compare(page, Report(versions={"triton": "2"}, rows=[]))
    assert comparison.differences == []
    assert comparison.why_not == "compiled with triton 1 there, with triton 2 here"


def test_products_of_few_rows_use_the_instruction_of_a_warp():
    assert product_instruction(capability=90, block_rows=16) == "HMMA"
    assert product_instruction(capability=90, block_rows=64) == "HGMMA"


def test_every_kernel_with_an_activation_is_compiled_with_each(planted):
    (row,) = check_triton_kernels(["planted_kernels:activates"])
    assert len(row.footprints) == len(Activation)
    assert len({used.registers for used in row.footprints}) > 1
    (configuration,) = configurations_of("planted_kernels:activates", capability=90)
    assert list(with_each_activation(configuration)) == list(Activation)


def test_a_fault_with_some_activations_is_said_of_those(planted, monkeypatch):
    def spilling(configuration, *, capability):
        return a_footprint(stack_bytes=8 if configuration.constants["ACTIVATION"] == "silu" else 0)

    monkeypatch.setattr(report_module, "compile_for", spilling)
    (row,) = check_triton_kernels(["planted_kernels:activates"])
    assert row.faults == ("silu: spills 8 bytes a thread",)


def test_numbers_that_differ_between_activations_stand_on_the_page_and_are_read_from_it():
    footprints = tuple(a_footprint(registers=n, instructions=frozenset({"HMMA", "LDGSTS"})) for n in (1, 2, 2, 3))
    row = Row(target="sm_90", kernel="some", key="0123456789", footprints=footprints, is_recorded=True)
    assert "| 1 / 2 / 2 / 3 | 0 | HMMA, LDGSTS | – | yes |" in line_from_row(row)
    assert rows_from_table(table_from_rows([row])) == {"0123456789": row}


def test_products_one_by_one_are_a_fault_unless_accepted_and_then_they_must_be():
    def faults(*, are, accepted):
        return faults_in(a_footprint(one_by_one=are), capability=90, instructions=frozenset(), one_by_one=accepted)

    assert faults(are=True, accepted=False) == ["its wgmma run one by one (C7515)"]
    assert faults(are=False, accepted=True) == ["its wgmma no longer run one by one, which is accepted of it"]
    assert faults(are=True, accepted=True) == faults(are=False, accepted=False) == []


def test_ptxas_is_heard_where_it_runs_products_one_by_one():
    accepted = [one for one in configurations_of("fused_mlp.mlp.triton_single", capability=90) if one.one_by_one]
    footprint = report_module.compile_for(with_each_activation(accepted[0])["relu"], capability=90)
    assert footprint.one_by_one


def test_the_longest_loop_is_counted_from_its_label_to_the_branch_back():
    listing = """
.L_x_0:
        /*0010*/                   IADD3 R1, R1, 0x1, RZ ;
        /*0020*/              @!P5 BRA `(.L_x_2) ;
.L_x_1:
        /*0030*/                   HGMMA.64x64x16.F32.BF16 R88, gdesc[UR8], RZ, !UPT ;
        /*0040*/              @!P4 BRA `(.L_x_1) ;
.L_x_2:
        /*0050*/                   BRA `(.L_x_0);
"""
    assert longest_loop(listing) == 5
    assert longest_loop(listing.replace("L_x_0)", "L_x_3)")) == 2


def test_a_key_changes_with_the_code_but_not_with_its_comments_or_its_place(tmp_path, monkeypatch):
    def key(name, source):
        (tmp_path / f"{name}.py").write_text(source)
        (configuration,) = configurations_of(f"{name}:fits", capability=90)
        return key_of(configuration, capability=90, versions={})

    monkeypatch.syspath_prepend(tmp_path)
    moved = PLANTED.replace("@triton.jit\ndef planted_add", "# A comment.\n\n@triton.jit\ndef planted_add")
    told = moved.replace("    offsets = tl.program_id", '    """Adds one."""\n    offsets = tl.program_id')
    assert told != moved != PLANTED
    assert key("planted_first", PLANTED) == key("planted_moved", told)
    assert key("planted_first", PLANTED) != key("planted_other", PLANTED.replace("+ 1.0", "+ 2.0"))
