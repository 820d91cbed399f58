"""An archive put back: a bare machine has all of it, another loses nothing."""

import io
import json
import tarfile

import pytest

from benchmarks.ruler.campaign.pack import archive_path, pack
from benchmarks.ruler.campaign.unpack import DamagedArchive, unpack


@pytest.fixture
def archive(settings, monkeypatch):
    """The archive of a campaign that has measured two lines."""
    monkeypatch.setattr("benchmarks.ruler.campaign.pack.measured_commit", lambda _: type("C", (), {"hash": 40 * "c"}))
    journal = settings.ruler.data_dir / "journal" / "testbox" / f"cccccccc-{environment(settings)}.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text('{"n": 1}\n{"n": 2}\n{"torn')
    machine = settings.ruler.data_dir / "machines" / "testbox.json"
    machine.parent.mkdir()
    machine.write_text("{}\n")
    (settings.out / "correctness.jsonl").write_text('{"code": "x"}\n')
    pack(settings)
    return archive_path(settings)


def environment(settings):
    from benchmarks.ruler.record.provenance import environment_name

    return environment_name(settings.device, settings.ruler)


@pytest.fixture
def bare(tmp_path):
    return {"data_dir": tmp_path / "bare" / "data", "out": tmp_path / "bare" / "out"}


def files(folders):
    return {
        str(path.relative_to(folder)): path.read_text()
        for folder in folders.values()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_bare_machine_has_the_record_and_the_campaigns_own_files(archive, bare, settings):
    found = unpack(archive, **bare)
    assert (found.machine, found.n_files, found.n_new, found.kept) == ("testbox", 3, 3, ())
    assert files(bare) == {
        f"journal/testbox/cccccccc-{environment(settings)}.jsonl": '{"n": 1}\n{"n": 2}\n',
        "machines/testbox.json": "{}\n",
        "correctness.jsonl": '{"code": "x"}\n',
    }


def test_the_same_archive_again_changes_nothing(archive, bare):
    unpack(archive, **bare)
    before = files(bare)
    assert unpack(archive, **bare).n_new == 0
    assert files(bare) == before


def test_lines_that_are_there_stay_and_those_that_are_missing_are_added(archive, bare):
    (bare["out"]).mkdir(parents=True)
    path = bare["out"] / "correctness.jsonl"
    path.write_text('{"code": "mine"}\n{"torn')
    unpack(archive, **bare)
    assert path.read_text() == '{"code": "mine"}\n{"code": "x"}\n'


def test_a_file_that_differs_stays_and_the_archives_lies_beside_it(archive, bare):
    path = bare["data_dir"] / "machines" / "testbox.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"mine": 1}\n')
    assert unpack(archive, **bare).kept == ("machines/testbox.json",)
    assert path.read_text() == '{"mine": 1}\n'
    (beside,) = path.parent.glob("testbox.json.from-*")
    assert beside.read_text() == "{}\n"


@pytest.mark.parametrize("spoil", ["cut", "changed", "escaping", "other"])
def test_a_damaged_archive_is_refused_by_name_before_anything_is_written(archive, bare, spoil):
    with tarfile.open(archive) as tar:
        content = {member.name: tar.extractfile(member).read() for member in tar}
    if spoil == "cut":
        archive.write_bytes(archive.read_bytes()[:-60])
    else:
        if spoil == "changed":
            content["machines/testbox.json"] = b"{ }"
        if spoil == "escaping":
            manifest = json.loads(content["campaign/manifest.json"])
            manifest["sha256"]["campaign/../../evil"] = manifest["sha256"].pop("machines/testbox.json")
            content["campaign/../../evil"] = content.pop("machines/testbox.json")
            content["campaign/manifest.json"] = json.dumps(manifest).encode()
        if spoil == "other":
            del content["campaign/manifest.json"]
        with tarfile.open(archive, "w:gz") as tar:
            for name, data in content.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    with pytest.raises(DamagedArchive, match=archive.name):
        unpack(archive, **bare)
    assert files(bare) == {}
