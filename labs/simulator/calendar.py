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

import heapq
from bisect import bisect_right
from collections import deque
from math import sqrt

from labs.simulator.cost_model import CostModel
from labs.simulator.request import Request, Status
from labs.simulator.scheduler import EngineConfig
from labs.simulator.telemetry import StepRecord, Timeline, to_s


def is_eligible(config: EngineConfig) -> bool:
    """Say whether the calendar can run ``config``."""
    return (
        config.policy == "fcfs"
        and not config.enable_prefix_caching
        and config.long_prefill_token_threshold == 0
        and config.max_num_batched_tokens >= config.max_num_seqs
    )


def steps_within(limit_ps: int, first_ps: int, growth_ps: int) -> int:
    """Return how many steps that take first, first + growth, first + 2 growth... end within ``limit_ps``."""
    if growth_ps == 0:
        return limit_ps // first_ps
    b = first_ps - growth_ps / 2
    k = max(0, int((sqrt(b * b + 2.0 * growth_ps * limit_ps) - b) / growth_ps))
    while k * first_ps + growth_ps * (k * (k - 1) // 2) > limit_ps:
        k -= 1
    while (k + 1) * first_ps + growth_ps * ((k + 1) * k // 2) <= limit_ps:
        k += 1
    return k


class CalendarCore:
    """Running and waiting requests, of which the decoding are only counted."""

    __slots__ = (
        "_clock", "_ends", "_finishes", "_longest", "_phase", "_prefilling", "_tickets", "_watermark",
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
        self._clock = 0
        """Steps done. All that a decoding request is, is an offset to it."""
        self._prefilling: Request | None = None
        self._phase = [0] * config.block_size
        """Decoding requests by (num_computed_tokens - clock) mod block_size."""
        self._finishes: list[tuple[int, int, Request]] = []
        """Heap of (clock, ticket, request); an entry whose ticket is not the request's is void."""
        self._tickets = 0
        # Of all steps that took longer than every later one: when they ended, how long they took.
        self._ends: list[int] = []
        self._longest: list[int] = []

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
                self._write_back(request)

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
        need = self._phase[-self._clock % block_size]
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
            need = self._phase[-self._clock % block_size]
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
            need = self._phase[-self._clock % self.config.block_size]
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
        self._clock += 1
        self._remember(took_ps)
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
                self._decode(request)
        timeline.book_outputs(outputs, prompts)
        self._close(
            end_ps - took_ps, tokens, prefill, kv_tokens, admitted, prefills, preempted, finished
        )

    def _stretch(self, until_ps: int) -> None:
        """Run pure decode until the next event: a finish, a shortage, an arrival that matters, a sample."""
        timeline, cost = self.timeline, self.cost
        running = len(self.running)
        growth_ps = running * cost.per_kv_token_ps
        first_ps = cost.base_ps + self.kv_tokens * cost.per_kv_token_ps + growth_ps
        first_ps += running * (cost.per_sequence_ps + cost.per_token_ps)
        now_ps = timeline.now_ps
        finishes = self._finishes
        while finishes[0][2].ticket != finishes[0][1]:
            heapq.heappop(finishes)
        steps = (
            1
            if timeline.on_step is not None
            else self._steps_with_blocks(finishes[0][0] - self._clock)
        )
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
        self.num_free -= self._blocks_of(steps)
        self._clock += steps
        end_ps = timeline.now_ps = now_ps + took_ps
        self._remember(last_ps)
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
        self._close(end_ps - last_ps, running, 0, kv_tokens, 0, [], (), finished)

    def _close(
        self,
        start_ps: int,
        tokens: int,
        prefill: int,
        kv_tokens: int,
        admitted: int,
        prefills: list[tuple[Request, int]],
        preempted: tuple[Request, ...],
        finished: list[Request],
    ) -> None:
        """Set the gauges and tell who listens; the arguments are those of the last step."""
        timeline = self.timeline
        timeline.gauge(len(self.running), len(self.waiting), self.num_free)
        if timeline.next_sample_ps <= timeline.now_ps:
            timeline.sample(timeline.now_ps, self.waiting)
        if timeline.on_step is not None:
            timeline.on_step(
                StepRecord(
                    step=timeline.steps,
                    start_s=to_s(start_ps),
                    end_s=to_s(timeline.now_ps),
                    scheduled_tokens=tokens,
                    prefill_tokens=prefill,
                    kv_tokens=kv_tokens,
                    running=len(self.running),
                    waiting=len(self.waiting),
                    free_blocks=self.num_free,
                    admitted=tuple(r.request_id for r, _ in prefills[len(prefills) - admitted :]),
                    preempted=tuple(request.request_id for request in preempted),
                    finished=tuple(request.request_id for request in finished),
                )
            )

    def _steps_with_blocks(self, steps: int) -> int:
        """Return how many of the next ``steps`` steps of pure decode the free blocks suffice for."""
        running, block_size, phase = len(self.running), self.config.block_size, self._phase
        if (steps // block_size + 1) * running <= self.num_free:
            return steps
        rounds = self.num_free // running
        left = self.num_free - rounds * running
        done = rounds * block_size
        while done < steps and left >= (need := phase[-(self._clock + done) % block_size]):
            left -= need
            done += 1
        return min(done, steps)

    def _blocks_of(self, steps: int) -> int:
        """Return the blocks that the next ``steps`` steps of pure decode take."""
        block_size, phase = self.config.block_size, self._phase
        rounds, rest = divmod(steps, block_size)
        blocks = rounds * len(self.running)
        for step in range(self._clock, self._clock + rest):
            blocks += phase[-step % block_size]
        return blocks

    def _remember(self, took_ps: int) -> None:
        """Keep how long the step that has just ended took, and forget shorter ones before it."""
        ends, longest = self._ends, self._longest
        while longest and longest[-1] <= took_ps:
            longest.pop()
            ends.pop()
        longest.append(took_ps)
        ends.append(self._clock)

    def _decode(self, request: Request) -> None:
        """Begin to count ``request`` as decoding: it has all its tokens but the last computed."""
        self._tickets += 1
        clock = self._clock
        request.ticket = self._tickets
        request.computed_offset = request.num_computed_tokens - clock
        request.output_offset = request.num_output_tokens - clock
        request.decode_since = clock
        self._phase[request.computed_offset % self.config.block_size] += 1
        finish = clock + request.output_limit - request.num_output_tokens
        heapq.heappush(self._finishes, (finish, request.ticket, request))

    def _write_back(self, request: Request) -> None:
        clock = self._clock
        request.num_computed_tokens = request.computed_offset + clock
        request.num_output_tokens = request.output_offset + clock
        request.num_blocks = -(-request.num_computed_tokens // self.config.block_size)
        if clock > request.decode_since:
            longest = self._longest[bisect_right(self._ends, request.decode_since)]
            request.longest_gap_ps = max(request.longest_gap_ps, longest)
            request.last_token_ps = self.timeline.now_ps

    def _release(self, request: Request) -> None:
        """Free what a request that ran held; it is already out of ``running``."""
        if request is self._prefilling:
            self._prefilling = None
        elif request.ticket:
            self._write_back(request)
            self._phase[request.computed_offset % self.config.block_size] -= 1
            request.ticket = 0
        self.num_free += request.num_blocks
        self.kv_tokens -= request.num_computed_tokens
        request.num_blocks = 0

    def _end(self, request: Request, end_ps: int) -> None:
        self.running.remove(request)
        self._release(request)
        self.timeline.finish(request, end_ps)

    def _finish_due(self, end_ps: int) -> list[Request]:
        finishes, clock = self._finishes, self._clock
        finished: list[Request] = []
        while finishes and finishes[0][0] <= clock:
            _, ticket, request = heapq.heappop(finishes)
            if request.ticket == ticket:
                self._end(request, end_ps)
                finished.append(request)
        return finished
