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
        # Only what hangs waits for it; on a starved machine others need seconds, too.
        point_limit_s=20.0,
    )
    return with_ceilings(found, known_ceilings)


@pytest.fixture
def elsewhere(settings, tmp_path, known_ceilings):
    """The same with another folder of record, which holds nothing but ceilings; nothing there hangs."""
    return with_ceilings(replace(settings, data_dir=tmp_path, point_limit_s=120.0), known_ceilings)


def with_ceilings(settings, ceilings):
    """Keep `ceilings` for the sweeps of `settings`: beside other tests a machine is disturbed, and would have none."""
    environment = environment_name(DeviceKind.CPU, settings)
    keep_ceilings(settings.data_dir, ceilings, machine="testbox", environment=environment)
    return settings
