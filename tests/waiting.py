"""Waiting for what another process does: on a busy machine no number of seconds is enough."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

LINUX = sys.platform == "linux"  # elsewhere, seconds have to do


def until(condition: Callable[[], object], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"it did not come in {seconds:.0f} s"
        time.sleep(0.002)


def cpu_seconds(process: subprocess.Popen) -> float:
    """CPU time that a process has taken so far."""
    if process.poll() is not None:
        raise ProcessLookupError(f"it has ended with {process.returncode}")
    return time.clock_gettime(~process.pid << 3 | 2) if LINUX else time.monotonic()


def until_at_work(process: subprocess.Popen, seconds: float = 0.3) -> None:
    """Until the process has taken so much more CPU time."""
    begun = cpu_seconds(process)
    until(lambda: cpu_seconds(process) >= begun + seconds)


def until_idle(process: subprocess.Popen) -> None:
    """Until all threads of the process sleep, and go on sleeping, as if they waited for a pipe."""
    threads = Path(f"/proc/{process.pid}/task")

    def is_idle() -> bool:
        before = cpu_seconds(process)
        time.sleep(0.05 if LINUX else 2.0)
        states = {path.read_text().rpartition(")")[2].split()[0] for path in threads.glob("*/stat")}
        return states <= {"S"} and (cpu_seconds(process) == before or not LINUX)

    until(is_idle)
