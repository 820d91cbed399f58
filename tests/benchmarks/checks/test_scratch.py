"""Where checks record what they measure."""

from benchmarks.ruler.checks.scratch import scratch_settings


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
