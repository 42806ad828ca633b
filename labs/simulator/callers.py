"""Somebody new who calls: requests of a kind of their own, on top of those that come already."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.simulator.workload import RequestClass


@dataclass(slots=True, frozen=True)
class NewCaller:
    """From now on ``rate`` requests per second of ``kind`` come as well; the others come as often as before."""

    kind: RequestClass
    rate: float

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Raise the rate and let the new ones have what is above the old. Raises ValueError for no rate."""
        if self.rate <= 0:
            raise ValueError(f"{self.rate=}: a caller calls")
        workload = cluster.workload
        before = workload.rate_at(at_s)
        weight = sum(kind.share for kind in workload.spec.classes)
        new = replace(self.kind, share=weight * self.rate / before)
        workload.set_classes((*workload.spec.classes, new))
        workload.set_rate(before + self.rate, at_s)
