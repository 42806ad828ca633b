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

from collections import deque

from labs.simulator.cost_model import CostModel
from labs.simulator.decode_calendar import DecodeCalendar, steps_within
from labs.simulator.request import Request, Status
from labs.simulator.scheduler import EngineConfig
from labs.simulator.timeline import Timeline


def is_eligible(config: EngineConfig) -> bool:
    """Say whether the calendar can run ``config``."""
    return (
        config.policy == "fcfs"
        and not config.enable_prefix_caching
        and config.long_prefill_token_threshold == 0
        and config.max_num_batched_tokens >= config.max_num_seqs
    )


class CalendarCore:
    """Running and waiting requests, of which the decoding are only counted."""

    __slots__ = (
        "_decoding", "_prefilling", "_watermark",
        "config", "cost", "kv_tokens", "num_free", "running", "timeline", "waiting",
    )  # fmt: skip

    def __init__(self, config: EngineConfig, cost: CostModel, timeline: Timeline) -> None:
        self.config = config
        self.cost = cost
        self.timeline = timeline
        self.waiting: deque[Request] = deque()
        self.running: list[Request] = []
        self.num_free = config.usable_blocks
        self.kv_tokens = 0
        """Sum of num_computed_tokens over the running."""
        self._watermark = config.watermark_blocks
        self._decoding = DecodeCalendar(config.block_size)
        self._prefilling: Request | None = None
        """The request in the middle of its prefill: the last of the running."""

    def add(self, request: Request) -> None:
        """Let a request wait."""
        self.waiting.append(request)

    def leak(self, n_blocks: int) -> int:
        """Lose up to ``n_blocks`` free blocks; return how many."""
        taken = min(n_blocks, self.num_free)
        self.num_free -= taken
        return taken

    def sync(self) -> None:
        """Write the counts of decoding requests back to them."""
        for request in self.running:
            if request.ticket:
                self._decoding.write_back(request, self.timeline.now_ps)

    def remove(self, request: Request) -> None:
        """Take out a request that runs or waits."""
        if request.status is Status.RUNNING:
            self.running.remove(request)
            self._release(request)
        else:
            self.waiting.remove(request)

    def advance(self, until_ps: int) -> None:
        """Run steps until the clock reaches ``until_ps``; a step begun before it ends after it."""
        timeline = self.timeline
        pending = timeline.pending
        while timeline.now_ps < until_ps:
            if pending and pending[0].arrival_ps <= timeline.now_ps:
                self._let_in(timeline.now_ps)
            if self.running or self.waiting:
                self._step(until_ps)
            else:
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
                self.waiting.append(request)

    def _step(self, until_ps: int) -> None:
        """Run one step, or the stretch of pure decode that begins with it."""
        config = self.config
        block_size = config.block_size
        part = self._prefilling
        need = self._decoding.blocks_needed()
        chunk = blocks = 0
        if part is not None:
            budget = config.max_num_batched_tokens - len(self.running) + 1
            chunk = min(part.prefill_target - part.num_computed_tokens, budget)
            blocks = -(-(part.num_computed_tokens + chunk) // block_size) - part.num_blocks
        if need + blocks > self.num_free:
            preempted = self._preempt(need, blocks)
            part = self._prefilling
            if part is None:
                chunk = blocks = 0
            need = self._decoding.blocks_needed()
            prefills = [] if part is None else [(part, chunk)]
            self.num_free -= need + blocks
            if part is not None:
                part.num_blocks += blocks
            self._mixed(prefills, preempted, 0)
            return
        prefills = []
        if part is not None:
            part.num_blocks += blocks
            prefills.append((part, chunk))
        self.num_free -= need + blocks
        admitted = self._admit(prefills, chunk) if self.waiting else 0
        if prefills or not self.running:
            self._mixed(prefills, (), admitted)
        else:
            self.num_free += need
            self._stretch(until_ps)

    def _preempt(self, need: int, blocks: int) -> tuple[Request, ...]:
        """Preempt from the end of running until the rest has its blocks."""
        timeline = self.timeline
        preempted = []
        while need + blocks > self.num_free:
            victim = self.running.pop()
            if victim is self._prefilling:
                blocks = 0
            self._release(victim)
            need = self._decoding.blocks_needed()
            victim.computed_high = max(victim.computed_high, victim.num_computed_tokens)
            victim.num_computed_tokens = 0
            victim.num_preemptions += 1
            victim.status = Status.PREEMPTED
            victim.queued_ps = timeline.now_ps
            self.waiting.appendleft(victim)
            preempted.append(victim)
        timeline.preemptions += len(preempted)
        return tuple(preempted)

    def _admit(self, prefills: list[tuple[Request, int]], chunk: int) -> int:
        """Admit from the head of waiting until something does not fit; return how many."""
        config, waiting, running = self.config, self.waiting, self.running
        block_size = config.block_size
        decoding = len(running) - len(prefills)
        budget = config.max_num_batched_tokens - decoding - chunk
        admitted = 0
        while waiting and budget > 0 and len(running) < config.max_num_seqs:
            request = waiting[0]
            num_tokens = request.prompt_tokens + request.num_output_tokens
            n = num_tokens
            if n > budget:
                if not config.enable_chunked_prefill:
                    break
                n = budget
            spare = self.num_free - self._watermark if running else self.num_free
            if config.scheduler_reserve_full_isl and -(-num_tokens // block_size) > spare:
                break
            blocks = -(-n // block_size)
            if blocks > spare:
                break
            waiting.popleft()
            self.num_free -= blocks
            request.num_blocks = blocks
            request.num_computed_tokens = 0
            request.prefill_target = num_tokens
            request.status = Status.RUNNING
            if request.first_scheduled_ps is None:
                request.first_scheduled_ps = self.timeline.now_ps
            running.append(request)
            prefills.append((request, n))
            budget -= n
            admitted += 1
        return admitted

    def _mixed(
        self, prefills: list[tuple[Request, int]], preempted: tuple[Request, ...], admitted: int
    ) -> None:
        """Run one step with prefill in it, or one after a preemption."""
        timeline, cost = self.timeline, self.cost
        decoding = len(self.running) - len(prefills)
        if not self.running:
            # Nothing runs, and the head does not fit into all that is left: it never will.
            timeline.give_up(self.waiting.popleft(), "error", timeline.now_ps)
            timeline.gauge(0, len(self.waiting), self.num_free)
            return
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
        self.kv_tokens += tokens
        kv_tokens = self.kv_tokens
        took_ps = (
            cost.base_ps
            + kv_tokens * cost.per_kv_token_ps
            + prefill * cost.per_prefill_token_ps
            + len(self.running) * cost.per_sequence_ps
            + tokens * cost.per_token_ps
        )
        end_ps = timeline.now_ps + took_ps
        if timeline.next_sample_ps < end_ps:
            timeline.sample(end_ps - 1, self.waiting)
        timeline.now_ps = end_ps
        self._decoding.tick(1, took_ps)
        timeline.book(
            cost,
            steps=1,
            busy_ps=took_ps,
            tokens=tokens,
            prefill=prefill,
            recomputed=recomputed,
            kv_tokens=kv_tokens,
        )
        if decoding:
            timeline.book_gaps(took_ps, decoding)
        finished = self._finish_due(end_ps)
        outputs, prompts = decoding, 0
        self._prefilling = None
        for request, n in prefills:
            request.num_computed_tokens += n
            if request.num_computed_tokens < request.prefill_target:
                self._prefilling = request
                continue
            outputs += 1
            request.num_output_tokens += 1
            prompts += timeline.book_output(request, end_ps)
            if request.num_output_tokens >= request.output_limit:
                finished.append(request)
                self._end(request, end_ps)
            else:
                self._decoding.begin(request)
        timeline.book_outputs(outputs, prompts)
        self._show()
        timeline.tell(
            start_ps=end_ps - took_ps,
            tokens=tokens,
            prefill=prefill,
            kv_tokens=kv_tokens,
            admitted=[request for request, _ in prefills[len(prefills) - admitted :]],
            preempted=preempted,
            finished=finished,
        )

    def _stretch(self, until_ps: int) -> None:
        """Run pure decode until the next event: a finish, a shortage, an arrival that matters, a sample."""
        timeline, cost = self.timeline, self.cost
        running = len(self.running)
        growth_ps = running * cost.per_kv_token_ps
        first_ps = cost.base_ps + self.kv_tokens * cost.per_kv_token_ps + growth_ps
        first_ps += running * (cost.per_sequence_ps + cost.per_token_ps)
        now_ps = timeline.now_ps
        steps = 1
        if timeline.on_step is None:
            steps = self._decoding.steps_to_finish()
            steps = self._decoding.steps_with_blocks(steps, self.num_free)
        last_start_ps = until_ps - now_ps - 1
        if timeline.pending and not self.waiting and running < self.config.max_num_seqs:
            last_start_ps = min(last_start_ps, timeline.pending[0].arrival_ps - now_ps - 1)
        if timeline.next_sample_ps - now_ps < first_ps:
            timeline.sample(now_ps + first_ps - 1, self.waiting)
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
        self.num_free -= self._decoding.blocks_for(steps)
        end_ps = timeline.now_ps = now_ps + took_ps
        self._decoding.tick(steps, last_ps)
        kv_tokens = steps * self.kv_tokens + running * (steps * (steps + 1) // 2)
        self.kv_tokens += running * steps
        timeline.book(
            cost,
            steps=steps,
            busy_ps=took_ps,
            tokens=running * steps,
            prefill=0,
            recomputed=0,
            kv_tokens=kv_tokens,
        )
        timeline.book_growing_gaps(first_ps, growth_ps, steps, running)
        timeline.book_outputs(running, 0, steps)
        pending = timeline.pending
        if pending and pending[0].arrival_ps <= end_ps - last_ps:
            self._let_in(end_ps - last_ps)
        finished = self._finish_due(end_ps)
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
        timeline = self.timeline
        timeline.gauge(len(self.running), len(self.waiting), self.num_free)
        if timeline.next_sample_ps <= timeline.now_ps:
            timeline.sample(timeline.now_ps, self.waiting)

    def _release(self, request: Request) -> None:
        """Free what a request that ran held; it is already out of ``running``."""
        if request is self._prefilling:
            self._prefilling = None
        elif request.ticket:
            self._decoding.end(request, self.timeline.now_ps)
        self.num_free += request.num_blocks
        self.kv_tokens -= request.num_computed_tokens
        request.num_blocks = 0

    def _end(self, request: Request, end_ps: int) -> None:
        self.running.remove(request)
        self._release(request)
        self.timeline.finish(request, end_ps)

    def _finish_due(self, end_ps: int) -> list[Request]:
        finished = self._decoding.take_finished()
        for request in finished:
            self._end(request, end_ps)
        return finished
