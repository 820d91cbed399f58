"""An environment that nothing can be built in is a reason, not a traceback from somewhere within."""

import pytest

from fused_mlp import Unavailable
from fused_mlp.native import build
from fused_mlp.native.libraries import ensure_compiled


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").touch()
    library = tmp_path / "file" / "key" / "library.so"
    with pytest.raises(Unavailable, match=r"cannot be kept in .*file/key.*FUSED_MLP_CACHE names another folder"):
        ensure_compiled(library, compiler="the C++ compiler", command=["true"])


@pytest.mark.parametrize("named", [" ", 'g++ "open'])
def test_a_compiler_that_cannot_be_read_is_none(named, monkeypatch):
    monkeypatch.setenv("CXX", named)
    assert build._compiler() is None
    assert repr(named) in build._no_compiler()
