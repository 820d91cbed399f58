"""Handle of a worker process: starts it when needed, sends one request at a time, replaces it when it dies."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from benchmarks.ruler.errors import InvalidSettings
from benchmarks.ruler.plan.points import Allocator, DeviceKind
from benchmarks.ruler.plan.printable import printable, with_printable_texts
from benchmarks.ruler.plan.settings import ROOT, usable_cpus
from benchmarks.ruler.record.codec import json_from_value
from benchmarks.ruler.record.outcome import State, is_out_of_memory
from benchmarks.ruler.record.provenance import is_editable
from benchmarks.ruler.worker.current_contender import CurrentContender, shared_memory_fd
from benchmarks.ruler.worker.protocol import SPEED
from benchmarks.ruler.worker.silence import LONG_SILENCE_S, is_stopped, silence_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.ruler.worker.protocol import CeilingsRequest, Request

_COMPILERS_CACHE = "TORCHINDUCTOR_CACHE_DIR"
_POLL_S = 0.2
LONGEST_START_S = 300.0
# Processes that compile for inductor; each takes about a GB of memory.
_MOST_COMPILERS = 12
# What people, shells and service managers send; the kernel sends SIGKILL when memory runs out.
_SIGNALS_FROM_OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})


@dataclass(frozen=True, kw_only=True)
class Death:
    """End of a worker. contender_index: contender running when it died, if any, as an index into the request's.

    from_outside: ended or stopped by a signal that others send, so that the contender need not be the cause.
    """

    state: State
    reason: str
    contender_index: int | None
    from_outside: bool = False


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Messages of a worker about one request, in order; `death` is None if it finished."""

    messages: tuple[dict[str, Any], ...]
    conditions: dict[str, Any]
    death: Death | None


class WorkerProcess:
    """Worker process that starts at the first request and again after a death.

    point_limit_s: a contender silent for longer counts as hanging. inherited: descriptors for the worker to hold.
    command: what Python runs.
    say: is told, once a start, of a worker that is silent for long.
    """

    def __init__(  # noqa: PLR0913 - what a process is started with
        self,
        *,
        device: DeviceKind,
        threads: int,
        point_limit_s: float,
        allocator: Allocator = Allocator.RETAINING,
        provider_module: Path | None = None,
        inherited: Sequence[int] = (),
        command: Sequence[str] = ("-m", "benchmarks.ruler.worker.main"),
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._device = device
        self._threads = threads
        self._allocator = allocator
        self._point_limit_s = point_limit_s
        self._provider_module = provider_module
        self._inherited = tuple(inherited)
        self._command = tuple(command)
        self._say = say
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._errors_of_others = 0
        self._pending = b""
        self._current: CurrentContender | None = None
        self.hello: dict[str, Any] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._errors.close()

    def start(self) -> Death | None:
        """Start a worker unless one runs; its first message is then in `hello`. Return why there is none."""
        if self._process is not None and self._process.poll() is None:
            return None
        self.stop()
        contender_fd = shared_memory_fd()
        module = ("--provider-module", str(self._provider_module)) if self._provider_module else ()
        self._errors.seek(0)
        self._errors.truncate()
        self._errors_of_others = 0
        self._process = subprocess.Popen(
            [
                *(sys.executable, *self._command),
                *("--parent", str(os.getpid()), "--contender-fd", str(contender_fd)),
                *("--device", self._device, "--threads", str(self._threads), "--allocator", self._allocator, *module),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            pass_fds=(contender_fd, *self._inherited),
            env=worker_environment(self._device),
            start_new_session=True,
        )
        self._watchdog = subprocess.Popen(
            [sys.executable, "-S", "-E", str(Path(__file__).with_name("watchdog.py")), str(self._process.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._current = CurrentContender(contender_fd)
        os.close(contender_fd)
        self._pending = b""
        answer = self._listen(until="hello", limit_s=LONGEST_START_S)
        self.hello = answer.messages[-1] if answer.death is None else None
        return answer.death

    def ask(self, request: Request) -> Answer:
        """Return the worker's answer to a request about a group."""
        return self._ask(json_from_value(request), limit_s=self._point_limit_s)

    def ask_speed(self) -> Answer:
        """Return the worker's answer with what the probe's parts take at best, by half a second of them."""
        return self._ask({"task": SPEED}, limit_s=self._point_limit_s)

    def ask_ceilings(self, request: CeilingsRequest) -> Answer:
        """Return the worker's answer with the machine's ceilings."""
        return self._ask(json_from_value(request), limit_s=LONGEST_START_S)

    def stop(self) -> None:
        """End the worker and all it started, at once."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._watchdog is not None:
            with contextlib.suppress(BrokenPipeError):
                self._watchdog.communicate(b"!")
            self._watchdog = None
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._process = None

    def _ask(self, message: dict[str, object], *, limit_s: float) -> Answer:
        death = self.start()
        if death is not None:
            return Answer(messages=(), conditions={}, death=death)
        assert self._process is not None and self._process.stdin is not None and self._current is not None  # noqa: S101, PT018 - start() saw to it
        self._current.clear()
        self._errors_of_others = self._n_printed()
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it has died; listening tells how
        return self._listen(until="done", limit_s=limit_s)

    def _listen(self, *, until: str, limit_s: float) -> Answer:
        messages: list[dict[str, Any]] = []
        last_sign, last_count = time.monotonic(), -1
        printed = self._errors_of_others
        has_said = until != "hello"
        while True:
            for message in self._received():
                last_sign = time.monotonic()
                if message["event"] == until:
                    messages.append(message)
                    return Answer(messages=tuple(messages), conditions=message.get("conditions", {}), death=None)
                messages.append(message)
            printed_before, printed = printed, self._n_printed()
            index, count = self._current.read() if self._current else (None, 0)
            if count != last_count:
                last_sign, last_count = time.monotonic(), count
                # What was printed before the last look, at which another contender ran, is not this one's reason.
                self._errors_of_others = printed_before
            silent_s = time.monotonic() - last_sign
            if silent_s > LONG_SILENCE_S and not has_said and self._process is not None:
                self._say(silence_in_words(self._process.pid, limit_s=limit_s))
                has_said = True
            death = self._death(index, hung=silent_s > limit_s, limit_s=limit_s)
            if death is not None:
                return Answer(messages=tuple(messages), conditions={}, death=death)

    def _received(self) -> list[dict[str, Any]]:
        assert self._process is not None and self._process.stdout is not None  # noqa: S101, PT018 - only while one runs
        readable, _, _ = select.select([self._process.stdout], [], [], _POLL_S)
        if not readable:
            return []
        chunk = os.read(self._process.stdout.fileno(), 1 << 20)
        if not chunk:
            self._process.wait()
            return []
        *lines, self._pending = (self._pending + chunk).split(b"\n")
        return [with_printable_texts(json.loads(line)) for line in lines]

    def _death(self, contender_index: int | None, *, hung: bool, limit_s: float) -> Death | None:
        assert self._process is not None  # noqa: S101 - only while one runs
        code = self._process.poll()
        if code is None and not hung:
            return None
        if code is None:
            was_stopped = is_stopped(self._process.pid)
            stopped = "was stopped by a signal, " if was_stopped else ""
            # The start of a worker and the machine's ceilings have a limit of their own.
            setting = " (FUSEBENCH_POINT_LIMIT_S sets the limit)" if limit_s == self._point_limit_s else ""
            self.stop()
            return Death(
                state=State.TIMED_OUT,
                reason=f"{stopped}gave no sign for {limit_s:g} s and was killed{setting}",
                contender_index=contender_index,
                from_outside=was_stopped,
            )
        last_line = self._last_line()
        said = f": {last_line}" if last_line else ""
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with status {code}"
        self.stop()
        return Death(
            state=State.OUT_OF_MEMORY if is_out_of_memory(last_line) else State.CRASHED,
            reason=f"the worker {how}{said}",
            contender_index=contender_index,
            from_outside=-code in _SIGNALS_FROM_OUTSIDE,
        )

    def _n_printed(self) -> int:
        return os.fstat(self._errors.fileno()).st_size

    def _last_line(self) -> str:
        """Return the last line that the worker printed since the contender that runs had its turn; empty if none."""
        printed = os.pread(self._errors.fileno(), self._n_printed() - self._errors_of_others, self._errors_of_others)
        lines = [line for line in printed.decode(errors="replace").splitlines() if line.strip()]
        return printable(lines[-1].strip()[:300]) if lines else ""


def python_path() -> str:
    """Return the PYTHONPATH with which a process imports this checkout's ruler and the fused_mlp measured here."""
    kernels = [str(ROOT / "kernels")] if is_editable() else []
    return os.pathsep.join([str(ROOT), *kernels, *filter(None, [os.environ.get("PYTHONPATH")])])


def worker_environment(device: DeviceKind, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a worker on `device`: `environ`, the process's own by default, and what it lacks."""
    given = dict(os.environ if environ is None else environ)
    return {
        # On a CPU in the worker's own process, which is then alone on it; on CUDA the processors are idle meanwhile.
        "TORCHINDUCTOR_COMPILE_THREADS": str(min(_MOST_COMPILERS, usable_cpus()) if device is DeviceKind.CUDA else 1),
        **given,
        "PYTHONPATH": python_path(),
        # Kineto greets on stderr, which is kept for a death's reason.
        "KINETO_LOG_LEVEL": "99",
    }


def refuse_unusable_cache(environ: Mapping[str, str] | None = None) -> None:
    """Refuse a folder for torch's compiler that cannot be made: torch would not import it, which fails every contender.

    environ: the process's own by default. Raises: InvalidSettings.
    """
    if not (folder := (os.environ if environ is None else environ).get(_COMPILERS_CACHE)):
        return
    try:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - what torch does with it
    except OSError as error:
        raise InvalidSettings(
            f"{_COMPILERS_CACHE}={folder}: cannot be made ({error.strerror}), and torch imports its compiler with it "
            "alone; name a folder that can be written, or unset it"
        ) from error
