"""A world: traffic, a router, replicas of an engine; and what can be done to it."""

from __future__ import annotations

import hashlib
import heapq
from typing import TYPE_CHECKING

from labs.simulator.engine import Engine
from labs.simulator.front import Front
from labs.simulator.gateway import Gateway, refusal
from labs.simulator.memory import supervise
from labs.simulator.memory.state import Memory
from labs.simulator.router import Policy, RoundRobin, RouterDelay
from labs.simulator.workload import Burst, Workload

if TYPE_CHECKING:
    from labs.simulator.clients import Clients, ClosedLoopSpec
    from labs.simulator.cost_model import CostModel
    from labs.simulator.faults import Fault
    from labs.simulator.hardware.state import Hardware
    from labs.simulator.kernels import Kernels
    from labs.simulator.request import Request
    from labs.simulator.scheduler import EngineConfig


class Cluster:
    """A router, engines and a workload, advanced together. Picklable at any point; deterministic.

    For each request the router draws a delay and a point for shedding from two streams of its own, whether it needs them or not, so that a change alters
    nothing but what it is about.
    """

    memory_kind: type[Memory] = Memory
    """What follows the memory of a replica, and its starts."""

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
        hardware: Hardware | None = None,
        policy: Policy = RoundRobin(),  # noqa: B008
        clients: Clients | None = None,
        closed_loop: ClosedLoopSpec | None = None,
        gateway: Gateway = Gateway(),  # noqa: B008
    ) -> None:
        """Make a world at ``start_s`` with ``replicas`` idle engines; ``faults`` are (at_s, fault).

        With ``hardware``, ``cost`` is that of a step on healthy hardware; what ails a replica's GPUs comes on top.
        """
        if replicas < 1:
            raise ValueError(f"{replicas=}: must be at least 1")
        self.config = config
        self.cost = cost
        self.workload = workload
        self.router_delay = router_delay
        self.shed_share = 0.0
        self.max_tokens_limit: int | None = None
        self.now_s = start_s
        self.requests: list[Request] = []
        """All that clients sent, in the order of sending."""
        self.memory: dict[int, Memory] = {}
        """The memory of those replicas whose memory the world follows."""
        self.kernels: dict[int, Kernels] = {}
        """The kernels of those replicas that do not run with the best for the hardware, or of which a lab tells."""
        self._sample_every_s = sample_every_s
        self.engines = [self._engine(config, cost, start_s) for _ in range(replicas)]
        self.hardware = hardware
        if hardware is not None:
            for replica, engine in enumerate(self.engines):
                engine.set_cost(hardware.cost(replica, cost))
        self.front = Front(
            self,
            seed=seed,
            policy=policy,
            clients=clients,
            closed_loop=closed_loop,
            gateway=gateway,
        )
        self._faults: list[tuple[float, int, Fault]] = []
        self._num_faults = 0
        for at_s, fault in faults:
            self.schedule(at_s, fault)

    def _engine(self, config: EngineConfig, cost: CostModel, start_s: float) -> Engine:
        return Engine(config, cost, start_s=start_s, sample_every_s=self._sample_every_s)

    def schedule(self, at_s: float, fault: Fault) -> None:
        """Let ``fault`` happen when the clock reaches ``at_s``. Raises ValueError for a time that is over."""
        if at_s < self.now_s:
            raise ValueError(f"{at_s=} is before {self.now_s}")
        heapq.heappush(self._faults, (at_s, self._num_faults, fault))
        self._num_faults += 1

    def advance(self, until_s: float) -> None:
        """Run the world until ``until_s``, seconds; engines may end the step that they are in after it."""
        while self._faults and self._faults[0][0] <= until_s:
            at_s, _, fault = heapq.heappop(self._faults)
            self._run(at_s)
            fault.strike(self, at_s)
        self._run(until_s)

    def _run(self, until_s: float) -> None:
        if until_s < self.now_s:
            return
        self.front.run(until_s)
        self.now_s = until_s

    def add_replica(
        self, ready_at_s: float, config: EngineConfig | None = None, cost: CostModel | None = None
    ) -> int:
        """Start another engine, cold; the router uses it from ``ready_at_s`` on. Return its index."""
        cost = cost or self.cost
        if 0 in self.kernels:  # The same image, and the same environment.
            self.kernels[len(self.engines)] = self.kernels[0]
            cost = self.kernels[0].cost(cost)
        if self.hardware is not None:
            cost = self.hardware.added(cost, self.now_s)
        self.engines.append(self._engine(config or self.config, cost, max(ready_at_s, self.now_s)))
        self.front.add_replica()
        return len(self.engines) - 1

    def set_router_delay(self, delay: RouterDelay) -> None:
        """Change the delay of requests sent from now on."""
        self.router_delay = delay

    def shed(self, share: float) -> None:
        """Refuse ``share`` (0 to 1) of the requests sent from now on with a 429; they are lost."""
        if not 0 <= share <= 1:
            raise ValueError(f"{share=}: must be in [0, 1]")
        self.shed_share = share

    def refusal_of(self, request: Request) -> tuple[int, str] | None:
        """Return (status, reason) if a request is refused for what it is, by the gateway or the engine behind it."""
        return refusal(self.front.gateway, self.engines[0].config, request)

    def limit_max_tokens(self, n: int | None) -> None:
        """Cut requests sent from now on to ``n`` outputs (they are marked ``cut``); None lifts the limit."""
        if n is not None and n < 1:
            raise ValueError(f"{n=}: must be at least 1")
        self.max_tokens_limit = n

    def restart_engine(
        self, replica: int, config: EngineConfig, cost: CostModel, down_s: float
    ) -> None:
        """Restart one engine, see ``Engine.restart``; meanwhile the router uses the others, if there are any.

        Where the world follows its memory, the start takes its own time and may fail: ``down_s`` is not looked at.
        """
        engine = self.engines[replica]
        self.front.stopping.discard(replica)
        if replica in self.kernels:
            cost = self.kernels[replica].cost(cost)
        if self.hardware is not None:
            cost = self.hardware.restarted(replica, cost, engine.cost, self.now_s)
        if replica in self.memory:
            supervise.restart_as(self, replica, config, cost)
        else:
            engine.restart(config, cost, down_s=down_s)

    def stop_engine(self, replica: int, shutdown_timeout_s: float) -> None:
        """Tell the server of one engine to stop; see ``labs.simulator.lifetime.ShutDown``."""
        self.front.stop(replica, shutdown_timeout_s)

    def inject_burst(self, factor: float, from_s: float, to_s: float) -> None:
        """Multiply the rate of arrivals by ``factor`` from ``from_s`` to ``to_s``, both ahead of the clock."""
        if from_s < self.now_s:
            raise ValueError(f"{from_s=} is before {self.now_s}")
        self.workload.add_burst(Burst(factor, from_s, to_s))

    def digest(self) -> str:
        """Return the SHA-256 of all that the world has done and is about to do, in hexadecimal.

        Two worlds with equal digests have the same requests, timings, samples and queues, and
        will go on in the same way.
        """
        digest = hashlib.sha256()
        for engine in self.engines:
            digest.update(repr(engine.state()).encode())
        for request in self.requests:
            if request.index < 0:  # An engine's state holds those that it was given.
                digest.update(repr(request.state()).encode())
        rest = (
            self.now_s, self.shed_share, self.max_tokens_limit, self.front.state(),
            sorted(self._faults, key=lambda entry: entry[:2]), self.workload.state(),
        )  # fmt: skip
        digest.update(repr(rest).encode())
        if self.hardware is not None:
            digest.update(repr(self.hardware.state()).encode())
        for replica, memory in sorted(self.memory.items()):
            digest.update(repr((replica, memory.state())).encode())
        if self.kernels:
            digest.update(repr(sorted(self.kernels.items(), key=lambda each: each[0])).encode())
        return digest.hexdigest()
