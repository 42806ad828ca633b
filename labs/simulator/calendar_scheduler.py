"""vLLM's scheduling rules for the common config, without a look at those who decode."""

from collections import deque

from labs.simulator.config import EngineConfig
from labs.simulator.decode_calendar import DecodeCalendar
from labs.simulator.request import Request, Status


def is_eligible(config: EngineConfig) -> bool:
    """Say whether the calendar can run ``config``."""
    return (
        config.policy == "fcfs"
        and not (config.enable_prefix_caching and config.prefix_hashing == "token_ids")
        and config.long_prefill_token_threshold == 0
        and config.max_num_batched_tokens >= config.max_num_seqs
    )


class CalendarScheduler:
    """Waiting and running requests and a counting pool, of which the decoding are only counted."""

    __slots__ = (
        "_watermark", "config", "decoding", "kv_tokens", "num_free", "prefilling", "prefix_hits", "prefix_queries",
        "running", "waiting",
    )  # fmt: skip

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.waiting: deque[Request] = deque()
        self.running: list[Request] = []
        self.decoding = DecodeCalendar(config.block_size)
        self.prefilling: Request | None = None
        """The request in the middle of its prefill: the last of the running."""
        self.num_free = config.usable_blocks
        self.kv_tokens = 0
        """Sum of num_computed_tokens over the running."""
        self.prefix_queries = 0
        """Tokens looked up at first admissions; 0 without prefix caching."""
        self.prefix_hits = 0
        self._watermark = config.watermark_blocks

    def remove(self, request: Request, step_end_ps: int) -> None:
        """Take out a request that runs or waits, and free its blocks."""
        if request.status is Status.RUNNING:
            self.running.remove(request)
            self.release(request, step_end_ps)
        else:
            self.waiting.remove(request)

    def release(self, request: Request, step_end_ps: int) -> None:
        """Free what a request that ran held; it is already out of ``running``."""
        if request is self.prefilling:
            self.prefilling = None
        elif request.ticket:
            self.decoding.end(request, step_end_ps)
        self.num_free += request.num_blocks
        self.kv_tokens -= request.num_computed_tokens
        request.num_blocks = 0

    def schedule(
        self, now_ps: int, step_end_ps: int
    ) -> tuple[list[tuple[Request, int]], tuple[Request, ...], int]:
        """Decide the step that begins at ``now_ps``, after one that ended at ``step_end_ps``, and take its blocks.

        Return the requests that prefill with their tokens, those that were preempted, and how
        many at the end of the prefilling are newly admitted. All others that run decode a token.
        """
        part = self.prefilling
        need = self.decoding.blocks_needed()
        chunk = blocks = 0
        if part is not None:
            budget = self.config.max_num_batched_tokens - len(self.running) + 1
            chunk = min(part.prefill_target - part.num_computed_tokens, budget)
            computed = part.num_computed_tokens + chunk
            blocks = -(-computed // self.config.block_size) - part.num_blocks
        preempted: tuple[Request, ...] = ()
        if need + blocks > self.num_free:
            preempted = self._preempt(need, blocks, now_ps, step_end_ps)
            need = self.decoding.blocks_needed()
            part = self.prefilling
        prefills: list[tuple[Request, int]] = []
        if part is not None:
            self._continue(part, chunk)
            part.num_blocks += blocks
            self.num_free -= blocks
            prefills.append((part, chunk))
        self.num_free -= need
        admitted = 0
        if self.waiting and not preempted:
            admitted = self._admit(prefills, chunk, now_ps)
        return prefills, preempted, admitted

    def _preempt(
        self, need: int, blocks: int, now_ps: int, step_end_ps: int
    ) -> tuple[Request, ...]:
        """Preempt from the end of running until the rest has its blocks."""
        preempted: list[Request] = []
        while need + blocks > self.num_free:
            victim = self.running.pop()
            if victim is self.prefilling:
                blocks = 0
            self.release(victim, step_end_ps)
            need = self.decoding.blocks_needed()
            self._put_back(victim, now_ps)
            preempted.append(victim)
        return tuple(preempted)

    def _continue(self, part: Request, chunk: int) -> None:
        """Take note that a prefill goes on by ``chunk`` tokens."""

    def _put_back(self, victim: Request, now_ps: int) -> None:
        """Let a preempted request wait in front."""
        victim.computed_high = max(victim.computed_high, victim.num_computed_tokens)
        victim.num_computed_tokens = 0
        victim.num_preemptions += 1
        victim.status = Status.PREEMPTED
        victim.queued_ps = now_ps
        self.waiting.appendleft(victim)

    def _admit(self, prefills: list[tuple[Request, int]], chunk: int, now_ps: int) -> int:
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
            if n > budget and not (config.allow_whole_prefill and request.whole_prefill):
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
                request.first_scheduled_ps = now_ps
            running.append(request)
            prefills.append((request, n))
            budget -= n
            admitted += 1
        return admitted
