"""What `python -m fused_mlp.static_checks` is asked for and cannot find is an error, before anything is compiled."""

import pytest

pytest.importorskip("triton", reason="triton is not installed")

from fused_mlp.static_checks.__main__ import main

WRONG = {
    "only": (["--only", "nosuch"], "--only nosuch: no kernel or configuration has that in its name"),
    "also, a module": (["--also", "nosuch"], "--also nosuch: No module named 'nosuch'"),
    "also, a function": (
        ["--also", "fused_mlp.mlp.triton_single:nosuch"],
        "--also fused_mlp.mlp.triton_single:nosuch: module 'fused_mlp.mlp.triton_single' has no attribute 'nosuch'",
    ),
    "also, nothing": (["--also", ""], "--also : Empty module name"),
    "also, a name within a package": (["--also", "..nosuch"], "--also ..nosuch: "),
    "also, another function": (["--also", "json.tool:main"], "--also json.tool:main: main() got an unexpected"),
    "write, a folder": (["--write", "."], "--write .: it is a folder; name a page in it"),
    "write": (["--write", "nosuch/page.md"], "--write nosuch/page.md: there is no folder nosuch"),
    "compare": (["--compare", "nosuch.md"], "--compare nosuch.md: there is no such page; --write makes one"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_there_is_named(name, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    arguments, message = WRONG[name]
    with pytest.raises(SystemExit) as exited:
        main(arguments)
    assert exited.value.code == 64
    assert f"error: {message}" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
