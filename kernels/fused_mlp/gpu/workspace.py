"""Device memory in which the programs of one launch add up: zero before the launch and after it.

A launch that adds up in device memory needs counters and sums that start at zero. Clearing them would be a launch of
its own, so each kernel leaves them at zero (`triton_partials.finish`), and the memory is kept:

- One workspace per device and stream. Launches on one stream run one after another, those on two streams never share.
- One per captured CUDA graph and stream of it, because a graph may be replayed on any stream, beside another graph that
  was captured on the same one. It is taken from a reserve that calls outside captures keep filled (one workspace), so
  that the graph holds no clearing; once the reserve is empty, each further call in a capture clears its own memory,
  one node more in the graph. When the graph is gone its workspace returns to the reserve.
- Where torch does not name the graph being captured (before 2.12, and in graphs of torch.compile), the driver's number
  of the capture tells its calls from others'. Nothing then tells when the graph ends, so its workspace does not return;
  MOST_UNNAMED_CAPTURES have one, calls in later ones clear memory of their own.

Memory: 4 bytes per block of rows and per element of the result, each rounded up to a power of two, at least 260 KiB
together; once per stream that launches (at most twice, when calls grow), once per living graph or unnamed capture,
and once in reserve.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import torch

from fused_mlp.native import fast_calls

if TYPE_CHECKING:
    from torch import Tensor

FEWEST_COUNTERS = 1024
FEWEST_SUMS = 64 * 1024

MOST_UNNAMED_CAPTURES = 256
"""Captures that keep a workspace for the life of the process: 65 MB of the smallest, more than a server captures."""

_CAPTURE_ACTIVE = 1
"""CU_STREAM_CAPTURE_STATUS_ACTIVE. Source: cuda.h."""


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """counters: int32, sums: float32; all zero whenever no launch that uses them is under way."""

    counters: Tensor
    sums: Tensor

    def holds(self, *, n_counters: int, n_sums: int) -> bool:
        """Return whether a launch that needs so many finds room."""
        return self.counters.numel() >= n_counters and self.sums.numel() >= n_sums


class Streams(Protocol):
    """Streams and graph captures, as the workspaces see them."""

    def current(self, device: torch.device) -> int:
        """Return a number for the current stream of `device`."""

    def is_capturing(self, device: torch.device) -> bool:
        """Return whether the current stream of `device`, the current device, is being captured."""

    def capturing_graph(self) -> object | None:
        """Return the graph that is being captured, None where torch does not tell."""

    def capture_number(self, device: torch.device) -> int | None:
        """Return a number that calls of one capture on `device` share and no other has, None if nobody tells."""


class CudaStreams:
    """Streams as torch knows them; on the CPU, for Triton's interpreter, there is one and it is never captured."""

    def current(self, device: torch.device) -> int:
        """Return the stream's handle."""
        if device.type != "cuda":
            return 0
        handle: int = torch._C._cuda_getCurrentRawStream(device.index)  # noqa: SLF001 - a Stream object costs µs
        return handle

    def is_capturing(self, device: torch.device) -> bool:
        """Return whether torch captures a graph."""
        return device.type == "cuda" and torch.cuda.is_current_stream_capturing()

    def capturing_graph(self) -> object | None:
        """Return the user's own graph object, whose end is the end of the graph; None if torch hands out another."""
        ask = getattr(torch._C._CUDAGraph, "get_currently_capturing_graph", None)  # noqa: SLF001 - no public name yet
        graph = None if ask is None else ask()
        return graph if isinstance(graph, torch.cuda.CUDAGraph) else None

    def capture_number(self, device: torch.device) -> int | None:
        """Return the driver's number of the capture that the current stream takes part in."""
        ask = getattr(_cuda_driver(), "cuStreamGetCaptureInfo_v2", None)
        if ask is None:
            return None
        status, number = ctypes.c_int(), ctypes.c_uint64()
        stream = ctypes.c_void_p(self.current(device))
        failed = ask(stream, ctypes.byref(status), ctypes.byref(number), None, None, None)
        return number.value if not failed and status.value == _CAPTURE_ACTIVE else None


@cache
def _cuda_driver() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


class Workspaces:
    """All workspaces of a process. `take` may be called by several threads."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._of_streams: dict[tuple[torch.device, int], Workspace] = {}
        self._of_graphs: weakref.WeakKeyDictionary[Any, dict[tuple[torch.device, int], Workspace]] = (
            weakref.WeakKeyDictionary()
        )
        self._of_captures: dict[int, dict[tuple[torch.device, int], Workspace]] = {}
        self._reserve: dict[torch.device, list[Workspace]] = {}
        # Kept: launches that use them may be under way, and sizes double, so that together they are as large as one.
        self._outgrown: list[Workspace] = []
        # Reentrant: a garbage collection under the lock may end a graph, which returns its workspaces.
        self._lock = threading.RLock()

    def take(self, device: torch.device, *, n_counters: int, n_sums: int) -> Workspace:
        """Return the workspace for a launch on the current stream of `device`, the current device."""
        place = (device, self._streams.current(device))
        if self._streams.is_capturing(device):
            return self._take_in_capture(place, n_counters=n_counters, n_sums=n_sums)
        workspace = self._of_streams.get(place)
        if workspace is None or not workspace.holds(n_counters=n_counters, n_sums=n_sums) or not self._reserve[device]:
            workspace = self._provide(place, n_counters=n_counters, n_sums=n_sums)
        return workspace

    def _provide(self, place: tuple[torch.device, int], *, n_counters: int, n_sums: int) -> Workspace:
        device, _ = place
        with self._lock:
            workspace = self._of_streams.get(place)
            if workspace is None or not workspace.holds(n_counters=n_counters, n_sums=n_sums):
                if workspace is not None:
                    self._outgrown.append(workspace)
                workspace = _allocated_apart(device, n_counters=n_counters, n_sums=n_sums)
                self._of_streams[place] = workspace
            reserve = self._reserve.setdefault(device, [])
            needed = {"n_counters": workspace.counters.numel(), "n_sums": workspace.sums.numel()}
            if not any(spare.holds(**needed) for spare in reserve):
                # One too small is let go: the reserve holds one for the largest call so far, and what graphs returned.
                reserve[:] = [_allocated_apart(device, **needed)]
            return workspace

    def _take_in_capture(self, place: tuple[torch.device, int], *, n_counters: int, n_sums: int) -> Workspace:
        device, _ = place
        graph = self._streams.capturing_graph()
        number = None if graph is not None else self._streams.capture_number(device)
        with self._lock:
            if graph is not None or number is not None:
                held = self._lent(graph, number).get(place)
                if held is not None and held.holds(n_counters=n_counters, n_sums=n_sums):
                    return held
                spare = self._spare(device, n_counters=n_counters, n_sums=n_sums) if held is None else None
                if spare is not None and self._lend(graph, number, place, spare):
                    return spare
        # Not kept: in the graph's own memory it is cleared at every replay, by a node of the graph.
        return _allocated(device, n_counters=n_counters, n_sums=n_sums)

    def _spare(self, device: torch.device, *, n_counters: int, n_sums: int) -> Workspace | None:
        reserve = self._reserve.get(device, [])
        for index, spare in enumerate(reserve):
            if spare.holds(n_counters=n_counters, n_sums=n_sums):
                return reserve.pop(index)
        return None

    def _lent(self, graph: object | None, number: int | None) -> dict[tuple[torch.device, int], Workspace]:
        return self._of_graphs.get(graph, {}) if number is None else self._of_captures.get(number, {})

    def _lend(
        self, graph: object | None, number: int | None, place: tuple[torch.device, int], workspace: Workspace
    ) -> bool:
        """Give `workspace` to the graph or, if it has no name, to the capture; return whether that may have one."""
        # Calls by recipe do not come here, and the next one has to, to fill the reserve again.
        fast_calls.forget()
        if number is not None:
            if number not in self._of_captures and len(self._of_captures) >= MOST_UNNAMED_CAPTURES:
                self._reserve[place[0]].append(workspace)
                return False
            self._of_captures.setdefault(number, {})[place] = workspace
            return True
        if graph not in self._of_graphs:
            self._of_graphs[graph] = {}
            weakref.finalize(graph, self._return, self._of_graphs[graph])
        self._of_graphs[graph][place] = workspace
        return True

    def _return(self, lent: dict[tuple[torch.device, int], Workspace]) -> None:
        with self._lock:
            for (device, _), workspace in lent.items():
                self._reserve.setdefault(device, []).append(workspace)


def _allocated(device: torch.device, *, n_counters: int, n_sums: int) -> Workspace:
    n_counters = max(FEWEST_COUNTERS, 1 << (n_counters - 1).bit_length())
    n_sums = max(FEWEST_SUMS, 1 << (n_sums - 1).bit_length())
    zeros = torch.zeros(n_counters + n_sums, dtype=torch.float32, device=device)
    return Workspace(counters=zeros[:n_counters].view(torch.int32), sums=zeros[n_counters:])


def _allocated_apart(device: torch.device, *, n_counters: int, n_sums: int) -> Workspace:
    """Return a workspace in memory of its own, cleared before this returns.

    Allocated by another thread: torch.compile's CUDA graphs lead all allocations of the calling thread into a pool
    whose memory they later give to others. Rare (once per stream, size and graph), so the wait costs nothing.
    """
    if device.type != "cuda":
        return _allocated(device, n_counters=n_counters, n_sums=n_sums)

    def allocate() -> Workspace:
        with torch.cuda.device(device):
            workspace = _allocated(device, n_counters=n_counters, n_sums=n_sums)
            torch.cuda.current_stream().synchronize()
        return workspace

    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="fused_mlp_workspace") as pool:
        return pool.submit(allocate).result()


_WORKSPACES = Workspaces(CudaStreams())


def workspace_for(device: torch.device, *, n_counters: int, n_sums: int) -> Workspace:
    """Return the process's workspace for a launch on the current stream of `device`, which is the current device."""
    return _WORKSPACES.take(device, n_counters=n_counters, n_sums=n_sums)
