"""The engine's core for the common config, in closed form where it can be.

Between two events (an admission, a preemption, a finish) every decoding request gets one token a
step. So nobody is looked at: a heap knows who finishes at which step, sixteen counters know how
many need a new block at it, and the sum of the KV tokens knows how long it takes. A stretch of
such steps is advanced at once; the times are a sum of an arithmetic series of whole picoseconds,
so they are the same as one step at a time.

This holds under fcfs without prefix caching and without a long-prefill threshold, with a budget
for at least every running request: then at most one running request is in the middle of its
prefill, and it is the last one.
"""

from labs.simulator.calendar_scheduler import CalendarScheduler
from labs.simulator.config import EngineConfig
from labs.simulator.cost_model import CostModel
from labs.simulator.decode_calendar import steps_within
from labs.simulator.prefix_scheduler import PrefixScheduler
from labs.simulator.request import Request
from labs.simulator.timeline import Timeline


class CalendarCore:
    """The calendar's scheduler on a clock."""

    def __init__(self, config: EngineConfig, cost: CostModel, timeline: Timeline) -> None:
        self.config = config
        self.cost = cost
        self.timeline = timeline
        self._lost_blocks = 0
        """Of requests that ended in this step: blocks that do not come back."""
        self.scheduler = (PrefixScheduler if config.enable_prefix_caching else CalendarScheduler)(
            config
        )

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
        return self.scheduler.num_free

    @property
    def _step_end_ps(self) -> int:
        """When the last step ended, while anything runs: a pause may have followed it."""
        return self.timeline.now_ps - self.timeline.lost_ps

    def add(self, request: Request) -> None:
        """Let a request wait."""
        self.scheduler.waiting.append(request)

    def remove(self, request: Request) -> None:
        """Take out a request that runs or waits."""
        self.scheduler.remove(request, self._step_end_ps)

    def leak(self, n_blocks: int) -> int:
        """Lose up to ``n_blocks`` free blocks; return how many."""
        taken = min(n_blocks, self.scheduler.num_free)
        self.scheduler.num_free -= taken
        return taken

    def relimit(self, request: Request) -> None:
        """Take note that ``output_limit`` of a running request has changed."""
        if request.ticket:
            self.scheduler.decoding.end(request, self._step_end_ps)
            self.scheduler.decoding.begin(request)

    def steps_to_end(self) -> int | None:
        """Return after how many steps, at the earliest, a request may end: 0 if at once, None if there is none."""
        scheduler = self.scheduler
        if not scheduler.running:
            return 0 if scheduler.waiting else None
        if not scheduler.decoding.count:
            return min(1, len(scheduler.running) - 1)
        steps = 1
        if scheduler.prefilling is None and not scheduler.waiting:
            steps = scheduler.decoding.steps_to_finish()
        if len(scheduler.running) == 1:  # Alone and without a block, it never goes on.
            steps = scheduler.decoding.steps_with_blocks(steps, scheduler.num_free)
        return steps

    def sync(self) -> None:
        """Write the counts of decoding requests back to them."""
        for request in self.scheduler.running:
            if request.ticket:
                self.scheduler.decoding.write_back(request, self._step_end_ps)

    def advance(self, until_ps: int) -> None:
        """Run steps until the clock reaches ``until_ps``; a step begun before it ends after it."""
        timeline, scheduler = self.timeline, self.scheduler
        pending = timeline.pending
        while timeline.now_ps < until_ps:
            if pending and pending[0].arrival_ps <= timeline.now_ps:
                self._let_in(timeline.now_ps)
            if scheduler.running or scheduler.waiting:
                if timeline.pauses is not None and timeline.pause(scheduler.waiting):
                    continue
                self._step(until_ps)
            else:
                timeline.lost_ps = 0
                timeline.now_ps = min(until_ps, pending[0].arrival_ps) if pending else until_ps
                timeline.sample(timeline.now_ps, ())

    def _let_in(self, until_ps: int) -> None:
        timeline = self.timeline
        pending = timeline.pending
        while pending and pending[0].arrival_ps <= until_ps:
            request = pending.popleft()
            if request.prompt_tokens >= self.config.max_model_len:
                timeline.give_up(request, "error", request.arrival_ps)
            else:
                self.scheduler.waiting.append(request)

    def _step(self, until_ps: int) -> None:
        """Run one step, or the stretch of pure decode that begins with it."""
        scheduler, timeline = self.scheduler, self.timeline
        prefills, preempted, admitted = scheduler.schedule(timeline.now_ps, self._step_end_ps)
        timeline.preemptions += len(preempted)
        if not scheduler.running:
            # Nothing runs, and the head does not fit into all that is left: it never will.
            timeline.give_up(scheduler.waiting.popleft(), "error", timeline.now_ps)
            timeline.gauge(0, len(scheduler.waiting), scheduler.num_free)
        elif prefills or preempted:
            self._mixed(prefills, preempted, admitted)
        else:
            scheduler.num_free += scheduler.decoding.blocks_needed()
            self._stretch(until_ps)

    def _mixed(
        self, prefills: list[tuple[Request, int]], preempted: tuple[Request, ...], admitted: int
    ) -> None:
        """Run one step with prefill in it, or one after a preemption."""
        timeline, cost, scheduler = self.timeline, self.cost, self.scheduler
        decoding = len(scheduler.running) - len(prefills)
        prefill = recomputed = 0
        for request, n in prefills:
            prefill += n
            again = (
                min(request.num_computed_tokens + n, request.computed_high)
                - request.num_computed_tokens
            )
            if again > 0:
                recomputed += again
                request.recomputed_tokens += again
        tokens = decoding + prefill
        scheduler.kv_tokens += tokens
        kv_tokens = scheduler.kv_tokens
        took_ps = (
            cost.base_ps
            + kv_tokens * cost.per_kv_token_ps
            + prefill * cost.per_prefill_token_ps
            + len(scheduler.running) * cost.per_sequence_ps
            + tokens * cost.per_token_ps
            + cost.added_ps(tokens)
        )
        end_ps = timeline.now_ps + took_ps
        if timeline.next_sample_ps < end_ps:
            timeline.sample(end_ps - 1, scheduler.waiting)
        timeline.now_ps = end_ps
        gap_ps = took_ps + timeline.lost_ps
        timeline.lost_ps = 0
        scheduler.decoding.tick(1, gap_ps)
        timeline.book(
            cost,
            steps=1,
            busy_ps=took_ps,
            tokens=tokens,
            prefill=prefill,
            recomputed=recomputed,
            kv_tokens=kv_tokens,
            collectives_ps=cost.collectives_ps(tokens),
        )
        if scheduler.prefix_queries:
            timeline.book_prefixes(scheduler.prefix_queries, scheduler.prefix_hits)
            scheduler.prefix_queries = scheduler.prefix_hits = 0
        if decoding:
            timeline.book_gaps(gap_ps, decoding)
        finished = scheduler.decoding.take_finished()
        self._finish(finished, end_ps)
        outputs, prompts, done = decoding, 0, []
        scheduler.prefilling = None
        for request, n in prefills:
            request.num_computed_tokens += n
            if request.num_computed_tokens < request.prefill_target:
                scheduler.prefilling = request
                continue
            outputs += 1
            request.num_output_tokens += 1
            prompts += timeline.book_output(request, end_ps)
            if request.num_output_tokens >= request.output_limit:
                done.append(request)
            else:
                scheduler.decoding.begin(request)
        self._finish(done, end_ps)
        timeline.book_outputs(outputs, prompts)
        self._show()
        timeline.tell(
            start_ps=end_ps - took_ps,
            tokens=tokens,
            prefill=prefill,
            kv_tokens=kv_tokens,
            admitted=[request for request, _ in prefills[len(prefills) - admitted :]],
            preempted=preempted,
            finished=finished + done,
        )

    def _stretch(self, until_ps: int) -> None:
        """Run pure decode until the next event: a finish, a shortage, an arrival that matters, a sample."""
        timeline, cost, scheduler = self.timeline, self.cost, self.scheduler
        running = len(scheduler.running)
        growth_ps = running * cost.per_kv_token_ps
        first_ps = cost.base_ps + scheduler.kv_tokens * cost.per_kv_token_ps + growth_ps
        first_ps += running * (cost.per_sequence_ps + cost.per_token_ps) + cost.added_ps(running)
        now_ps = timeline.now_ps
        steps = 1
        if timeline.on_step is None:
            steps = scheduler.decoding.steps_to_finish()
            steps = scheduler.decoding.steps_with_blocks(steps, scheduler.num_free)
        last_start_ps = until_ps - now_ps - 1
        lost_ps, timeline.lost_ps = timeline.lost_ps, 0
        if lost_ps:
            steps = 1
        elif timeline.pauses is not None:
            steps = min(steps, timeline.pauses.next_step - timeline.steps)
            last_start_ps = min(last_start_ps, timeline.pauses.next_ps - now_ps - 1)
        if timeline.pending and not scheduler.waiting and running < self.config.max_num_seqs:
            last_start_ps = min(last_start_ps, timeline.pending[0].arrival_ps - now_ps - 1)
        if timeline.next_sample_ps - now_ps < first_ps:
            timeline.sample(now_ps + first_ps - 1, scheduler.waiting)
        room_ps = max(timeline.next_sample_ps - now_ps, first_ps)
        took_ps = steps * first_ps + growth_ps * (steps * (steps - 1) // 2)
        last_ps = first_ps + growth_ps * (steps - 1)
        if took_ps > room_ps or took_ps - last_ps > last_start_ps:
            steps = min(
                steps,
                steps_within(room_ps, first_ps, growth_ps),
                1 + steps_within(last_start_ps, first_ps, growth_ps),
            )
            took_ps = steps * first_ps + growth_ps * (steps * (steps - 1) // 2)
            last_ps = first_ps + growth_ps * (steps - 1)
        scheduler.num_free -= scheduler.decoding.blocks_for(steps)
        end_ps = timeline.now_ps = now_ps + took_ps
        scheduler.decoding.tick(steps, last_ps + lost_ps)
        kv_tokens = steps * scheduler.kv_tokens + running * (steps * (steps + 1) // 2)
        scheduler.kv_tokens += running * steps
        timeline.book(
            cost,
            steps=steps,
            busy_ps=took_ps,
            tokens=running * steps,
            prefill=0,
            recomputed=0,
            kv_tokens=kv_tokens,
            collectives_ps=cost.collectives_ps(running) * steps,
        )
        timeline.book_growing_gaps(first_ps + lost_ps, growth_ps, steps, running)
        timeline.book_outputs(running, 0, steps)
        pending = timeline.pending
        if pending and pending[0].arrival_ps <= end_ps - last_ps:
            self._let_in(end_ps - last_ps)
        finished = scheduler.decoding.take_finished()
        self._finish(finished, end_ps)
        self._show()
        timeline.tell(
            start_ps=end_ps - last_ps,
            tokens=running,
            prefill=0,
            kv_tokens=kv_tokens,
            admitted=(),
            preempted=(),
            finished=finished,
        )

    def _show(self) -> None:
        """Set the gauges as the step that has just ended leaves them, and take a sample that is due."""
        timeline, scheduler = self.timeline, self.scheduler
        if self._lost_blocks:
            timeline.leaked_blocks += self.leak(self._lost_blocks)
            self._lost_blocks = 0
        timeline.gauge(len(scheduler.running), len(scheduler.waiting), scheduler.num_free)
        if timeline.next_sample_ps <= timeline.now_ps:
            timeline.sample(timeline.now_ps, scheduler.waiting)

    def _finish(self, finished: list[Request], end_ps: int) -> None:
        timeline = self.timeline
        for request in finished:
            self.scheduler.remove(request, end_ps)
            if timeline.end(request, end_ps) and timeline.loses_cancelled:
                self._lost_blocks += request.private_blocks(self.config.block_size)
