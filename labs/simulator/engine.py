"""One replica of a model: a scheduler on a clock, its metrics, and what can be done to it."""

from collections.abc import Callable

from labs.simulator.calendar_core import CalendarCore
from labs.simulator.calendar_scheduler import is_eligible
from labs.simulator.cost_model import CostModel
from labs.simulator.pauses import NEVER, Pause, PauseClock
from labs.simulator.request import Request, Status, to_ps, to_s
from labs.simulator.scheduler import EngineConfig
from labs.simulator.stepping import SteppingCore
from labs.simulator.telemetry import Process, Sample, StepRecord
from labs.simulator.timeline import Timeline


class Engine:
    """An engine that serves requests in simulated time. Picklable at any point; deterministic.

    ``advance`` in pieces gives the same bytes as ``advance`` at once. A request that the engine
    can never hold does not spin: one whose prompt leaves no room in max_model_len ends on arrival, one
    that the whole pool (less what has leaked) cannot hold ends when it is alone at the head. Both
    become ABORTED with ``finish_reason`` error.
    """

    def __init__(
        self,
        config: EngineConfig,
        cost: CostModel,
        *,
        start_s: float = 0.0,
        sample_every_s: float = 5.0,
        closed_form: bool = True,
    ) -> None:
        """Make an idle engine at ``start_s``, seconds.

        ``sample_every_s`` is the grid of ``samples``. ``closed_form=False`` runs every step by itself,
        for tests: the result is the same.
        """
        self.requests: list[Request] = []
        """All that were ever submitted, in order of arrival."""
        self.closed_form = closed_form
        self._timeline = Timeline(to_ps(start_s), to_ps(sample_every_s))
        self._down_until_ps = self._timeline.now_ps
        self._slowdown = 1.0
        self._open(config, cost)

    def _open(self, config: EngineConfig, cost: CostModel) -> None:
        self.config = config
        self.cost = cost
        timeline = self._timeline
        timeline.usable_blocks = config.usable_blocks
        timeline.leaked_blocks = 0
        kind = CalendarCore if self.closed_form and is_eligible(config) else SteppingCore
        self._core: CalendarCore | SteppingCore = kind(
            config, cost.scaled(self._slowdown), timeline
        )
        timeline.gauge(0, 0, config.usable_blocks)

    def submit(self, request: Request) -> None:
        """Hand over a request; the first step that starts at or after its arrival sees it.

        Raises ValueError if it arrives before the one submitted last, has been submitted, or
        lacks the token ids that prefix caching needs.
        """
        if self.requests and request.arrival_ps < self.requests[-1].arrival_ps:
            raise ValueError(f"{request.request_id}: arrives before {self.requests[-1].request_id}")
        if request.index >= 0:
            raise ValueError(f"{request.request_id}: submitted twice")
        if self.config.needs_token_ids and request.prompt_token_ids is None:
            raise ValueError(f"{request.request_id}: prefix caching needs prompt_token_ids")
        request.index = len(self.requests)
        if self.config.prefix_hashing == "token_ids" and request.prompt_token_ids is not None:
            request.output_token_ids = []
        self._limit(request)
        self.requests.append(request)
        self._timeline.arrive(request)

    def _limit(self, request: Request) -> None:
        room = self.config.max_model_len - request.prompt_tokens
        request.output_limit = max(1, min(request.max_tokens, room))
        cancel = request.cancel_tokens
        if cancel is not None and request.num_output_tokens < cancel < request.output_limit:
            request.output_limit = (
                request.output_limit if self._timeline.keeps_cancelled else cancel
            )

    def advance(self, until_s: float) -> None:
        """Run until the clock is at ``until_s`` or past it; a step begun before it ends after it.

        An idle or stopped engine stands at ``until_s`` exactly. A time in the past does nothing.
        """
        self.advance_ps(to_ps(until_s))
        self._core.sync()

    def advance_ps(self, until_ps: int) -> None:
        """Do as ``advance``, in picoseconds, and leave the counts of decoding requests behind: ``sync`` them."""
        timeline = self._timeline
        if timeline.now_ps < min(until_ps, self._down_until_ps):
            timeline.now_ps = min(until_ps, self._down_until_ps)
            timeline.sample(timeline.now_ps, self._core.waiting)
        self._core.advance(until_ps)

    def sync(self) -> None:
        """Bring the counts of decoding requests up to date."""
        self._core.sync()

    def watch_ends(self) -> None:
        """Keep from now on a list of the requests that end, for ``take_ended``."""
        if self._timeline.ended is None:
            self._timeline.ended = []

    def take_ended(self) -> list[Request]:
        """Return the requests that have ended since the last call, in the order of ending."""
        ended = self._timeline.ended or []
        if ended:
            self._timeline.ended = []
        return ended

    def earliest_end_ps(self) -> int:
        """Return a time before which no request that is here can end: past the clock, and past any idle time."""
        timeline = self._timeline
        steps = self._core.steps_to_end()
        if timeline.pending:
            steps = min(steps or 0, 1)
        if steps is None:
            return NEVER
        start_ps = max(timeline.now_ps, self._down_until_ps)
        return start_ps + max(1, steps * self._core.cost.base_ps)

    def restart(self, config: EngineConfig, cost: CostModel, *, down_s: float) -> None:
        """Stop, and come back ``down_s`` seconds later with another config and cost.

        All that ran or waited waits again in order of arrival, and keeps its outputs: the gateway
        sends prompt and outputs as a new prompt. Leaked blocks are free again; the prefix cache is
        empty. A request that no longer fits into max_model_len ends with an error.

        Raises ValueError if ``down_s`` is negative or a request lacks what the config needs.
        """
        if down_s < 0:
            raise ValueError(f"{down_s=}: must not be negative")
        if config.needs_token_ids and any(
            r.prompt_token_ids is None for r in self.requests if r.finish_ps is None
        ):
            raise ValueError("prefix caching needs prompt_token_ids of every request")
        self._core.sync()
        timeline = self._timeline
        again = sorted(
            (*self._core.running, *self._core.waiting), key=lambda request: request.index
        )
        self._down_until_ps = timeline.now_ps + to_ps(down_s)
        timeline.lost_ps = 0
        timeline.begin_process(self._down_until_ps)
        self._open(config, cost)
        for request in timeline.pending:
            self._limit(request)
        for request in again:
            request.computed_high = max(request.computed_high, request.num_computed_tokens)
            request.num_computed_tokens = request.num_blocks = request.ticket = 0
            request.status = Status.WAITING
            request.queued_ps = timeline.now_ps
            if request.num_tokens >= config.max_model_len:
                timeline.give_up(request, "error", timeline.now_ps)
            else:
                self._limit(request)
                self._core.add(request)
        timeline.gauge(0, len(self._core.waiting), config.usable_blocks)

    def abort(self, request: Request) -> None:
        """End a request that has not ended, and free its blocks; one that has ended is left alone.

        Raises ValueError for a request that was not submitted here.
        """
        if request.finish_ps is not None or self._timeline.keeps_cancelled:
            return
        if (
            not (0 <= request.index < len(self.requests))
            or self.requests[request.index] is not request
        ):
            raise ValueError(f"{request.request_id}: not a request of this engine")
        pending = self._timeline.pending
        free = self._core.num_free
        if request.status is Status.STRANDED:
            pass
        elif pending and request.index >= pending[0].index:
            pending.remove(request)
        else:
            self._core.remove(request)
        self._timeline.give_up(request, "abort", self._timeline.now_ps)
        if self._timeline.loses_cancelled:
            self._timeline.leaked_blocks += self._core.leak(self._core.num_free - free)
        self._show()

    def set_aborts(self, *, run_on: bool = False, lose_blocks: bool = False) -> None:
        """Set how aborts fail from now on: requests ``run_on`` to their length, or their blocks never come back.

        Both False is an engine in order: an abort frees what the request held when the step under way ends.
        What ran on before runs on.
        """
        self._core.sync()
        timeline = self._timeline
        timeline.keeps_cancelled, timeline.loses_cancelled = run_on, lose_blocks
        for request in (*self._core.running, *self._core.waiting, *timeline.pending):
            self._limit(request)
            self._core.relimit(request)

    def kill(self) -> None:
        """End the engine's process at once, until a restart: whoever streams from it hears nothing, not even an end.

        Source: vLLM 0.32.0 under SIGTERM with ``--shutdown-timeout 0``: three clients in flight got neither
        an error nor an end of stream within their own time limits (one observation).
        """
        self._core.sync()
        timeline = self._timeline
        for request in (*self._core.running, *self._core.waiting, *timeline.pending):
            request.status = Status.STRANDED
            request.num_blocks = request.ticket = 0
        timeline.pending.clear()
        timeline.lost_ps = 0
        self._down_until_ps = NEVER
        timeline.begin_process(NEVER)
        self._open(self.config, self.cost)

    def set_pauses(self, pauses: tuple[Pause, ...]) -> None:
        """Pause so from now on, and no longer as before."""
        timeline = self._timeline
        timeline.pauses = PauseClock(pauses, timeline.now_ps, timeline.steps) if pauses else None

    @property
    def pauses(self) -> tuple[Pause, ...]:
        """How it pauses now."""
        clock = self._timeline.pauses
        return () if clock is None else clock.rules

    @property
    def busy_s(self) -> float:
        """Time within steps so far, seconds."""
        return to_s(self._timeline.busy_ps)

    @property
    def paused_s(self) -> float:
        """Time lost to pauses between steps so far, seconds; no part of ``busy_s``."""
        return to_s(self._timeline.paused_ps)

    def leak(self, n_blocks: int) -> int:
        """Lose up to ``n_blocks`` free blocks until the next restart; return how many were free to lose."""
        if n_blocks < 0:
            raise ValueError(f"{n_blocks=}: must not be negative")
        taken = self._core.leak(n_blocks)
        self._timeline.leaked_blocks += taken
        self._show()
        return taken

    def _show(self) -> None:
        self._timeline.gauge(len(self._core.running), len(self._core.waiting), self._core.num_free)

    def set_cost(self, cost: CostModel) -> None:
        """Change what a step costs, from the next step on."""
        self.cost = cost
        self._core.cost = cost.scaled(self._slowdown)

    @property
    def slowdown(self) -> float:
        """Factor on the time of each step, from the next one on: 1 but for a profiler or a fault."""
        return self._slowdown

    @slowdown.setter
    def slowdown(self, factor: float) -> None:
        self._core.cost = self.cost.scaled(factor)
        self._slowdown = factor

    @property
    def on_step(self) -> Callable[[StepRecord], None] | None:
        """Called after each step; not pickled. Slow: while someone listens, every step runs by itself."""
        return self._timeline.on_step

    @on_step.setter
    def on_step(self, listener: Callable[[StepRecord], None] | None) -> None:
        self._timeline.on_step = listener

    @property
    def now_s(self) -> float:
        """The engine's clock, seconds."""
        return to_s(self._timeline.now_ps)

    @property
    def ready_s(self) -> float:
        """When it can take its first step since its start or latest restart, seconds."""
        return to_s(self._down_until_ps)

    @property
    def is_dead(self) -> bool:
        """True if it was killed and has not been restarted."""
        return self._down_until_ps == NEVER

    @property
    def is_down(self) -> bool:
        """True while a restart is under way."""
        return self._timeline.now_ps < self._down_until_ps

    @property
    def samples(self) -> list[Sample]:
        """The metrics on their grid, oldest first."""
        return self._timeline.samples

    @property
    def processes(self) -> list[Process]:
        """The lives of the server's process, one more with each restart, oldest first."""
        return self._timeline.processes

    @property
    def waiting(self) -> tuple[Request, ...]:
        """Waiting requests that a step has seen, the next to be admitted first."""
        return tuple(self._core.waiting)

    @property
    def running(self) -> tuple[Request, ...]:
        """Running requests, in order of admission."""
        return tuple(self._core.running)

    @property
    def num_unfinished(self) -> int:
        """Requests that run, wait, or have arrived unseen."""
        return self.num_queued + len(self._core.running)

    @property
    def is_full(self) -> bool:
        """True if so many wait that its server refuses what comes."""
        limit = self.config.max_num_queued_reqs
        return limit is not None and self.num_queued >= limit

    @property
    def num_queued(self) -> int:
        """Requests that wait or have arrived unseen."""
        return len(self._core.waiting) + len(self._timeline.pending)

    @property
    def num_free_blocks(self) -> int:
        """Blocks that nobody holds."""
        return self._core.num_free

    @property
    def num_leaked_blocks(self) -> int:
        """Blocks lost since the last restart."""
        return self._timeline.leaked_blocks

    @property
    def num_used_blocks(self) -> int:
        """Blocks that requests hold; the leaked are not among them."""
        return self.config.usable_blocks - self._core.num_free - self._timeline.leaked_blocks

    def state(self) -> tuple[object, ...]:
        """Return what the engine is, in plain values: equal states have the same past and the same future."""
        core = self._core
        return (
            self.config, self.cost, self._slowdown, self._down_until_ps, core.num_free,
            [request.index for request in core.waiting], [request.index for request in core.running],
            [request.index for request in self._timeline.pending], self._timeline.state(),
            [request.state() for request in self.requests],
        )  # fmt: skip

    @property
    def kv_cache_usage_perc(self) -> float:
        """Share of the pool that is not free, 0 to 1; the leaked count as used."""
        return 1.0 - self._core.num_free / self.config.usable_blocks
