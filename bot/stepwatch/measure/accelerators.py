"""Whether this machine can have the accelerator that was asked for, told before anything large is built."""

from __future__ import annotations

from pathlib import Path

_DRIVER_SIGNS = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg")
"""Any of them is there where NVIDIA's driver is: Linux, a container, Windows' subsystem for Linux."""


def accelerator_fault(accelerator: str) -> str | None:
    """Why nothing can be measured on `accelerator` here; None when nothing speaks against it."""
    if accelerator == "cpu" or any(Path(sign).exists() for sign in _DRIVER_SIGNS):
        return None
    return (
        f"{accelerator} was asked for, but this machine has no NVIDIA driver: "
        "install it, or measure with `--accelerator cpu`"
    )
