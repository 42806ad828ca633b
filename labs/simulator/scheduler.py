"""vLLM V1's scheduling rules, one step at a time.

Source: vLLM 0.32.0, vllm/v1/core/sched/scheduler.py; held to recordings of it by
``labs.simulator.trace``. Text model, one full-attention group, no speculative decoding,
synchronous scheduling.
"""

from dataclasses import dataclass, field

from labs.simulator.config import EngineConfig
from labs.simulator.kv_cache import BlockPool, CountingPool, Pool, blocks_for
from labs.simulator.request import Request, Status
from labs.simulator.waiting_queue import FcfsQueue, PriorityQueue

__all__ = ["EngineConfig", "Scheduler", "StepPlan", "fake_token"]


@dataclass(slots=True)
class StepPlan:
    """What one step computes. Lists are in the order in which the scheduler decided."""

    scheduled: dict[Request, int] = field(default_factory=dict)
    """Request -> tokens."""
    new: list[Request] = field(default_factory=list)
    resumed: list[Request] = field(default_factory=list)
    preempted: list[Request] = field(default_factory=list)

    @property
    def total(self) -> int:
        """Tokens scheduled."""
        return sum(self.scheduled.values())


class Scheduler:
    """The state of vLLM's scheduler: waiting, running and the pool.

    ``schedule`` decides a step, ``update`` books its result; in between, the step runs.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.pool: Pool = (BlockPool if config.enable_prefix_caching else CountingPool)(
            config.num_gpu_blocks, config.block_size
        )
        self.waiting: FcfsQueue | PriorityQueue = (
            FcfsQueue() if config.policy == "fcfs" else PriorityQueue()
        )
        self.running: list[Request] = []
        self.prefix_queries = 0
        """Tokens looked up at first admissions."""
        self.prefix_hits = 0

    def add(self, request: Request) -> None:
        """Let a request wait."""
        self.waiting.add(request)

    def schedule(self) -> StepPlan:
        """Decide the next step: running requests first, then admissions."""
        plan = StepPlan()
        budget = self._schedule_running(plan, self.config.max_num_batched_tokens)
        if not plan.preempted:
            self._admit(plan, budget)
        return plan

    def update(self, plan: StepPlan) -> tuple[list[Request], list[Request]]:
        """Book the step: return (requests that got an output, those of them that are done by it).

        The finished leave running and the pool at once. Counts of tokens are moved here; times
        are the engine's business.
        """
        max_model_len = self.config.max_model_len
        emitted: list[Request] = []
        finished: list[Request] = []
        for request, n in plan.scheduled.items():
            request.num_computed_tokens += n
            if request.num_computed_tokens < request.num_tokens:
                continue
            request.num_output_tokens += 1
            if request.output_token_ids is not None:
                request.output_token_ids.append(fake_token(request))
            emitted.append(request)
            if (
                request.num_output_tokens >= (request.output_limit or request.max_tokens)
                or request.num_tokens >= max_model_len
            ):
                finished.append(request)
        for request in finished:
            request.status = Status.FINISHED
            request.finish_reason = "length"
            self.running.remove(request)
            self.pool.free(request)
        return emitted, finished

    def remove(self, request: Request) -> None:
        """Take a request out, whether it runs or waits, and free its blocks."""
        if request.status is Status.RUNNING:
            self.running.remove(request)
        else:
            self.waiting.remove(request)
        self.pool.free(request)

    def _threshold(self) -> int:
        only_one = len(self.running) + len(self.waiting) <= 1
        return 0 if only_one else self.config.long_prefill_token_threshold

    def _schedule_running(self, plan: StepPlan, budget: int) -> int:
        """Give each running request its tokens, preempting where blocks run out; return what is left."""
        config, pool, running = self.config, self.pool, self.running
        block_size, last_place = config.block_size, config.max_model_len - 1
        caching = config.enable_prefix_caching
        threshold = self._threshold()
        index = 0
        while index < len(running) and budget > 0:
            request = running[index]
            computed = request.num_computed_tokens
            n = request.prompt_tokens + request.num_output_tokens - computed
            if n > 1:
                if 0 < threshold < n:
                    n = threshold
                n = min(n, budget, last_place - computed)
            if n <= 0 or computed >= last_place:
                index += 1
                continue
            computed += n
            new = -(-computed // block_size) - request.num_blocks
            while new > pool.num_free:
                victim = self._victim()
                place = running.index(victim)
                del running[place]
                if place < index:
                    index -= 1
                budget += plan.scheduled.pop(victim, 0)
                self._preempt(victim)
                plan.preempted.append(victim)
                if victim is request:
                    return budget
            # With caching, a block that this step fills is registered as well.
            if new > 0 or (caching and computed // block_size != (computed - n) // block_size):
                pool.allocate(request, computed)
            plan.scheduled[request] = n
            budget -= n
            index += 1
        return budget

    def _victim(self) -> Request:
        if self.config.policy == "fcfs":
            return self.running[-1]
        return max(
            self.running, key=lambda request: (request.priority, request.arrival_ps, request.index)
        )

    def _preempt(self, request: Request) -> None:
        self.pool.free(request)
        request.computed_high = max(request.computed_high, request.num_computed_tokens)
        request.num_computed_tokens = 0
        request.num_preemptions += 1
        request.status = Status.PREEMPTED
        self.waiting.put_back(request)

    def _admit(self, plan: StepPlan, budget: int) -> None:
        """Admit from the head of waiting until something does not fit: what is behind it waits too."""
        config, pool = self.config, self.pool
        while self.waiting and budget > 0 and len(self.running) < config.max_num_seqs:
            request = self.waiting.head()
            hit_blocks, evictable = pool.lookup(request)
            hit = hit_blocks * config.block_size
            n = request.num_tokens - hit
            threshold = self._threshold()
            if 0 < threshold < n:
                n = threshold
            if not (config.allow_whole_prefill and request.whole_prefill):
                if not config.enable_chunked_prefill and n > budget:
                    return
                n = min(n, budget)
            # The hits that nobody holds sit in the free queue: taking them uses it up as well.
            spare = pool.num_free + hit_blocks - evictable
            if self.running:
                spare -= config.watermark_blocks
            whole = blocks_for(min(request.num_tokens, config.max_model_len), config.block_size)
            if config.scheduler_reserve_full_isl and whole > spare:
                return
            computed = min(hit + n, config.max_model_len)
            if blocks_for(computed, config.block_size) > spare:
                return
            self.waiting.pop()
            pool.allocate(request, computed, hit_blocks=hit_blocks)
            self._start(request, hit, plan)
            plan.scheduled[request] = n
            budget -= n

    def _start(self, request: Request, hit: int, plan: StepPlan) -> None:
        if request.num_preemptions == 0:
            self.prefix_queries += request.num_tokens if self.config.enable_prefix_caching else 0
            self.prefix_hits += hit
            request.cached_tokens = hit
        (plan.resumed if request.status is Status.PREEMPTED else plan.new).append(request)
        request.status = Status.RUNNING
        request.num_computed_tokens = hit
        request.prefill_target = request.num_tokens
        self.running.append(request)


def fake_token(request: Request) -> int:
    """Return the id of the latest output: no model ran, so a number that depends on who and where.

    The recordings of vLLM's scheduler used the same formula.
    """
    return 100_000 + (request.index * 7919 + (request.num_output_tokens - 1) * 104_729) % 900_000
