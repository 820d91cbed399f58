"""GPU state during a measurement, from NVML: clock, power, temperature, throttle reasons."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.ruler.measure.best_rates import RoundWatch

# Bits of nvmlDeviceGetCurrentClocksThrottleReasons that slow the clock down, in words a person can act on. An idle
# GPU and clocks that somebody has set are no disturbance, nor is the power limit: large products always run against it.
THROTTLE_REASONS = {
    0x08: "a hardware slowdown (heat or power)",
    0x20: "its temperature",
    0x40: "its temperature (hardware)",
    0x80: "the power supply's brake",
}
_POWER_LIMIT = 0x04


@dataclass(frozen=True, kw_only=True)
class GpuState:
    """One NVML reading. throttle_reasons: NVML's bit mask."""

    sm_clock_mhz: int
    power_w: float
    temperature_c: int
    throttle_reasons: int

    def conditions(self) -> dict[str, str | int | float | bool | None]:
        """Return the reading under the journal's keys."""
        return {
            "gpu_sm_clock_mhz": self.sm_clock_mhz,
            "gpu_power_w": self.power_w,
            "gpu_temperature_c": self.temperature_c,
            "gpu_throttle_reasons": hex(self.throttle_reasons),
        }

    @property
    def is_power_capped(self) -> bool:
        """True if the power limit holds the clock down."""
        return bool(self.throttle_reasons & _POWER_LIMIT)

    def throttled_by(self) -> str | None:
        """Return the active throttle reasons in words, or None."""
        reasons = [words for bit, words in THROTTLE_REASONS.items() if self.throttle_reasons & bit]
        return " and ".join(reasons) if reasons else None


class GpuWatch:
    """Watch for GPU throttling at the end of an observation window, in addition to `others`.

    `read` is injected so that the rule is tested without a GPU.
    """

    def __init__(self, others: RoundWatch, *, read: Callable[[], GpuState | None]) -> None:
        self._others = others
        self._read = read
        self._was_throttled = False
        self.readings: list[GpuState] = []

    def start(self) -> None:
        """Start an observation window."""
        self._others.start()

    def disturbance(self, durations_s: Mapping[str, Sequence[float]]) -> str | None:
        """Return what disturbed the machine since `start`, or None."""
        of_host = self._others.disturbance(durations_s)
        state = self._read()
        if state is not None:
            self.readings.append(state)
        reason = state and state.throttled_by()
        self._was_throttled = bool(reason)
        if state is not None and reason:
            return (
                f"the GPU was throttled by {reason} ({state.sm_clock_mhz} MHz, {state.temperature_c} °C, "
                f"{state.power_w:.0f} W)"
            )
        return of_host

    @property
    def is_merely_slow(self) -> bool:
        """Whether all that disturbed the last window was a slow host, on which nobody else was seen."""
        return self._others.is_merely_slow and not self._was_throttled

    def forget(self) -> None:
        """Forget the last stretch: what was measured in it is thrown away."""
        self._others.forget()

    def forget_all(self) -> None:
        """Forget all stretches, and the samples taken in them."""
        self._others.forget_all()

    def forget_disturbed(self) -> None:
        """Forget the host's speed in the stretches that were disturbed: what is kept of them moved no median."""
        self._others.forget_disturbed()

    def conditions(self) -> dict[str, int | bool | None]:
        """Return over all readings the range of the SM clock, in MHz, and whether the power limit held it down."""
        clocks = [state.sm_clock_mhz for state in self.readings]
        return {
            "gpu_sm_clock_min_mhz": min(clocks, default=None),
            "gpu_sm_clock_max_mhz": max(clocks, default=None),
            "power_capped": any(state.is_power_capped for state in self.readings) if self.readings else None,
        }


def gpu_state(device: torch.device) -> GpuState | None:
    """Read the state of `device` from NVML; None if NVML is unavailable."""
    try:
        import pynvml  # noqa: PLC0415 - only where there is a GPU

        pynvml.nvmlInit()
        uuid = str(torch.cuda.get_device_properties(device).uuid)
        handle = pynvml.nvmlDeviceGetHandleByUUID(uuid if uuid.startswith("GPU-") else f"GPU-{uuid}")
        return GpuState(
            sm_clock_mhz=int(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)),
            power_w=round(pynvml.nvmlDeviceGetPowerUsage(handle) / 1000, 1),
            temperature_c=int(pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)),
            throttle_reasons=int(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)),
        )
    except Exception:  # noqa: BLE001 - without NVML these conditions are unknown, and the sweep goes on
        return None


def driver_version() -> str | None:
    """Return the NVIDIA driver's version; None without NVML."""
    try:
        import pynvml  # noqa: PLC0415 - only where there is a GPU

        pynvml.nvmlInit()
        return str(pynvml.nvmlSystemGetDriverVersion())
    except Exception:  # noqa: BLE001 - the same
        return None
