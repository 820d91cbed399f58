"""An environment that nothing can be built in is a reason, not a traceback from somewhere within."""

import shutil

import pytest

from fused_mlp import Unavailable
from fused_mlp.native import build
from fused_mlp.native.libraries import ensure_compiled, is_damaged, is_whole


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    library = tmp_path / "file" / "key" / "library.so"
    with pytest.raises(Unavailable, match=r"cannot be kept in .*file/key.*FUSED_MLP_CACHE names another folder"):
        ensure_compiled(library, compiler="the C++ compiler", command=["true"])


# Called with "-o FILE" behind, as a compiler is.
WRITES = ("sh", "-c", 'echo a library, or so > "$2"', "sh")


def compiled(library, command=WRITES):
    ensure_compiled(library, compiler="the C++ compiler", command=command)


@pytest.mark.parametrize("left", [b"", b"a libr", b"another library"])
def test_a_damaged_library_is_said_to_be_one_and_compiled_again(tmp_path, left):
    library = tmp_path / "key" / "library.so"
    compiled(library)
    compiled(library, ["false"])
    library.write_bytes(left)
    with pytest.warns(RuntimeWarning, match=r"key/library.so is damaged; it is compiled again"):
        compiled(library)
    assert library.read_text() == "a library, or so\n"
    assert is_whole(library)


@pytest.mark.filterwarnings("error")
def test_a_library_without_a_digest_is_compiled_again_without_a_word(tmp_path):
    library = tmp_path / "key" / "library.so"
    compiled(library)
    (library.parent / "library.sha256").unlink()
    assert not is_damaged(library)
    compiled(library)
    assert is_whole(library)


@pytest.mark.usefixtures("cpu_kernels")
def test_without_a_compiler_a_damaged_library_is_a_reason_and_is_not_loaded(monkeypatch, tmp_path):
    library = shutil.copytree(build.ensure_built().parent, tmp_path / "key") / "fused_mlp_cpu.so"
    with library.open("r+b") as file:
        file.truncate(5000)
    monkeypatch.setattr(build, "_loaded", None)
    monkeypatch.setattr(build, "_failure", None)
    monkeypatch.setattr(build, "_library_path", lambda: library)
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert build.why_not_buildable().startswith(f"{library} is damaged; the CPU kernels need a C++ compiler")
    with pytest.raises(Unavailable, match="is damaged"):
        build.ensure_built()


@pytest.mark.parametrize("named", [" ", 'g++ "open'])
def test_a_compiler_that_cannot_be_read_is_none(named, monkeypatch):
    monkeypatch.setenv("CXX", named)
    assert build._compiler() is None
    assert repr(named) in build._no_compiler()
