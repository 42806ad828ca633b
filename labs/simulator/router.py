"""The router in front of the replicas: how long it takes, and whom it picks."""

import math
from dataclasses import dataclass

from labs.simulator.metrics import NORMAL_P95


@dataclass(slots=True, frozen=True)
class RouterDelay:
    """Time from the client's send to the engine, lognormal."""

    median_s: float
    p95_s: float
    """Equal to the median for a constant delay."""

    def __post_init__(self) -> None:
        """Refuse a delay below 0 and a 95th percentile below the median."""
        if not 0 <= self.median_s <= self.p95_s or (self.median_s == 0 and self.p95_s > 0):
            raise ValueError(f"not a delay: {self}")

    def at(self, z: float) -> float:
        """Return the delay at the standard normal deviate ``z``, seconds."""
        if self.median_s == self.p95_s:
            return self.median_s
        return self.median_s * math.exp(math.log(self.p95_s / self.median_s) / NORMAL_P95 * z)
