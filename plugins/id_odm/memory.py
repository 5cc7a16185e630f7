"""What memory the machine has left, so that large arrays are refused before they are taken."""

from __future__ import annotations

import os
from pathlib import Path


def available_bytes() -> int | None:
    """Bytes this process can still take: the machine's, or less inside a container; None where nothing tells."""
    free: list[int] = []
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free.append(1024 * int(line.split()[1]))
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        if limit != "max":
            free.append(int(limit) - int(Path("/sys/fs/cgroup/memory.current").read_text()))
    except (OSError, ValueError, IndexError):
        pass  # not Linux, or no such control group: what was found so far counts
    if not free and hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        free.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(free) if free else None


def fits(needed: int) -> bool:
    """Whether the machine has so many bytes left, as far as it tells."""
    free = available_bytes()
    return free is None or needed <= free


def announce(needed: int, n: int) -> None:
    """Raise MemoryError with the numbers when `needed` bytes for n samples are more than there are."""
    free = available_bytes()
    if free is not None and needed > free:
        raise MemoryError(
            f"{n} samples need {needed / 2**20:.0f} MiB and {free / 2**20:.0f} MiB are available; "
            "nothing was changed (window or max_samples bounds the number of samples)"
        )
