"""A line of a log, and what decides which lines there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from labs.instruments.clock import time_of

if TYPE_CHECKING:
    from labs.instruments.logs.kernels import Kernels


@dataclass(frozen=True)
class Entry:
    """One line, before it is stamped. The process's name, which vLLM puts first, is left out."""

    t_s: float
    level: str
    source: str
    """File and line of vLLM that writes it; empty where no capture has it."""
    text: str

    def __str__(self) -> str:
        """Return the line as vLLM prints it."""
        source = f"[{self.source}] " if self.source else ""
        return f"{self.level} {stamp(self.t_s)} {source}{self.text}"


@dataclass(frozen=True)
class Settings:
    """What a server was started with that shows in its log."""

    log_requests: bool = False
    """``--enable-log-requests``: arrivals and aborts are told. Off by default."""
    kernels: Kernels | None = None
    """What it chose at its start; None where nobody looks."""


def stamp(t_s: float) -> str:
    """Return the cluster's clock at an incident second, as in a line of the log."""
    return f"{time_of(t_s // 1):%m-%d %H:%M:%S}"
