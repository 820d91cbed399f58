"""Where checks record what they measure."""

import click
import pytest

from benchmarks.ruler.checks.scratch import KeptFolder, scratch_settings


def test_what_a_check_measures_is_gone_with_it():
    with scratch_settings() as settings:
        settings.data_dir.mkdir()
        (settings.data_dir / "journal").touch()
        assert settings.is_uncommitted
    assert not settings.data_dir.parent.exists()


def test_what_is_to_be_kept_outlives_the_check_and_meets_no_history(tmp_path):
    with scratch_settings(keep=tmp_path) as settings:
        assert settings.data_dir == tmp_path
        assert (settings.machine, settings.is_uncommitted) == ("this-machine", True)
    assert tmp_path.exists()


@pytest.mark.parametrize(
    ("name", "reason"), [("", "it is empty"), ("file", "is a file"), ("file/below", "cannot be made")]
)
def test_a_folder_to_keep_that_cannot_be_one_is_refused_before_anything_is_measured(tmp_path, name, reason):
    (tmp_path / "file").touch()
    with pytest.raises(click.BadParameter, match=reason):
        KeptFolder().convert(str(tmp_path / name) if name else "", None, None)


def test_a_folder_to_keep_is_made(tmp_path):
    assert KeptFolder().convert(str(tmp_path / "new" / "one"), None, None).is_dir()
