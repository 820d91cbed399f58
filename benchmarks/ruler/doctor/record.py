"""What a measurement is written to and compared with: disk, the machine's lock, its ceilings."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.doctor.findings import fine, note, problem
from benchmarks.ruler.errors import DamagedCeilings
from benchmarks.ruler.plan.roofline import MOST_PERCENT_OF_FLOOR, Ceilings
from benchmarks.ruler.plan.settings import temporary_folder
from benchmarks.ruler.sweep.machine_file import kept_ceilings
from benchmarks.ruler.sweep.sweep_ceilings import slow_in_words, why_invalid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from benchmarks.ruler.doctor.findings import Finding
    from benchmarks.ruler.record.lines import Scalar

_LEAST_BYTES = 2**30
_MEASURE = "fusebench run measures them"


def disk(folder: Path, *, what: str, variable: str) -> Finding:
    """Judge a folder, which need not exist: that it can be written, and has a GiB free. Leaves nothing behind."""
    subject = f"disk ({what})"
    existing = next((each for each in (folder, *folder.parents) if each.exists()), Path("/"))
    elsewhere = f"name another folder with {variable}"
    try:
        with tempfile.TemporaryFile(dir=existing) as probe:
            probe.write(bytes(4096))
            probe.flush()
        free = shutil.disk_usage(existing).free
    except OSError as error:
        return problem(subject, f"{folder}: {error.strerror}", mend=f"make room or the right to write, or {elsewhere}")
    text = f"{folder}: {free / 2**30:.1f} GiB free"
    if free < _LEAST_BYTES:
        return problem(subject, text, mend=f"make room, or {elsewhere}")
    return fine(subject, text)


def lock(path: Path) -> Finding:
    """Judge whether somebody holds the machine's lock: a sweep at work, or what one left behind; or it can be none."""
    mend = "remove it, or name another with FUSEBENCH_LOCK_FILE"
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        if path.parent.is_dir():
            return fine("lock", "free")
        return problem("lock", f"{path}: its folder does not exist", mend="make it, or name another lock file")
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror
        return problem("lock", f"{path}: {why}", mend=mend)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return problem("lock", f"{path}: it is no file", mend=mend)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(fd, 32, 0).decode(errors="replace").strip()
        return _held(path, owner, holders(os.fstat(fd).st_ino, but=fd))
    else:
        return fine("lock", "free")
    finally:
        os.close(fd)


def _held(path: Path, owner: str, held_by: Sequence[int]) -> Finding:
    left = [str(pid) for pid in held_by]
    # A number is given again when its process has ended: who has the file not open is another.
    is_at_work = owner in left or not left
    if owner.isdigit() and is_at_work and Path(f"/proc/{owner}").exists():
        return problem(
            "lock",
            f"a sweep measures on this machine: process {owner} ({path})",
            mend=f"let it end, or end it: kill {owner}; what it has recorded is kept",
        )
    return problem(
        "lock",
        f"stale: its sweep (process {owner or 'unknown'}) has ended, and "
        f"{'process ' + ', '.join(left) if left else 'another process'} that it started still holds {path}",
        mend=f"kill {' '.join(left)}" if left else f"find who holds it by `fuser {path}`, and end that process",
    )


def holders(inode: int, *, but: int, processes: Path = Path("/proc")) -> list[int]:
    """Return the processes that have the file of this inode open, as far as they may be looked at.

    but: descriptor of this process's that does not count.
    """
    found = []
    for folder in processes.glob("[0-9]*/fd"):
        pid = int(folder.parent.name)
        own = folder / str(but) if pid == os.getpid() else None
        try:
            is_open = any(_inode(each) == inode for each in folder.iterdir() if each != own)
        except OSError:
            continue  # another user's, or ended
        if is_open:
            found.append(pid)
    return found


def _inode(descriptor: Path) -> int | None:
    try:
        return descriptor.stat().st_ino
    except OSError:
        return None


def ceilings(
    kept: Callable[[], Ceilings | None], conditions: Mapping[str, Scalar], now: Ceilings | str | None
) -> Finding:
    """Judge the machine's kept ceilings. now: ceilings measured just now, why they were refused, or None for neither.

    The fixed `conditions` are those of now.
    """
    subject = "ceilings"
    try:
        known = kept()
    except DamagedCeilings as error:
        return problem(subject, error.damage, mend=error.mend)
    if known is None:
        if isinstance(now, str):
            return problem(subject, f"none yet, and refused now: {now}", mend="measure when the machine is quiet")
        return note(subject, "none yet: floors and bounds need them", mend=_MEASURE)
    if reason := why_invalid(known, conditions):
        return problem(subject, f"invalid: {reason}", mend=f"{_MEASURE} anew by itself")
    if isinstance(now, Ceilings) and (low := beaten(known, now)):
        return problem(
            subject,
            f"invalid: measured too low on {known.measured_at}: {', '.join(low)}",
            mend="fusebench run --again, while the machine is quiet, measures them anew",
        )
    checked = ""
    if isinstance(now, Ceilings):
        checked = f"; the machine does no better now{', while it is slow' if now.slow_rounds else ''}"
    refused = f"; not looked at again: {now}" if isinstance(now, str) else ""
    return fine(subject, f"of {known.measured_at}{checked}{refused}{slow_in_words(known)}")


def beaten(kept: Ceilings, now: Ceilings) -> list[str]:
    """Return in words the kept ceilings that this machine beats now by more than a floor may be beaten by."""
    limit = MOST_PERCENT_OF_FLOOR / 100

    def low(name: str, was: float, found: float, unit: str, scale: float) -> Iterator[str]:
        if found > limit * was:
            yield f"{name} {was / scale:.3g} {unit}, now {found / scale:.3g}"

    found: list[str] = []
    for dtype, rate in now.matmul_flop_per_s.items():
        found += low(f"{dtype} product", kept.matmul_flop_per_s.get(dtype, rate), rate, "GFLOP/s", 1e9)
    found += low("copy", kept.copy_bytes_per_s, now.copy_bytes_per_s, "GB/s", 1e9)
    return found


def examine_record(  # noqa: PLR0913 - each is a place of its own
    *,
    data_dir: Path,
    lock_file: Path,
    cache: Path,
    machine: str,
    environment: str,
    conditions: Mapping[str, Scalar],
    ceilings_now: Callable[[], Ceilings | str],
) -> Iterator[Finding]:
    """Examine what measurements are written to. ceilings_now: measures for seconds; not called while a sweep runs."""
    yield disk(data_dir, what="measurements", variable="FUSEBENCH_DATA")
    yield disk(temporary_folder(), what="temporary files", variable="TMPDIR")
    yield disk(cache, what="compiled kernels", variable="FUSED_MLP_CACHE")
    found = lock(lock_file)
    yield found
    is_free = found.mend is None
    yield ceilings(
        lambda: kept_ceilings(data_dir, machine=machine, environment=environment),
        conditions,
        ceilings_now() if is_free else None,
    )
