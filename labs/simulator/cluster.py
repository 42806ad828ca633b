"""A world: traffic, a router, replicas of an engine; and what can be done to it (bodies follow)."""

from dataclasses import dataclass

from labs.simulator.cost_model import CostModel
from labs.simulator.engine import Engine
from labs.simulator.request import Request
from labs.simulator.scheduler import EngineConfig
from labs.simulator.workload import RequestClass, Workload


@dataclass(slots=True, frozen=True)
class RouterDelay:
    """Time from the client's send to the engine, lognormal."""

    median_s: float
    p95_s: float


@dataclass(slots=True, frozen=True)
class Leak:
    """Blocks that leave the free list, once, or every ``every_s`` until ``until_s``."""

    replica: int
    n_blocks: int
    every_s: float | None = None
    until_s: float | None = None


@dataclass(slots=True, frozen=True)
class RouterDelayChange:
    """The router's delay from now on."""

    delay: RouterDelay


@dataclass(slots=True, frozen=True)
class MixChange:
    """The mix of requests from now on."""

    classes: tuple[RequestClass, ...]


@dataclass(slots=True, frozen=True)
class RateChange:
    """Requests per second from now on."""

    rate: float


@dataclass(slots=True, frozen=True)
class CostChange:
    """The cost of a step on one replica from now on."""

    replica: int
    cost: CostModel


type Fault = Leak | RouterDelayChange | MixChange | RateChange | CostChange


class Cluster:
    """A router, engines and a workload, advanced together. Picklable; deterministic."""

    engines: list[Engine]
    requests: list[Request]
    workload: Workload
    now_s: float

    def __init__(
        self,
        config: EngineConfig,
        cost: CostModel,
        workload: Workload,
        *,
        seed: int | str,
        router_delay: RouterDelay,
        replicas: int = 1,
        start_s: float = 0.0,
        faults: tuple[tuple[float, Fault], ...] = (),
        sample_every_s: float = 5.0,
    ) -> None: ...

    def advance(self, until_s: float) -> None: ...
    def add_replica(self, ready_at_s: float, config: EngineConfig | None = None, cost: CostModel | None = None) -> int: ...
    def set_router_delay(self, delay: RouterDelay) -> None: ...
    def shed(self, share: float) -> None: ...
    def limit_max_tokens(self, n: int | None) -> None: ...
    def restart_engine(self, replica: int, config: EngineConfig, cost: CostModel, down_s: float) -> None: ...
    def inject_burst(self, factor: float, from_s: float, to_s: float) -> None: ...
    def digest(self) -> str: ...
