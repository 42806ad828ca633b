"""The engine's core for any config: one step at a time, every running request looked at in each."""

from zlib import crc32

from labs.simulator.cost_model import CostModel
from labs.simulator.request import Request
from labs.simulator.scheduler import EngineConfig, Scheduler, StepPlan
from labs.simulator.timeline import Timeline


class SteppingCore:
    """The scheduler on a clock."""

    def __init__(self, config: EngineConfig, cost: CostModel, timeline: Timeline) -> None:
        self.config = config
        self.cost = cost
        self.timeline = timeline
        self.scheduler = Scheduler(config)
        self._names_texts = config.enable_prefix_caching and config.prefix_hashing == "groups"

    @property
    def waiting(self) -> tuple[Request, ...]:
        """Waiting requests that a step has seen, in order of admission."""
        return tuple(self.scheduler.waiting)

    @property
    def running(self) -> tuple[Request, ...]:
        """Running requests, in order of admission."""
        return tuple(self.scheduler.running)

    @property
    def num_free(self) -> int:
        """Free blocks."""
        return self.scheduler.pool.num_free

    def add(self, request: Request) -> None:
        """Let a request wait."""
        if self._names_texts and request.prompt_token_ids is None:
            name_tokens(request)
        self.scheduler.add(request)

    def remove(self, request: Request) -> None:
        """Take out a request that runs or waits."""
        self.scheduler.remove(request)

    def leak(self, n_blocks: int) -> int:
        """Lose up to ``n_blocks`` free blocks; return how many."""
        return self.scheduler.pool.leak(n_blocks)

    def relimit(self, request: Request) -> None:
        """Take note that ``output_limit`` of a running request has changed: every step looks."""

    def steps_to_end(self) -> int | None:
        """Return after how many steps, at the earliest, a request may end: 0 if at once, None if there is none."""
        if self.scheduler.running:
            return min(1, len(self.scheduler.running) - 1)
        return 0 if self.scheduler.waiting else None

    def sync(self) -> None:
        """Bring the counts of running requests up to date: they are."""

    def advance(self, until_ps: int) -> None:
        """Run steps until the clock reaches ``until_ps``; a step begun before it ends after it."""
        timeline, scheduler = self.timeline, self.scheduler
        while timeline.now_ps < until_ps:
            pending = timeline.pending
            while pending and pending[0].arrival_ps <= timeline.now_ps:
                request = pending.popleft()
                if request.prompt_tokens >= self.config.max_model_len:
                    timeline.give_up(request, "error", request.arrival_ps)
                else:
                    self.add(request)
            if scheduler.running or scheduler.waiting:
                if timeline.pause(scheduler.waiting):
                    continue
                self._step()
            else:
                timeline.lost_ps = 0
                timeline.now_ps = min(until_ps, pending[0].arrival_ps) if pending else until_ps
                timeline.sample(timeline.now_ps, ())

    def _step(self) -> None:
        timeline, scheduler = self.timeline, self.scheduler
        plan = scheduler.schedule()
        timeline.preemptions += len(plan.preempted)
        for request in plan.preempted:
            request.queued_ps = timeline.now_ps
        for request in plan.new + plan.resumed:
            if request.first_scheduled_ps is None:
                request.first_scheduled_ps = timeline.now_ps
        if not plan.scheduled:
            # Nothing runs, and the head does not fit into all that is left: it never will.
            head = scheduler.waiting.head()
            scheduler.remove(head)
            timeline.give_up(head, "error", timeline.now_ps)
            timeline.gauge(len(scheduler.running), len(scheduler.waiting), self.num_free)
            return
        self._book(plan)

    def _book(self, plan: StepPlan) -> None:
        timeline, scheduler = self.timeline, self.scheduler
        tokens = kv_tokens = prefill = recomputed = 0
        for request, n in plan.scheduled.items():
            computed = request.num_computed_tokens
            tokens += n
            kv_tokens += computed + n
            if computed < request.prefill_target:
                prefill += n
                again = max(0, min(computed + n, request.computed_high) - computed)
                recomputed += again
                request.recomputed_tokens += again
        took_ps = self.cost.step_ps(
            kv_tokens=kv_tokens,
            prefill_tokens=prefill,
            sequences=len(plan.scheduled),
            tokens=tokens,
        )
        start_ps = timeline.now_ps
        end_ps = start_ps + took_ps
        timeline.sample(end_ps - 1, scheduler.waiting)
        timeline.now_ps = end_ps
        emitted, finished = scheduler.update(plan)
        timeline.book(
            self.cost,
            steps=1,
            busy_ps=took_ps,
            tokens=tokens,
            prefill=prefill,
            recomputed=recomputed,
            kv_tokens=kv_tokens,
            collectives_ps=self.cost.collectives_ps(tokens),
        )
        if scheduler.prefix_queries:
            timeline.book_prefixes(scheduler.prefix_queries, scheduler.prefix_hits)
            scheduler.prefix_queries = scheduler.prefix_hits = 0
        prompts = sum(timeline.book_output(request, end_ps) for request in emitted)
        timeline.book_outputs(len(emitted), prompts)
        timeline.lost_ps = 0
        for request in finished:
            if timeline.end(request, end_ps) and timeline.loses_cancelled:
                lost = request.private_blocks(self.config.block_size)
                timeline.leaked_blocks += self.leak(lost)
        timeline.gauge(len(scheduler.running), len(scheduler.waiting), self.num_free)
        timeline.sample(end_ps, scheduler.waiting)
        if timeline.on_step is not None:
            admitted = {*plan.new, *plan.resumed}
            timeline.tell(
                start_ps=start_ps,
                tokens=tokens,
                prefill=prefill,
                kv_tokens=kv_tokens,
                admitted=[request for request in plan.scheduled if request in admitted],
                preempted=plan.preempted,
                finished=finished,
            )


def name_tokens(request: Request) -> None:
    """Give ``request`` token ids that are equal to another's just where both begin with the same named text."""
    ids: list[int] = []
    for name, tokens in request.prefix:
        ids.extend((crc32(name.encode()) << 24) + place for place in range(len(ids), tokens))
    own = (1 << 60) + (request.index << 24)
    ids.extend(own + place for place in range(len(ids), request.num_tokens))
    request.prompt_token_ids = tuple(ids[: request.prompt_tokens])
    request.output_token_ids = ids[request.prompt_tokens :]
