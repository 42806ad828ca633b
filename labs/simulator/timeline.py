"""The clock and the books of one engine."""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labs.simulator.cost_model import CostModel
from labs.simulator.request import PS_PER_S, Request, Status, to_ps, to_s
from labs.simulator.telemetry import (
    ITERATION_TOKENS_BUCKETS,
    ITL_BUCKETS_S,
    TTFT_BUCKETS_S,
    Process,
    Sample,
    StepRecord,
)

if TYPE_CHECKING:
    from labs.simulator.pauses import PauseClock

_ITL_BOUNDS_PS = tuple(round(bound * PS_PER_S) for bound in ITL_BUCKETS_S)
_TTFT_BOUNDS_PS = tuple(round(bound * PS_PER_S) for bound in TTFT_BUCKETS_S)


class Timeline:
    """The clock of one engine, the requests still to come, and all that it counts.

    Both cores (one step at a time, and in closed form) book here, in whole numbers: a sum does
    not depend on how it was cut.
    """

    def __init__(self, start_ps: int, sample_every_ps: int) -> None:
        """Start at ``start_ps``; samples fall on multiples of ``sample_every_ps``, the first not before it."""
        if sample_every_ps < 1:
            raise ValueError("sample_every_s must be above 0")
        self.now_ps = start_ps
        self.sample_every_ps = sample_every_ps
        self.next_sample_ps = -(-start_ps // sample_every_ps) * sample_every_ps
        self.pending: deque[Request] = deque()
        self.ended: list[Request] | None = None
        """What has ended since somebody last took the list; None while nobody does."""
        self.pauses: PauseClock | None = None
        self.lost_ps = 0
        """The pause that has just been, until a step ends: the gaps of that step are longer by it."""
        self.paused_ps = 0
        self.busy_until_ps = start_ps
        self.keeps_cancelled = self.loses_cancelled = False
        """How aborts fail: requests run on; or their blocks never come back."""
        self.samples: list[Sample] = []
        self.on_step: Callable[[StepRecord], None] | None = None
        # Gauges: as the last step left them.
        self.running = self.waiting = self.used_blocks = self.leaked_blocks = 0
        self.usable_blocks = 1
        self.max_prefill = 0
        self.preemptions = self.preemptions_reported = 0
        self.prompt_tokens = self.generation_tokens = 0
        self.computed_tokens = self.prefill_tokens = self.recomputed_tokens = (
            self.kv_tokens_read
        ) = 0
        self.steps = self.finished = self.aborted = 0
        self.prefix_queries = self.prefix_hits = self.prompt_tokens_cached = 0
        self.collectives_ps = 0
        self.busy_ps = self.prefill_ps = self.recompute_ps = self.weight_ps = self.kv_ps = 0
        self.itl = [0] * (len(_ITL_BOUNDS_PS) + 1)
        self.ttft = [0] * (len(_TTFT_BOUNDS_PS) + 1)
        self.iteration_tokens = [0] * (len(ITERATION_TOKENS_BUCKETS) + 1)
        self.itl_ps = self.ttft_ps = 0
        self.processes = [Process(to_s(start_ps), to_s(start_ps), None)]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the listener: it belongs to whoever watches, not to the run."""
        return {**self.__dict__, "on_step": None}

    def state(self) -> tuple[object, ...]:
        """Return the clock, the counters and the samples in plain values."""
        skipped = ("pending", "on_step", "ended", "pauses")
        return (
            None if self.pauses is None else self.pauses.state(),
            *((name, each) for name, each in sorted(self.__dict__.items()) if name not in skipped),
        )

    def book(
        self,
        cost: CostModel,
        *,
        steps: int,
        busy_ps: int,
        tokens: int,
        prefill: int,
        recomputed: int,
        kv_tokens: int,
        collectives_ps: int,
    ) -> None:
        """Count ``steps`` steps; the token counts are sums over them."""
        self.steps += steps
        self.busy_ps += busy_ps
        self.busy_until_ps = self.now_ps
        self.collectives_ps += collectives_ps
        self.weight_ps += steps * cost.weight_read_ps
        self.kv_ps += kv_tokens * cost.per_kv_token_ps
        self.kv_tokens_read += kv_tokens
        self.computed_tokens += tokens
        if prefill:
            self.prefill_tokens += prefill
            self.prefill_ps += prefill * cost.per_prefill_token_ps
            self.recomputed_tokens += recomputed
            self.recompute_ps += recomputed * cost.per_prefill_token_ps
            self.max_prefill = max(self.max_prefill, prefill)

    def book_prefixes(self, queries: int, hits: int) -> None:
        """Count tokens looked up in the prefix cache, and those found."""
        self.prefix_queries += queries
        self.prefix_hits += hits

    def book_gaps(self, gap_ps: int, count: int) -> None:
        """Count ``count`` gaps of ``gap_ps`` between two outputs of a request."""
        self.itl[bisect_left(_ITL_BOUNDS_PS, gap_ps)] += count
        self.itl_ps += gap_ps * count

    def book_growing_gaps(self, first_ps: int, growth_ps: int, steps: int, count: int) -> None:
        """Count ``count`` gaps in each of ``steps`` steps that take first, first + growth, first + 2 growth..."""
        last_ps = first_ps + growth_ps * (steps - 1)
        self.itl_ps += (first_ps + last_ps) * steps * count // 2
        low, high = bisect_left(_ITL_BOUNDS_PS, first_ps), bisect_left(_ITL_BOUNDS_PS, last_ps)
        done = 0
        for bucket in range(low, high):
            upto = (_ITL_BOUNDS_PS[bucket] - first_ps) // growth_ps + 1
            self.itl[bucket] += (upto - done) * count
            done = upto
        self.itl[high] += (steps - done) * count

    def book_outputs(self, outputs: int, prompt_tokens: int, steps: int = 1) -> None:
        """Count ``outputs`` outputs in each of ``steps`` steps, and the prompts whose first output is among them."""
        self.generation_tokens += outputs * steps
        self.prompt_tokens += prompt_tokens
        self.iteration_tokens[bisect_left(ITERATION_TOKENS_BUCKETS, outputs + prompt_tokens)] += (
            steps
        )

    def book_output(self, request: Request, end_ps: int) -> int:
        """Book one output of ``request`` at ``end_ps``; return the prompt tokens that become visible with it."""
        lag = request.num_preemptions - request.reported_preemptions
        if lag:
            request.reported_preemptions += lag
            self.preemptions_reported += lag
        prompt = 0
        if request.last_token_ps is None:
            request.first_token_ps = end_ps
            prompt = request.prompt_tokens
            waited_ps = end_ps - request.arrival_ps
            self.ttft[bisect_left(_TTFT_BOUNDS_PS, waited_ps)] += 1
            self.ttft_ps += waited_ps
            self.prompt_tokens_cached += request.cached_tokens
        else:
            gap = end_ps - request.last_token_ps
            request.longest_gap_ps = max(request.longest_gap_ps, gap)
            self.book_gaps(gap, 1)
        request.last_token_ps = end_ps
        return prompt

    def finish(self, request: Request, end_ps: int) -> None:
        """Book that ``request`` has all its outputs."""
        request.status = Status.FINISHED
        request.finish_reason = "length"
        request.finish_ps = end_ps
        self.finished += 1
        if self.ended is not None:
            self.ended.append(request)

    def end(self, request: Request, end_ps: int) -> bool:
        """Book that ``request`` got its last output; return True if its user closed the stream there."""
        if request.cancel_tokens != request.num_output_tokens or self.keeps_cancelled:
            self.finish(request, end_ps)
            return False
        self.give_up(request, "abort", end_ps)
        return True

    def pause(self, waiting: Iterable[Request]) -> bool:
        """Lose the time of a pause that is due now, if one is; say whether. Between two pauses there is a step."""
        if self.pauses is None or self.lost_ps:
            return False
        self.lost_ps = self.pauses.lost_ps(self.now_ps, self.busy_until_ps, self.steps)
        if not self.lost_ps:
            return False
        self.paused_ps += self.lost_ps
        self.now_ps += self.lost_ps
        self.busy_until_ps = self.now_ps
        self.sample(self.now_ps, waiting)
        return True

    def give_up(self, request: Request, reason: str, at_ps: int) -> None:
        """Book that ``request`` ends without all its outputs; ``reason`` is abort or error."""
        request.status = Status.ABORTED
        request.finish_reason = reason
        request.finish_ps = at_ps
        self.aborted += 1
        if self.ended is not None:
            self.ended.append(request)

    def begin_process(self, up_ps: int) -> None:
        """Note that the server's process stops now and another answers from ``up_ps`` on, its counters at 0."""
        self.processes.append(Process(to_s(self.now_ps), to_s(up_ps), self._sample(self.now_ps, 0)))

    def arrive(self, request: Request) -> None:
        """Take in a request to come.

        A step under way may have taken a sample of a time after the arrival: it is told of it now.
        """
        self.pending.append(request)
        for i in range(len(self.samples) - 1, -1, -1):
            waited_s = to_s(to_ps(self.samples[i].t_s) - request.arrival_ps)
            if waited_s <= 0:
                break
            if self.samples[i].oldest_waiting_s < waited_s:
                self.samples[i] = replace(self.samples[i], oldest_waiting_s=waited_s)

    def gauge(self, running: int, waiting: int, free_blocks: int) -> None:
        """Set the gauges, as at the end of a step."""
        self.running = running
        self.waiting = waiting
        self.used_blocks = self.usable_blocks - free_blocks

    def tell(
        self,
        *,
        start_ps: int,
        tokens: int,
        prefill: int,
        kv_tokens: int,
        admitted: Iterable[Request],
        preempted: Iterable[Request],
        finished: Iterable[Request],
    ) -> None:
        """Tell the listener, if there is one, of the step that has just ended; the gauges are set."""
        if self.on_step is None:
            return
        self.on_step(
            StepRecord(
                step=self.steps,
                start_s=to_s(start_ps),
                end_s=to_s(self.now_ps),
                scheduled_tokens=tokens,
                prefill_tokens=prefill,
                kv_tokens=kv_tokens,
                running=self.running,
                waiting=self.waiting,
                free_blocks=self.usable_blocks - self.used_blocks,
                admitted=tuple(request.request_id for request in admitted),
                preempted=tuple(request.request_id for request in preempted),
                finished=tuple(request.request_id for request in finished),
            )
        )

    def sample(self, until_ps: int, waiting: Iterable[Request]) -> None:
        """Take the samples that are due up to and including ``until_ps``."""
        while self.next_sample_ps <= until_ps:
            t_ps = self.next_sample_ps
            oldest = min((request.queued_ps for request in waiting), default=t_ps)
            if self.pending:
                oldest = min(oldest, self.pending[0].arrival_ps)
            self.samples.append(self._sample(t_ps, max(0, t_ps - oldest)))
            self.max_prefill = 0
            self.next_sample_ps = t_ps + self.sample_every_ps

    def _sample(self, t_ps: int, oldest_ps: int) -> Sample:
        return Sample(
            t_s=to_s(t_ps),
            running=self.running,
            waiting=self.waiting,
            kv_cache_usage_perc=self.used_blocks / self.usable_blocks,
            leaked_blocks=self.leaked_blocks,
            oldest_waiting_s=to_s(oldest_ps),
            max_prefill_tokens_in_step=self.max_prefill,
            preemptions=self.preemptions,
            preemptions_reported=self.preemptions_reported,
            prompt_tokens=self.prompt_tokens,
            generation_tokens=self.generation_tokens,
            computed_tokens=self.computed_tokens,
            prefill_tokens=self.prefill_tokens,
            recomputed_tokens=self.recomputed_tokens,
            kv_tokens_read=self.kv_tokens_read,
            steps=self.steps,
            finished=self.finished,
            aborted=self.aborted,
            busy_s=to_s(self.busy_ps),
            prefill_s=to_s(self.prefill_ps),
            recompute_s=to_s(self.recompute_ps),
            weight_read_s=to_s(self.weight_ps),
            kv_read_s=to_s(self.kv_ps),
            collective_s=to_s(self.collectives_ps),
            prefix_cache_queries=self.prefix_queries,
            prefix_cache_hits=self.prefix_hits,
            prompt_tokens_cached=self.prompt_tokens_cached,
            itl_counts=tuple(self.itl),
            ttft_counts=tuple(self.ttft),
            iteration_tokens_counts=tuple(self.iteration_tokens),
            itl_sum_s=to_s(self.itl_ps),
            ttft_sum_s=to_s(self.ttft_ps),
        )
