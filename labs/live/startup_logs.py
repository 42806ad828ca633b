"""What a real engine said while it started last: its lines, the kernels that it names there, and how far a failed one came.

Lines as vLLM 0.32 writes them: ``Using FLASH_ATTN attention backend out of …``, ``Selected CutlassFP8… for …``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from labs.console import filtered
from labs.instruments.sources import SOURCES
from labs.instruments.take import Shown
from labs.live import servers

if TYPE_CHECKING:
    from collections.abc import Collection

    from labs.console import Command
    from labs.live.replicas import Replica
    from labs.simulator.memory.phases import PhaseName

UP = "Application startup complete"
"""The last line of a start."""
READ_BYTES = 1_000_000
"""The most of a log that is read for what an engine said while it started."""
_NAMED = {
    "attention_backend": re.compile(r"Using (?:AttentionBackendEnum\.)?(\w+) attention backend"),
    "linear_kernel": re.compile(r"Selected (\w+) for "),
}
_REACHED: tuple[tuple[PhaseName, str], ...] = (
    ("kv sizing", r"To serve at least one request|No available memory for the cache blocks"),
    ("memory check", r"Free memory on device"),
    ("warm-up", r"KV cache size: "),
    ("kv sizing", r"Explicitly set .* for KV cache|Available KV cache memory"),
    ("profile", r"Initializing model took|Loading weights took|Model loading took"),
    ("weight load", r"Starting to load model"),
    ("device init", r"Initializing a V1 LLM engine"),
)
"""(phase, what a log holds that failed in it), the first that holds; without any of them no engine was up yet."""


def phase_of(log: str) -> PhaseName:
    """Return the phase in which a start failed, by the log of it."""
    found = (phase for phase, mark in _REACHED if re.search(mark, log))
    return next(found, "arguments")


_POOL = re.compile(r"KV cache size: ([\d,]+) tokens|estimated maximum model length is (\d+)")


def pool_of(log: str) -> int | None:
    """Return the tokens of the pool that a start laid out, or found too small; None if it did not come so far."""
    found = _POOL.search(log)
    return None if found is None else int((found[1] or found[2]).replace(",", ""))


def start_of(log: str) -> str:
    """Return the lines of a start from a log that begins with it."""
    lines = log.splitlines()
    end = next((at for at, line in enumerate(lines) if UP in line), len(lines) - 1)
    return "\n".join(lines[: end + 1])


def read(engine: Replica) -> str:
    """Return what an engine said while it started last, also of one that did not come up; '' if there is nothing."""
    if engine.log_path is None:
        return ""
    try:
        with engine.log_path.open("rb") as log:
            log.seek(engine.telling.log_began)
            text = log.read(READ_BYTES).decode(errors="replace")
    except OSError:
        return ""
    return servers.plain(start_of(text))


def take(text: str, command: Command, signals: Collection[str]) -> Shown:
    """Return the lines of a start that a command leaves, and those of ``signals`` that they show."""
    left = filtered(text, command.filters)
    lines = left.splitlines()
    marks = SOURCES[command.verb].marks(command)
    seen = {name for mark, name in marks.items() if any(re.search(mark, each) for each in lines)}
    found = {name: _named(pattern, lines) for name, pattern in _NAMED.items() if name in seen}
    return Shown(
        left or "(no line matches)",
        {name: value for name, value in found.items() if name in signals},
    )


def _named(pattern: re.Pattern[str], lines: list[str]) -> str | None:
    return next((found[1] for line in lines if (found := pattern.search(line))), None)
