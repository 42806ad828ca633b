"""Somebody else's process on a GPU: it holds memory and keeps the GPU busy in bursts.

Run as a file by a Python that has torch, the engine's::

    python burner.py --memory-mib 3000 --busy-s 52 --idle-s 46 --seed 7 --limit-s 3600

It stops by itself at the limit, and as soon as whoever started it is gone. ``--stop LEASE`` ends those of a lease, which
are known by the variable COURSEWARE_LEASE in their environment; it needs no torch and says nothing if there are none.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "COURSEWARE_LEASE"
PARENT = "COURSEWARE_PARENT"
"""The variable that says which process it must not outlive."""
PROC = Path("/proc")
SIDE = 8192
"""Rows of the square matrices that it multiplies: 1.1e12 FLOP each, 1.6 ms at 700 TFLOPS in BF16."""
OWN_MIB = 800
"""What its CUDA context and matrices take of the memory that it is to hold. An estimate."""
LOOK_EVERY_S = 0.5
STOP_WITHIN_S = 8.0
MIB = 2**20


def bursts(seed: str, busy_s: float, idle_s: float) -> Iterator[tuple[bool, float]]:
    """Yield (is busy, seconds), a pause first; each lasts between half and one and a half of its mean.

    The same draws as the simulator's ``NeighbourTurn``. ``busy_s`` 0: never busy.
    """
    number = 0
    while True:
        is_busy = number % 2 == 1
        mean_s = busy_s if is_busy else idle_s
        draw = random.Random(f"neighbour:{seed}:{number}")
        yield is_busy and busy_s > 0, mean_s * draw.uniform(0.5, 1.5)
        number += 1


def run(options: argparse.Namespace, parent: int) -> int:
    """Hold memory and burn until the limit, a signal, or the end of the parent."""
    # Only here: --stop works without, and the site's environment has none.
    torch = importlib.import_module("torch")
    until = time.monotonic() + options.limit_s
    held = torch.empty(max(0, options.memory_mib - OWN_MIB) * MIB, dtype=torch.uint8, device="cuda")
    side = torch.randn(SIDE, SIDE, dtype=torch.bfloat16, device="cuda") if options.busy_s else None
    for is_busy, lasts_s in bursts(options.seed, options.busy_s, max(options.idle_s, LOOK_EVERY_S)):
        ends = min(until, time.monotonic() + lasts_s)
        while time.monotonic() < ends:
            if os.getppid() != parent:
                return 0
            if is_busy and side is not None:
                for _ in range(16):
                    side @ side
                torch.cuda.synchronize()
            else:
                time.sleep(LOOK_EVERY_S)
        if time.monotonic() >= until:
            break
    del held
    return 0


def of_lease(lease: str) -> list[int]:
    """Return the burners of a lease, never this process."""
    found = []
    for each in PROC.iterdir():
        if not each.name.isdecimal() or int(each.name) == os.getpid():
            continue
        try:
            words = (each / "cmdline").read_bytes().split(b"\0")
            environment = (each / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        mine = any(word.endswith(b"/burner.py") for word in words[:3])
        if mine and b"--stop" not in words and f"{MARK}={lease}".encode() in environment:
            found.append(int(each.name))
    return found


def stop(lease: str) -> int:
    """End the burners of a lease: SIGTERM, then SIGKILL. Returns 1 if one is left."""
    until = time.monotonic() + STOP_WITHIN_S
    number = signal.SIGTERM
    while left := of_lease(lease):
        now = time.monotonic()
        if now > until:
            return 1
        for pid in left:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                continue
        if now > until - STOP_WITHIN_S / 2:
            number = signal.SIGKILL
        time.sleep(0.1)
    return 0


def main() -> int:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description="Keep a GPU busy in bursts, for a while.")
    parser.add_argument("--memory-mib", type=int, default=1024)
    parser.add_argument("--busy-s", type=float, default=0.0, help="mean of a burst; 0: memory only")
    parser.add_argument("--idle-s", type=float, default=1.0, help="mean of a pause")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--limit-s", type=float, default=3600.0, help="it stops by itself then")
    parser.add_argument("--stop", metavar="LEASE", help="end those of a lease instead")
    options = parser.parse_args()
    if options.stop:
        return stop(options.stop)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    return run(options, int(os.environ.get(PARENT, os.getppid())))


if __name__ == "__main__":
    sys.exit(main())
