"""Settings of the process that change what everybody's calls cost or compute: how to read each, and to set it."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import tracemalloc
from functools import partial
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

_DENORMAL = 5e-324
_N_TOOLS = 6  # of sys.monitoring, https://docs.python.org/3/library/sys.monitoring.html


def _precision_of_all() -> str:
    """Return float32's precision in products; torch refuses to tell it while a library has one of its own."""
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:
        return "mixed"


def _precision_of(backend: object) -> tuple[Callable[[], object], Callable[[object], object]]:
    if not hasattr(backend, "fp32_precision"):  # torch before 2.9
        return lambda: None, lambda _: None
    return lambda: getattr(backend, "fp32_precision"), lambda value: setattr(backend, "fp32_precision", value)  # noqa: B009 - typed as object


def _cores_of_its_own() -> set[int] | None:
    """Return the cores this process may use, or None if they are those of the process that started it.

    A container's manager may take cores away, from both alike, and no contender has done that.
    """
    own = os.sched_getaffinity(0)
    return None if own == os.sched_getaffinity(os.getppid()) else own


def _use_cores(own: object) -> None:
    os.sched_setaffinity(0, own if isinstance(own, set) else os.sched_getaffinity(os.getppid()))


_TIMERS = {
    signal.SIGALRM: signal.ITIMER_REAL,
    signal.SIGVTALRM: signal.ITIMER_VIRTUAL,
    signal.SIGPROF: signal.ITIMER_PROF,
}


def _alarms() -> list[tuple[object, bool]]:
    """Return what is called in between when a timer of the process goes off, and whether it runs."""
    return [(signal.getsignal(each), any(signal.getitimer(timer))) for each, timer in _TIMERS.items()]


def _set_alarms(alarms: object) -> None:
    for (each, timer), (handler, ran) in zip(_TIMERS.items(), alarms if isinstance(alarms, list) else (), strict=False):
        # Before the handler: without one, the next alarm would end the process.
        if not ran:
            signal.setitimer(timer, 0)
        # None was not set from Python, which cannot set it again; and handlers are the main thread's to set.
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(each, handler)


def _set_profiler(value: object) -> None:
    if not value and torch.autograd._profiler_enabled():  # type: ignore[attr-defined]  # noqa: SLF001 - no public way
        torch.autograd._disable_profiler()  # type: ignore[attr-defined]  # noqa: SLF001 - the same


def _monitoring_tools() -> list[tuple[str | None, int]]:
    """Return the name and the events everywhere of each of Python's monitoring tools; none before Python 3.12."""
    tools = getattr(sys, "monitoring", None)
    return [] if tools is None else [(tools.get_tool(tool), tools.get_events(tool)) for tool in range(_N_TOOLS)]


def _use_monitoring_tools(before: object) -> None:
    tools = getattr(sys, "monitoring", None)
    if tools is None or not isinstance(before, list):
        return
    for tool, (was_named, had_events) in enumerate(before):
        name = tools.get_tool(tool)
        if was_named is None and name is not None:
            tools.set_events(tool, tools.events.NO_EVENTS)
            # Events of single functions stay, which nobody can list: without a callback they cost next to nothing.
            for event in filter(None, vars(tools.events).values()):
                tools.register_callback(tool, event, None)
            tools.free_tool_id(tool)
        elif was_named is not None:
            if name is None:
                tools.use_tool_id(tool, was_named)
            tools.set_events(tool, had_events)


SETTINGS: dict[str, tuple[Callable[[], object], Callable[[object], object]]] = {
    "torch.set_num_threads": (torch.get_num_threads, lambda value: torch.set_num_threads(int(str(value)))),
    "torch.set_default_dtype": (torch.get_default_dtype, torch.set_default_dtype),  # type: ignore[dict-item]
    # Sets those of the libraries as well, which come after it.
    "torch.set_float32_matmul_precision": (
        _precision_of_all,
        lambda value: torch.set_float32_matmul_precision(str(value)),
    ),
    "torch.backends.fp32_precision": _precision_of(torch.backends),
    "torch.backends.mkldnn.fp32_precision": _precision_of(torch.backends.mkldnn),
    "torch.backends.mkldnn.matmul.fp32_precision": _precision_of(getattr(torch.backends.mkldnn, "matmul", None)),
    "torch.backends.cuda.matmul.fp32_precision": _precision_of(torch.backends.cuda.matmul),
    "torch.use_deterministic_algorithms": (
        torch.are_deterministic_algorithms_enabled,
        lambda value: torch.use_deterministic_algorithms(bool(value)),
    ),
    "torch.backends.mkldnn.enabled": (
        torch._C._get_mkldnn_enabled,  # noqa: SLF001 - the setting of torch.backends.mkldnn.flags
        lambda value: torch._C._set_mkldnn_enabled(bool(value)),  # noqa: SLF001 - the same
    ),
    "torch.set_grad_enabled": (torch.is_grad_enabled, lambda value: torch.set_grad_enabled(bool(value))),
    **{
        f"torch.autocast({kind!r})": (
            partial(torch.is_autocast_enabled, kind),
            partial(torch.set_autocast_enabled, kind),
        )
        for kind in ("cpu", "cuda")
    },
    "torch.set_flush_denormal": (
        lambda: 1.0 * _DENORMAL == 0.0,
        lambda value: torch.set_flush_denormal(bool(value)),
    ),
    "torch.autograd.set_detect_anomaly": (
        torch.is_anomaly_enabled,
        lambda value: torch.set_anomaly_enabled(bool(value)),
    ),
    "torch.autograd.profiler": (torch.autograd._profiler_enabled, _set_profiler),  # type: ignore[attr-defined]  # noqa: SLF001 - no public way
    "signal.signal": (_alarms, _set_alarms),
    "gc.enable": (gc.isenabled, lambda value: gc.enable() if value else gc.disable()),
    "os.sched_setaffinity": (_cores_of_its_own, _use_cores),
    "sys.settrace": (sys.gettrace, sys.settrace),  # type: ignore[dict-item]
    "sys.setprofile": (sys.getprofile, sys.setprofile),  # type: ignore[dict-item]
    "threading.setprofile": (threading.getprofile, threading.setprofile),  # type: ignore[dict-item]
    "tracemalloc.start": (tracemalloc.is_tracing, lambda value: tracemalloc.start() if value else tracemalloc.stop()),
    "sys.monitoring": (_monitoring_tools, _use_monitoring_tools),
}
# Code that was compiled with -ffast-math sets it when it is loaded, honest code as well, so nobody is blamed for it.
BLAMELESS = "torch.set_flush_denormal"
