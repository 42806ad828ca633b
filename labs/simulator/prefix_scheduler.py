"""The calendar's scheduler with prefix caching by named texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.simulator.calendar_scheduler import CalendarScheduler
from labs.simulator.prefix_groups import PrefixCache
from labs.simulator.request import Request, Status

if TYPE_CHECKING:
    from labs.simulator.config import EngineConfig


class PrefixScheduler(CalendarScheduler):
    """The calendar's scheduler with prefix caching by named texts."""

    __slots__ = ("cache",)

    def __init__(self, config: EngineConfig) -> None:
        super().__init__(config)
        self.cache = PrefixCache(config.usable_blocks, config.block_size)

    def remove(self, request: Request, step_end_ps: int) -> None:
        """Take out a request that runs or waits, and free its blocks."""
        if request.status is not Status.RUNNING:
            self.cache.forget(request)
        super().remove(request, step_end_ps)

    def release(self, request: Request, step_end_ps: int, *, comes_again: bool = False) -> None:
        """Free what a request that ran held; it is already out of ``running``."""
        if request is self.prefilling:
            self.prefilling = None
        elif request.ticket:
            self.decoding.end(request, step_end_ps)
        self.cache.settle(self.num_free)
        self.num_free += self.cache.free(request, comes_again=comes_again)
        self.kv_tokens -= request.num_computed_tokens
        request.num_blocks = 0

    def _continue(self, part: Request, chunk: int) -> None:
        """Register the blocks that the next chunk of a prefill fills."""
        size = self.config.block_size
        computed = part.num_computed_tokens
        self.cache.grow(part, computed // size, (computed + chunk) // size)

    def _preempt(
        self, need: int, blocks: int, now_ps: int, step_end_ps: int
    ) -> tuple[Request, ...]:
        """Preempt from the end of running until the rest has its blocks."""
        preempted: list[Request] = []
        taken = 0
        while True:
            # Those who come before the one that finds no block have taken theirs.
            now = min(need - taken, self.num_free)
            self.num_free -= now
            taken += now
            if need - taken + blocks <= self.num_free:
                break
            victim = self.running.pop()
            if victim is self.prefilling:
                blocks = 0
            self.release(victim, step_end_ps, comes_again=True)
            need = self.decoding.blocks_needed()
            self._put_back(victim, now_ps)
            preempted.append(victim)
        self.cache.settle(self.num_free)
        self.num_free += taken
        return tuple(preempted)

    def _admit(self, prefills: list[tuple[Request, int]], chunk: int, now_ps: int) -> int:
        """Admit from the head of waiting until something does not fit; return how many."""
        config, waiting, running = self.config, self.waiting, self.running
        block_size = config.block_size
        budget = config.max_num_batched_tokens - (len(running) - len(prefills)) - chunk
        admitted = 0
        while waiting and budget > 0 and len(running) < config.max_num_seqs:
            request = waiting[0]
            self.cache.settle(self.num_free)
            hit_blocks, evictable = self.cache.lookup(request)
            hit = hit_blocks * block_size
            num_tokens = request.prompt_tokens + request.num_output_tokens
            n = num_tokens - hit
            if n > budget and not (config.allow_whole_prefill and request.whole_prefill):
                if not config.enable_chunked_prefill:
                    break
                n = budget
            spare = self.num_free + hit_blocks - evictable
            if running:
                spare -= self._watermark
            if config.scheduler_reserve_full_isl and -(-num_tokens // block_size) > spare:
                break
            blocks = -(-(hit + n) // block_size)
            if blocks > spare:
                break
            waiting.popleft()
            self.cache.take(request, hit_blocks, (hit + n) // block_size)
            self.num_free -= blocks - hit_blocks + evictable
            self.kv_tokens += hit
            request.num_blocks = blocks
            request.num_computed_tokens = hit
            request.prefill_target = num_tokens
            if request.num_preemptions == 0:
                self.prefix_queries += num_tokens
                self.prefix_hits += hit
                request.cached_tokens = hit
            request.status = Status.RUNNING
            if request.first_scheduled_ps is None:
                request.first_scheduled_ps = now_ps
            running.append(request)
            prefills.append((request, n))
            budget -= n
            admitted += 1
        return admitted
