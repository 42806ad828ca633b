"""A live world: the simulator's router, clients and faults, in real time, before engines that are real."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labs.live import leaving, servers, startup_logs
from labs.live.replicas import Replica
from labs.live.starts import RealStarts
from labs.live.streams import completion
from labs.live.wires import Clock, Wire
from labs.simulator.cluster import Cluster
from labs.simulator.gateway import refusal
from labs.simulator.http_answers import SERVER_ERROR
from labs.simulator.turnover import Turnover

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from labs.live.launching import Launch
    from labs.live.machines import Machine
    from labs.live.streams import Ask
    from labs.simulator.config import EngineConfig
    from labs.simulator.cost_model import CostModel
    from labs.simulator.faults import Fault
    from labs.simulator.request import Request
    from labs.simulator.workload import Workload

TICK_S = 0.01
"""How late a request may be sent, at most."""


def _first_turnover(faults: Sequence[tuple[float, Fault]]) -> tuple[Turnover | None, float]:
    """Return how replicas are stopped that are started before a fault changes that, and until when that holds.

    A vLLM keeps the ``--shutdown-timeout`` that it was started with: an engine that meets the fault has what the fault
    says. Nothing is stopped before.
    """
    found = [(fault, at_s) for at_s, fault in faults if isinstance(fault, Turnover)]
    return found[0] if found else (None, float("-inf"))


class LiveCluster(Cluster):
    """A cluster whose clock is the wall's and whose engines are processes.

    Between two calls of ``advance`` no new request is sent; streams go on. Not picklable, and never deterministic.
    """

    memory_kind = RealStarts

    def __init__(
        self,
        config: EngineConfig,
        cost: CostModel,
        workload: Workload,
        *,
        launch: Callable[[int, EngineConfig], Launch],
        model: str,
        ready_within_s: float,
        start_s: float,
        ask: Ask = completion,
        made: Callable[..., Replica] = Replica,
        machine: Machine | None = None,
        **others: Any,
    ) -> None:
        """Make a world at ``start_s``, its engines not started; ``launch`` gives the start of a replica's engine.

        ``made`` makes a replica, and ``machine`` is the box where its devices are part of the world.
        """
        self._kind = made
        self.machine = machine
        self.not_undone: list[str] = []
        """After ``close``: a sentence for each thing that was done to the box and could not be undone."""
        self._launch = launch
        self.model = model
        self._ask = ask
        self._ready_within_s = ready_within_s
        self.wire = Wire()
        self.clock = Clock.standing_at(start_s)
        self._made = 0
        self._first, self._first_until_s = _first_turnover(others.get("faults", ()))
        self._start_s = start_s
        self.breathe: Callable[[], None] = lambda: None
        """Called many times a second while the world advances; may raise to stop."""
        try:
            super().__init__(config, cost, workload, start_s=start_s, **others)
        except BaseException:
            self.wire.close()
            raise

    def _engine(self, config: EngineConfig, cost: CostModel, start_s: float) -> Any:
        replica = self._made
        self._made += 1
        return self._kind(
            config,
            cost,
            start_s=start_s,
            wire=self.wire,
            clock=lambda: self.clock,
            launch=lambda knobs: self._launched(replica, knobs),
            model=self.model,
            ready_within_s=self._ready_within_s,
            ask=self._ask,
            priorities=None if self.machine is None else self.machine.priorities,
            passes_on=self._passes_on,
        )

    def _launched(self, replica: int, config: EngineConfig) -> Launch:
        """Return the start of a replica, with the time that it gives what runs once it is told to stop."""
        launch = self._launch(replica, config)
        turnover = self._first if self.now_s < self._first_until_s else self.front.turnover
        if turnover is None:
            return launch
        return replace(
            launch, argv=(*launch.argv, leaving.FLAG, f"{turnover.shutdown_timeout_s:.0f}")
        )

    def stop_engine(self, replica: int, shutdown_timeout_s: float) -> None:
        """Tell a replica's engine to stop: SIGTERM, and what it does then is its own."""
        self.replicas[replica].shut_down(shutdown_timeout_s)

    def refusal_of(self, request: Request) -> tuple[int, str] | None:
        """Return what the gateway refuses by itself; all else the engine is asked, with whatever is wrong in it."""
        return refusal(self.front.gateway, self.engines[0].config, request, only_own=True)

    def _passes_on(self, request: Request) -> None:
        """Make of an engine's refusal what the gateway makes of it."""
        if request.refusal and self.front.gateway.wraps_refusals:
            request.http_status = SERVER_ERROR

    @property
    def replicas(self) -> list[Replica]:
        """Its engines, as what they are."""
        found: list[Any] = list(self.engines)
        return found

    def begin(self, tell: Callable[[float, str], None] | None = None) -> None:
        """Start every engine, and the clock once all answer. Raises EngineError."""
        if self.machine is not None:
            self.machine.look()
        # All together: a large model takes minutes to load.
        for replica in self.replicas:
            replica.wake()
        for replica in self.replicas:
            replica.wait(tell)
        self.clock = Clock.standing_at(self._start_s)
        for replica in self.replicas:
            replica.answer()

    def advance(self, until_s: float) -> None:
        """Let the world run until the wall's clock shows ``until_s``."""
        while True:
            now_s = min(self.clock.now_s(), until_s)
            super().advance(now_s)
            self._hear()
            self.breathe()
            if now_s >= until_s:
                return
            time.sleep(TICK_S)

    def keep_up(self) -> None:
        """Let happen what is due by now."""
        super().advance(max(self.now_s, self.clock.now_s()))
        self._hear()

    def _hear(self) -> None:
        """Note how the starts went that are over: one that failed is part of the incident, and ends nothing."""
        for replica, followed in self.memory.items():
            engine = self.replicas[replica]
            if not isinstance(followed, RealStarts) or not followed.is_under_way:
                continue
            if engine.is_dead:
                # One that was never started wrote nothing: its log ends with the process before.
                began = isinstance(engine.failure, servers.EngineDied | servers.NotReady)
                log = startup_logs.read(engine) if began else ""
                followed.failed(self.now_s, log, str(engine.failure))
            elif not engine.is_down:
                followed.came_up(self.now_s, startup_logs.read(engine))

    def close(self) -> None:
        """End the load and every engine, and undo what was done to the box; nothing is left behind."""
        with ExitStack() as ends:  # The last comes first, and each however the others went.
            ends.callback(self._undo)
            ends.callback(self._close_engines)
            ends.callback(self.wire.close)

    def _close_engines(self) -> None:
        """At once, not in turn: an engine that is deaf takes its whole grace, and a holder is silent meanwhile."""
        with ThreadPoolExecutor(len(self.replicas)) as hands:
            for closing in [hands.submit(replica.close) for replica in self.replicas]:
                closing.result()

    def _undo(self) -> None:
        if self.machine is not None:
            self.not_undone = self.machine.undo()
