"""The calls of a rented machine: they keep to their time, and an archive is there all the while."""

import os
import shutil
import signal
import sys
import threading
import time

import pytest

from benchmarks.ruler.campaign import __main__ as campaign
from benchmarks.ruler.campaign import calls
from benchmarks.ruler.campaign.calls import CALLS, MINUTES_OF_A_CALL, PIECES_OF, Stint, run_all, run_call
from benchmarks.ruler.campaign.settings import Budget, Report, Status
from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.sweep.interruption import Interrupted, interruptible

SLEEPS = "import sys, time; time.sleep(float(sys.argv[1]))"


@pytest.fixture
def packed(settings, monkeypatch):
    """How often something was packed: what stands for the archive grows by a byte each time."""
    archive = settings.out / "an-archive.tar.gz"

    def pack(_):
        archive.write_bytes(b"x" * (archive.stat().st_size + 1 if archive.exists() else 1))

    monkeypatch.setattr(calls, "pack", pack)
    monkeypatch.setattr(calls, "archive_path", lambda _: archive)
    return archive


@pytest.fixture
def pieces(settings, monkeypatch):
    """Pieces that sleep instead of measuring: seconds by name; what each was given."""
    given = []

    def install(**seconds):
        def popen(command, **_):
            piece = command[3]
            given.append((piece, float(command[command.index("--seconds") + 1])))
            report = Report(status=Status.DONE, words="well", measured=1)
            if seconds[piece] < 5:
                campaign.keep_report(settings, piece, report)
            install.started.append(real(["sleep", str(seconds[piece])]))
            return install.started[-1]

        real = calls.subprocess.Popen
        monkeypatch.setattr(calls.subprocess, "Popen", popen)
        monkeypatch.setitem(CALLS, 1, tuple(Stint(piece=name, seconds=20.0) for name in seconds))
        return given

    install.started = []
    return install


def test_a_call_ends_by_its_deadline_whatever_a_piece_is_at(settings, packed, pieces, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(calls, "_LAST_PACK_S", 1.0)
    monkeypatch.setattr(calls, "_LEAST_S", 0.5)
    given = pieces(smoke=0.1, correctness=60, ceilings=1)
    start = time.time()
    run_call(settings, 1, deadline=start + 4, copy_to=tmp_path)
    assert time.time() - start < 6
    assert [name for name, _ in given] == ["smoke", "correctness"]
    assert all(seconds <= 3 for _, seconds in given), "what is begun is told when the time is up"
    said = capsys.readouterr().out
    assert "correctness: the call's time is up" in said
    assert "Unfinished: correctness, ceilings" in said
    assert (tmp_path / packed.name).exists()


def test_a_piece_that_hangs_leaves_the_call_to_those_after_it(settings, packed, pieces, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(calls, "_MOST_BEYOND_S", 0.5)
    given = pieces(worst=60, profiles=0)
    monkeypatch.setitem(CALLS, 1, (Stint(piece="worst", seconds=0.3), Stint(piece="profiles", seconds=20.0)))
    monkeypatch.setattr(calls, "_LEAST_S", 0.0)
    run_call(settings, 1, deadline=time.time() + 600, copy_to=tmp_path)
    assert [name for name, _ in given] == ["worst", "profiles"]
    said = capsys.readouterr().out
    assert "worst: its time is up, and it is ended" in said
    assert "Unfinished: worst." in said


def test_a_call_that_is_asked_to_end_packs_once_more_and_leaves_no_piece_behind(settings, packed, pieces, tmp_path):
    pieces(sweep=60)

    def end_once_it_runs():
        while not pieces.started:
            time.sleep(0.1)
        time.sleep(0.5)  # in the middle of it, not while it is begun
        os.kill(os.getpid(), signal.SIGTERM)

    with interruptible():
        threading.Thread(target=end_once_it_runs, daemon=True).start()
        with pytest.raises(Interrupted):
            run_call(settings, 1, deadline=time.time() + 600, copy_to=tmp_path)
    assert (tmp_path / packed.name).exists()
    (piece,) = pieces.started
    assert piece.returncode is not None


@pytest.mark.parametrize("arguments", [["nothing"], ["call-1", "--device", "tpu"], ["unpack"]])
def test_wrong_usage_has_the_exit_code_that_other_commands_have(arguments, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["campaign", *arguments])
    with pytest.raises(SystemExit) as ended:
        campaign.main()
    assert ended.value.code == ExitCode.WRONG_USAGE
    assert capsys.readouterr().err


def test_an_archive_is_there_before_a_piece_has_ended(settings, packed, pieces, tmp_path, monkeypatch):
    monkeypatch.setattr(calls, "_PACKED_EVERY_S", 0.2)
    pieces(sweep=1.5)
    run_call(settings, 1, deadline=time.time() + 60, copy_to=tmp_path)
    assert (tmp_path / packed.name).stat().st_size >= 4
    assert len(list(tmp_path.glob("*.tar.gz*"))) == 1


def test_an_archive_is_there_after_every_piece_however_short(settings, packed, pieces, tmp_path):
    pieces(smoke=0, correctness=0, ceilings=0)
    run_call(settings, 1, deadline=time.time() + 60, copy_to=tmp_path)
    assert (tmp_path / packed.name).stat().st_size >= 3


def test_what_keeps_an_archive_from_being_written_ends_no_measurement(settings, packed, pieces, tmp_path, capsys):
    pieces(sweep=0.1)
    assert run_call(settings, 1, deadline=time.time() + 60, copy_to=tmp_path / "nowhere") == 0
    assert "pack: " in capsys.readouterr().out


def test_an_archive_too_large_to_be_let_out_does_not_replace_the_one_that_was(
    settings, packed, pieces, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(calls, "MOST_ARCHIVE_BYTES", 1)
    pieces(smoke=0, correctness=0)
    run_call(settings, 1, deadline=time.time() + 60, copy_to=tmp_path)
    assert (tmp_path / packed.name).read_bytes() == b"x"
    assert "is too large to be let out" in capsys.readouterr().out


def test_a_call_takes_what_a_machine_allows_and_its_pieces_have_that_much(settings):
    assert MINUTES_OF_A_CALL * 60 <= 570
    for stints in CALLS.values():
        assert sum(stint.seconds for stint in stints) <= MINUTES_OF_A_CALL * 60
    assert next(stint.piece for stint in CALLS[2]) == "sweep"


def test_every_piece_is_one_of_some_budget_and_nothing_is_tuned_in_half_an_hour():
    assert {piece for pieces in PIECES_OF.values() for piece in pieces} == set(campaign.PIECES)
    assert "tune" not in PIECES_OF[Budget.HALF_HOUR]
    # asv's record of a whole sweep is made at home; that it works at all is shown last, before what is packed.
    assert all(pieces[-2:] == ("asv", "pack") for budget, pieces in PIECES_OF.items() if budget is not Budget.HALF_HOUR)


def test_all_pieces_of_a_budget_are_run_once_even_if_one_fails(settings, packed, pieces, monkeypatch):
    given = pieces(correctness=0, ceilings=0)
    monkeypatch.setitem(PIECES_OF, Budget.QUICK, ("correctness", "ceilings"))
    assert run_all(settings, seconds=7) == 0
    assert given == [("correctness", 7.0), ("ceilings", 7.0)]
    assert not packed.exists(), "its own piece packs"
    assert shutil.which("sleep")
