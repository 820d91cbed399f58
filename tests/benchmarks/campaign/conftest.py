"""A campaign on the CPU in folders of its own."""

import time
from pathlib import Path

import pytest

from benchmarks.ruler.campaign import correctness as campaign_correctness
from benchmarks.ruler.campaign.settings import Budget, CampaignSettings
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import Settings as RulerSettings
from benchmarks.ruler.plan.settings import settings_from_environment

BAD_PROVIDERS = Path(__file__).parents[1] / "bad_providers.py"


@pytest.fixture
def settings(tmp_path, monkeypatch):
    ruler = RulerSettings(
        data_dir=tmp_path / "data",
        machine="testbox",
        threads=1,
        device=DeviceKind.CPU,
        is_uncommitted=True,
        lock_file=settings_from_environment().lock_file,
    )
    monkeypatch.setattr(campaign_correctness, "code_measured", lambda _: "this code")
    out = tmp_path / "out"
    out.mkdir()
    return CampaignSettings(ruler=ruler, device=DeviceKind.CPU, budget=Budget.QUICK, out=out, until=time.time() + 600)
