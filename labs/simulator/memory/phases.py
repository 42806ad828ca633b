"""What a start is made of: its phases and how long each takes, its lines, and how it fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from labs.simulator.memory.ledger import Ledger
    from labs.simulator.memory.messages import LogLine

type PhaseName = Literal[
    "arguments",
    "device init",
    "memory check",
    "weight load",
    "profile",
    "kv sizing",
    "graph capture",
    "warm-up",
]

DEVICE_INIT_S = 8.0
"""Processes, imports, CUDA contexts, communicators. Scenario constant (vLLM on a small model is up in 20 to 37 s)."""
PROCESSOR_INIT_S = 20.0
"""The same on a processor with two cores, of which a second engine has one: mostly imports. Measured."""
WEIGHTS_GB_PER_S = 5.0
"""All ranks together, from a local NVMe disk. Scenario constant."""
COMPILE_COLD_S, COMPILE_CACHED_S = 52.3, 7.3
"""torch.compile of the first start, and with its cache on disk. Scenario constants, as users' logs print them."""
PROFILE_S = 3.4
KV_SIZING_S = 0.4
CAPTURE_S_EACH = 7.0 / 51
"""Scenario constant: 7 s for the 51 default sizes, as users' logs print it."""
WARM_UP_S = 2.5


@dataclass(slots=True, frozen=True)
class Phase:
    """One phase of a start, in seconds after the start of the process."""

    name: PhaseName
    from_s: float
    to_s: float


@dataclass(slots=True, frozen=True)
class Failure:
    """Where and why a start failed."""

    phase: PhaseName
    rank: int
    error: str
    """``ValueError`` or ``torch.OutOfMemoryError``."""
    message: str
    after_s: float


@dataclass(slots=True, frozen=True)
class StartUp:
    """One start: it either is ready or has failed."""

    ledger: Ledger
    phases: tuple[Phase, ...]
    lines: tuple[LogLine, ...]
    ready_after_s: float | None
    failure: Failure | None

    @property
    def took_s(self) -> float:
        """Seconds until it was ready or had failed."""
        return self.phases[-1].to_s


class Other(NamedTuple):
    """Another process on one GPU of the group."""

    pid: int
    n_bytes: int


type Others = tuple[tuple[Other, ...], ...]
"""By rank; ranks that are not named have the GPU to themselves."""
