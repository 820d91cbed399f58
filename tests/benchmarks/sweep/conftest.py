"""Settings of sweeps in their real workers."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import Settings, settings_from_environment
from benchmarks.ruler.record.provenance import environment_name
from benchmarks.ruler.sweep.machine_file import keep_ceilings

BAD_PROVIDERS = Path(__file__).parents[1] / "bad_providers.py"


@pytest.fixture(scope="module")
def settings(tmp_path_factory, known_ceilings):
    """Settings with a folder of record of this module's own; threads fixed, so that every machine has the same name."""
    found = Settings(
        lock_file=settings_from_environment().lock_file,
        data_dir=tmp_path_factory.mktemp("data"),
        machine="testbox",
        threads=1,
        device=DeviceKind.CPU,
        is_uncommitted=True,
        provider_module=BAD_PROVIDERS,
        point_limit_s=8.0,
    )
    # A machine that runs other tests beside this one is disturbed, and would have none.
    keep_ceilings(
        found.data_dir, known_ceilings, machine="testbox", environment=environment_name(DeviceKind.CPU, found)
    )
    return found


@pytest.fixture
def elsewhere(settings, tmp_path):
    """The same with an empty folder of record."""
    return replace(settings, data_dir=tmp_path)
