"""Recognise errors after which the CUDA context answers every call with an error."""

from __future__ import annotations

import re

import torch

_FAULTS = re.compile(
    r"CUDA error|Triton Error \[CUDA\]: .*(illegal|misaligned|launch failure|unspecified)", re.IGNORECASE
)


def is_device_fault(error: BaseException) -> bool:
    """Return whether `error` leaves the device unusable for this process, so that a fresh one must go on."""
    return isinstance(error, getattr(torch, "AcceleratorError", ())) or bool(_FAULTS.search(str(error)))
