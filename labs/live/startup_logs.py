"""What a real engine said while it started last, and the kernels that it names there.

Lines as vLLM 0.32 writes them: ``Using FLASH_ATTN attention backend out of …``, ``Selected CutlassFP8… for …``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from labs.console import filtered
from labs.instruments.sources import SOURCES
from labs.instruments.take import Shown

if TYPE_CHECKING:
    from collections.abc import Collection

    from labs.console import Command

UP = "Application startup complete"
"""The last line of a start."""
_NAMED = {
    "attention_backend": re.compile(r"Using (?:AttentionBackendEnum\.)?(\w+) attention backend"),
    "linear_kernel": re.compile(r"Selected (\w+) for "),
}


def start_of(log: str) -> str:
    """Return the lines of a start from a log that begins with it."""
    lines = log.splitlines()
    end = next((at for at, line in enumerate(lines) if UP in line), len(lines) - 1)
    return "\n".join(lines[: end + 1])


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
