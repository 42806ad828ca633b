"""One real engine with the surface of the simulator's: its requests, samples and processes, and what can be done to it."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from labs.live import leaving, servers
from labs.live.streams import completion
from labs.live.telling import Telling
from labs.live.upstreams import Upstreams
from labs.simulator.pauses import NEVER
from labs.simulator.telemetry import Process

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from labs.live.iterations import Iteration
    from labs.live.launching import Launch
    from labs.live.scraping import OtherMetrics, Page
    from labs.live.streams import Ask
    from labs.live.wires import Clock, Wire
    from labs.simulator.config import EngineConfig
    from labs.simulator.cost_model import CostModel
    from labs.simulator.pauses import Pause
    from labs.simulator.request import Request
    from labs.simulator.telemetry import Sample

NOT_YET = float("inf")
"""When a process is ready that is not."""


class Unwanted(servers.EngineError):
    """A start is broken off: whoever wanted the engine does not any more."""


class Replica:
    """An engine that runs. The gateway holds what comes while it is down, and sends it once it answers."""

    def __init__(
        self,
        config: EngineConfig,
        cost: CostModel,
        *,
        start_s: float,
        wire: Wire,
        clock: Callable[[], Clock],
        launch: Callable[[EngineConfig], Launch],
        model: str,
        ready_within_s: float,
        ask: Ask = completion,
        priorities: Mapping[str, int] | None = None,
        passes_on: Callable[[Request], None] = lambda request: None,
    ) -> None:
        self.config = config
        self.cost = cost
        self.processes: list[Process] = []
        self.slowdown = 1.0
        """What an instrument costs a real engine, it costs by itself."""
        self.pauses: tuple[Pause, ...] = ()
        self.server: servers.Server | None = None
        self.failure: servers.EngineError | None = None
        """Why there is no engine any more, once there is none."""
        self.is_lost = False
        """Whether it has ended by itself, or is not what it was taken for. One that was killed, or that did not come up
        with the settings it was given, may be started anew."""
        self.log_path: Path | None = None
        """Of its engine, also of one that is down."""
        self._start_s = start_s
        self._clock = clock
        self._launch = launch
        self._model = model
        self._ready_within_s = ready_within_s
        self._priorities = {} if priorities is None else priorities
        self._stopped_s = start_s
        self._restarting: threading.Thread | None = None
        self._leaving: leaving.Leaving | None = None
        """Its engine, once it was told to stop and while its port is open."""
        self._gone: list[servers.Server] = []
        """Those whose port is closed, while they still hold what nobody will end."""
        self._unwanted = threading.Event()
        """Set while a start under way is to be broken off."""
        self.upstreams = Upstreams(
            wire,
            clock,
            model=model,
            ask=ask,
            passes_on=passes_on,
            is_leaving=lambda: self._leaving is not None,
        )
        self.telling = Telling(
            wire, clock, oldest_waiting_s=self._oldest_waiting_s, other=self._unknown
        )

    # ------------------------------------------------------------------------------ life

    def start(self, tell: Callable[[float, str], None] | None = None) -> None:
        """Start the engine and wait until it answers. Raises EngineError."""
        self.wake()
        self.wait(tell)

    def wake(self) -> None:
        """Start the engine's process. Raises EngineError."""
        launch = self._launch(self.config)
        self.log_path = launch.log_path
        self.server = servers.start(launch)
        self.telling.read_log(launch.log_path, self.server.log_at)

    def wait(self, tell: Callable[[float, str], None] | None = None) -> None:
        """Wait until the started engine answers; one that does not is stopped. Raises EngineError."""
        server = self.server
        if server is None:
            return
        try:
            servers.wait_ready(server, within_s=self._ready_within_s, tell=tell)
        except BaseException as exc:
            servers.stop(server)
            self.server = None
            if isinstance(exc, servers.EngineError):
                self.failure = exc
            raise

    def answer(self) -> None:
        """Note that the engine answers from now on, send what was held, and scrape it."""
        now_s = self._clock().now_s()
        if not self.processes:
            self.processes.append(Process(self._stopped_s, now_s, None))
        elif self.processes[-1].up_s == NOT_YET:
            self.processes[-1] = replace(self.processes[-1], up_s=now_s)
        if self.server is not None:
            self.telling.listen(self.server.base_url)
        self.upstreams.release(self._address)

    def _down(self) -> None:
        self.telling.hush()
        self._stopped_s = self.telling.rest()
        if self.processes and self.processes[-1].up_s != NOT_YET:
            # The next one, which answers at a time that nobody knows yet.
            self.processes.append(Process(self._stopped_s, NOT_YET, self.telling.base))

    def restart(self, config: EngineConfig, cost: CostModel, *, down_s: float) -> None:
        """Stop the engine, and start another with this config in a thread; ``down_s`` is whatever it takes.

        What was under way is sent again when it answers, prompt and outputs as a new prompt, as a gateway would.
        """
        del down_s
        self._break_off()
        self._leaving = None
        self._down()
        self.config, self.cost = config, cost
        self.upstreams.hold_open()
        self._restarting = threading.Thread(target=self._again, name="live-restart", daemon=True)
        self._restarting.start()

    def set_pauses(self, pauses: tuple[Pause, ...]) -> None:
        """Note how a start was meant; a real engine pauses by itself.

        Where the first steps are to pay for the warm-up, the start passes for ready from now on: the router sends, and
        the gateway holds what comes until the engine answers.
        """
        self.pauses = pauses
        is_cold = any(pause.times is not None for pause in pauses)
        if is_cold and self.is_starting and self.processes[-1].up_s == NOT_YET:
            self.processes[-1] = replace(self.processes[-1], up_s=self._clock().now_s())

    def shut_down(self, shutdown_timeout_s: float) -> None:
        """Tell the engine to stop, as whoever replaces machines does; ``look`` notices when it is gone.

        What streams from it when its port closes is stranded: no error and no end comes, until its client goes.
        """
        if self._restarting is not None or self.server is None:
            self.kill()
            return
        if self._leaving is None:
            self._leaving = leaving.Leaving(self.server, shutdown_timeout_s)
        self._follow_out(self._leaving)

    def _follow_out(self, out: leaving.Leaving) -> None:
        if not out.is_told and out.may_be_told(self.num_unfinished):
            out.tell()
        if not out.is_gone():
            return
        self._leaving, self.server = None, None
        self._gone.append(out.server)
        self._down()
        self.upstreams.strand()
        self.failure = servers.EngineDied("The engine was told to stop, and has gone.")

    def _again(self) -> None:
        try:
            if self.server is not None:
                server, self.server = self.server, None
                servers.stop(server)
            self.start(self._unless_closing)
            self.failure, self.is_lost = None, False
        except servers.EngineError as exc:
            self.failure = exc
        except Exception as exc:  # noqa: BLE001  (nobody else hears of it: this is a thread)
            self.failure = servers.EngineError(f"The engine could not be started: {exc}.")

    def _unless_closing(self, share: float, doing: str) -> None:
        del share, doing
        if self._unwanted.is_set():
            raise Unwanted("The engine was stopped while it started.")

    def _break_off(self) -> None:
        """End a restart under way: whoever wants another one, or none, does not wait for the minutes of a start."""
        self._unwanted.set()
        self.join()
        self._unwanted.clear()

    def join(self, timeout_s: float | None = None) -> None:
        """Wait for a restart under way."""
        if self._restarting is not None:
            self._restarting.join(timeout_s)

    def kill(self) -> None:
        """Kill the engine; what it had under way is stranded."""
        self._break_off()
        self._leaving = None
        self._down()
        if self.server is not None:
            servers.stop(self.server, grace_s=0.0)
            self.server = None
        self.failure = servers.EngineDied("The engine was killed.")

    def close(self) -> None:
        """Stop everything; nothing is left behind. A restart under way is broken off. Safe to call twice."""
        self._break_off()
        self.telling.hush(wait=False)
        if self.server is not None:
            server, self.server = self.server, None
            servers.stop(server)
        while self._gone:
            servers.stop(self._gone.pop())

    def look(self) -> None:
        """Notice what has happened since: a restart that is over, an engine that died by itself."""
        restarting = self._restarting
        if restarting is not None:
            if restarting.is_alive():
                return
            self._restarting = None
            if self.failure is None:
                self.answer()
            return
        self._gone = [each for each in self._gone if not leaving.has_ended(each)]
        if self._leaving is not None:
            self._follow_out(self._leaving)
        elif self.server is not None and not self.server.is_alive:
            self.failure, self.is_lost = servers.EngineDied(servers.why_ended(self.server)), True
            servers.stop(self.server)
            self.server = None
            self._down()

    # --------------------------------------------------------------------------- requests

    def submit(self, request: Request) -> None:
        """Hand over a request."""
        room = self.config.max_model_len - request.prompt_tokens
        request.output_limit = max(1, min(request.max_tokens, room))
        request.priority = self._priorities.get(request.request_class, request.priority)
        self.upstreams.hand_over(request, self._address)

    @property
    def _address(self) -> str | None:
        """Where its engine answers; None while it does not."""
        return None if self.server is None or self.is_starting else self.server.base_url

    def abort(self, request: Request) -> None:
        """Note that the client of a request has gone."""
        self.upstreams.leave(request)

    def set_aborts(self, *, run_on: bool = False, lose_blocks: bool = False) -> None:
        """Set whether the gateway reads on when a client goes, so that the engine runs on; what it reads on, it reads on.

        Raises ValueError for ``lose_blocks``: vLLM gives the blocks of what is aborted back.
        """
        if lose_blocks:
            raise ValueError("no real engine loses the blocks of what is aborted")
        self.upstreams.reads_on = run_on

    def watch_ends(self) -> None:
        """Ends are always watched."""

    def take_ended(self) -> list[Request]:
        """Return the requests that have ended since the last call."""
        return self.upstreams.take_ended()

    def earliest_end_ps(self) -> int:
        """Return a time that never comes: what ends is heard of afterwards."""
        return NEVER

    def advance_ps(self, until_ps: int) -> None:
        """A real engine runs by itself."""
        del until_ps
        self.look()

    def sync(self) -> None:
        """Counts are always up to date."""

    def set_cost(self, cost: CostModel) -> None:
        """Note what a step would cost in the simulator; a real one costs what it costs."""
        self.cost = cost

    # ----------------------------------------------------------------------------- gauges

    @property
    def requests(self) -> list[Request]:
        return self.upstreams.requests

    @property
    def samples(self) -> list[Sample]:
        return self.telling.samples

    @property
    def page(self) -> Page | None:
        """The last read of ``/metrics``."""
        return self.telling.page

    @property
    def steps(self) -> deque[tuple[float, Iteration]]:
        """(when its line was read, what the engine's log says of it)."""
        return self.telling.steps

    def _oldest_waiting_s(self, now_s: float) -> float:
        return max((now_s - request.arrival_s for request in self.waiting), default=0.0)

    def _unknown(self, page: OtherMetrics) -> None:
        # Said before it counts: another thread looks.
        self.failure = servers.EngineError(str(page))
        self.is_lost = True

    @property
    def ready_s(self) -> float:
        """Since when it passes for ready: as a rule since it answers, see ``set_pauses``."""
        return self.processes[-1].up_s if self.processes else NOT_YET

    @property
    def is_down(self) -> bool:
        return self.server is None or self._restarting is not None or not self.processes

    @property
    def is_starting(self) -> bool:
        """Whether a restart is under way."""
        return self._restarting is not None

    @property
    def is_dead(self) -> bool:
        return self.failure is not None and self._restarting is None

    @property
    def is_full(self) -> bool:
        """Return False: the engine itself answers 503 when it is."""
        return False

    @property
    def running(self) -> tuple[Request, ...]:
        return tuple(r for r in self.upstreams.open() if r.first_token_ps is not None)

    @property
    def waiting(self) -> tuple[Request, ...]:
        """Those that have no token yet; which of them the engine has begun to compute, only it knows."""
        return tuple(r for r in self.upstreams.open() if r.first_token_ps is None)

    @property
    def num_unfinished(self) -> int:
        return len(self.upstreams.open())

    @property
    def num_queued(self) -> int:
        return self.samples[-1].waiting if self.samples else 0

    @property
    def num_free_blocks(self) -> int:
        usage = self.samples[-1].kv_cache_usage_perc if self.samples else 0.0
        return round((1 - usage) * self.config.usable_blocks)

    @property
    def num_leaked_blocks(self) -> int:
        return 0

    def state(self) -> tuple[object, ...]:
        """Return what is known of it, in plain values."""
        return (
            self.config,
            tuple(request.state() for request in self.requests),
            tuple(self.samples),
            tuple(self.processes),
        )
