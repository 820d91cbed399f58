"""Stacks: how they are written, made once of planted packages, and told in words where they cannot be made."""

from __future__ import annotations

import subprocess
import zipfile

import pytest

from benchmarks.ruler.commits.stacks import PRESENT, Stack, digest_of, made_stack, parsed_stack
from benchmarks.ruler.errors import InvalidSettings, StackFailed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch==2.12", "torch==2.12"),
        (" triton==3.6.0 , torch==2.12.0", "torch==2.12.0,triton==3.6.0"),
        ("Torch==2.13.0+cpu", "torch==2.13.0+cpu"),
        ("torch==2.12,torch==2.12", "torch==2.12"),
    ],
)
def test_a_stack_has_one_name_however_it_is_written(text, expected):
    assert parsed_stack(text) == expected
    assert parsed_stack(expected) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no package"),
        ("torch", "'torch' names no one version; write torch==VERSION"),
        ("torch>=2", "names no one version"),
        ("torch==2.*", "names no one version"),
        ("torch==2,torch==3", "torch is named twice"),
        ("torch = 2", "'torch = 2' is no requirement"),
        ("torch @ https://example.org/torch.whl", "names no one version"),
        ("--index-url=https://example.org", "is no requirement"),
        ("fusebench==1.0", "leave fusebench out"),
    ],
)
def test_what_names_no_versions_is_refused(text, said):
    with pytest.raises(InvalidSettings, match=said):
        parsed_stack(text)


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """Give pip two versions of a package that nobody else has, and no network."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for version in ("1.0", "2.0"):
        name = f"planted_stack-{version}"
        with zipfile.ZipFile(folder / f"{name}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("planted_stack.py", f"VERSION = {version!r}\n")
            wheel.writestr(
                f"{name}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: planted-stack\nVersion: {version}\n"
            )
            wheel.writestr(f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{name}.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return tmp_path / "stacks"


def answered(stack, question):
    done = subprocess.run([stack.python, "-c", question], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_stack_has_its_own_packages_before_those_that_are_here(planted):
    first, second = (made_stack(f"planted-stack=={version}", builds=planted) for version in ("1.0", "2.0"))
    question = "import planted_stack, click; print(planted_stack.VERSION, click.__name__)"
    assert answered(first, question) == "1.0 click"
    assert answered(second, question) == "2.0 click"
    assert first.python != second.python


def test_a_stack_is_made_once_and_half_of_one_is_made_again(planted, monkeypatch):
    stack = made_stack("planted-stack==1.0", builds=planted)
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere")
    assert made_stack("planted-stack==1.0", builds=planted) == stack
    (planted / digest_of("planted-stack==1.0") / "made.txt").unlink()
    with pytest.raises(StackFailed):
        made_stack("planted-stack==1.0", builds=planted)


def test_what_pip_says_is_told(planted):
    with pytest.raises(StackFailed, match=r"could be made with planted-stack==9.0:\n(.|\n)*planted-stack==9"):
        made_stack("planted-stack==9.0", builds=planted)


def test_files_about_the_present_stack_have_the_names_they_always_had():
    assert PRESENT.suffix == ""
    other = Stack(name="torch==2.12", python=PRESENT.python)
    assert other.suffix == f"-{digest_of('torch==2.12')}"
