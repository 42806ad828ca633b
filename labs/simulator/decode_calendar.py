"""Who decodes, known by counts alone: when the next one finishes, when blocks are needed, how long each waited."""

import heapq
from bisect import bisect_right

from labs.simulator.request import Request


def steps_within(limit_ps: int, first_ps: int, growth_ps: int) -> int:
    """Return how many steps that take first, first + growth, first + 2 growth... end within ``limit_ps``."""
    if growth_ps == 0:
        return limit_ps // first_ps
    b = first_ps - growth_ps / 2
    k = max(0, int(((b * b + 2.0 * growth_ps * limit_ps) ** 0.5 - b) / growth_ps))
    # The float is near enough; whole numbers decide.
    while k * first_ps + growth_ps * (k * (k - 1) // 2) > limit_ps:
        k -= 1
    while (k + 1) * first_ps + growth_ps * ((k + 1) * k // 2) <= limit_ps:
        k += 1
    return k


class DecodeCalendar:
    """The decoding requests of an engine in which each of them gets one token in every step.

    ``clock`` counts steps. A decoding request is three offsets to it, so a step changes nothing
    but the clock.
    """

    __slots__ = (
        "_block_size",
        "_ends",
        "_finishes",
        "_longest",
        "_phase",
        "_tickets",
        "clock",
        "count",
    )

    def __init__(self, block_size: int) -> None:
        self.clock = 0
        self.count = 0
        """Decoding requests."""
        self._block_size = block_size
        self._phase = [0] * block_size
        """Decoding requests by (num_computed_tokens - clock) mod block_size."""
        self._finishes: list[tuple[int, int, Request]] = []
        """Heap of (clock, ticket, request); an entry whose ticket is not the request's is void."""
        self._tickets = 0
        # Of all steps that took longer than every later one: when they ended, how long they took.
        self._ends: list[int] = []
        self._longest: list[int] = []

    def begin(self, request: Request) -> None:
        """Count ``request`` as decoding: all its tokens but the last are computed."""
        self._tickets += 1
        clock = self.clock
        request.ticket = self._tickets
        request.computed_offset = request.num_computed_tokens - clock
        request.output_offset = request.num_output_tokens - clock
        request.decode_since = clock
        self._phase[request.computed_offset % self._block_size] += 1
        self.count += 1
        finish = clock + request.output_limit - request.num_output_tokens
        heapq.heappush(self._finishes, (finish, request.ticket, request))

    def end(self, request: Request, now_ps: int) -> None:
        """Count ``request`` no longer, and write its counts back."""
        self.write_back(request, now_ps)
        self._phase[request.computed_offset % self._block_size] -= 1
        self.count -= 1
        request.ticket = 0

    def write_back(self, request: Request, now_ps: int) -> None:
        """Bring the counts of a decoding request up to date; ``now_ps`` is the end of the last step."""
        clock = self.clock
        request.num_computed_tokens = request.computed_offset + clock
        request.num_output_tokens = request.output_offset + clock
        request.num_blocks = -(-request.num_computed_tokens // self._block_size)
        if clock > request.decode_since:
            longest_ps = self._longest[bisect_right(self._ends, request.decode_since)]
            request.longest_gap_ps = max(request.longest_gap_ps, longest_ps)
            request.last_token_ps = now_ps

    def tick(self, steps: int, last_ps: int) -> None:
        """Let ``steps`` steps pass, the last of which took ``last_ps`` and none of the others longer."""
        self.clock += steps
        ends, longest = self._ends, self._longest
        while longest and longest[-1] <= last_ps:
            longest.pop()
            ends.pop()
        longest.append(last_ps)
        ends.append(self.clock)

    def blocks_needed(self) -> int:
        """Return the new blocks that the next step takes."""
        return self._phase[-self.clock % self._block_size]

    def blocks_for(self, steps: int) -> int:
        """Return the new blocks that the next ``steps`` steps take."""
        rounds, rest = divmod(steps, self._block_size)
        blocks = rounds * self.count
        for step in range(self.clock, self.clock + rest):
            blocks += self._phase[-step % self._block_size]
        return blocks

    def steps_with_blocks(self, steps: int, free: int) -> int:
        """Return for how many of the next ``steps`` steps ``free`` blocks suffice."""
        if (steps // self._block_size + 1) * self.count <= free:
            return steps
        rounds, left = divmod(free, self.count)
        done = rounds * self._block_size
        while done < steps and left >= (
            need := self._phase[-(self.clock + done) % self._block_size]
        ):
            left -= need
            done += 1
        return min(done, steps)

    def steps_to_finish(self) -> int:
        """Return in how many steps the next request finishes. Raises IndexError if none decodes."""
        finishes = self._finishes
        while finishes[0][2].ticket != finishes[0][1]:
            heapq.heappop(finishes)
        return finishes[0][0] - self.clock

    def take_finished(self) -> list[Request]:
        """Return the requests that finish now, in order of admission; they still count as decoding."""
        finishes = self._finishes
        finished: list[Request] = []
        while finishes and finishes[0][0] <= self.clock:
            _, ticket, request = heapq.heappop(finishes)
            if request.ticket == ticket:
                finished.append(request)
        return finished
