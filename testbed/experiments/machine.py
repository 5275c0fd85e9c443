"""What a page says of the machine that it was measured on."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from pathlib import Path


def machine() -> Mapping[str, str | float]:
    """Processor, cores, system, Python, and how busy it is at this moment."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()
