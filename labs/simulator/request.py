"""One request: what was asked, how far it has come, and when."""

from dataclasses import dataclass, field
from enum import StrEnum

PS_PER_S = 1_000_000_000_000


def to_ps(seconds: float) -> int:
    """Return ``seconds`` as whole picoseconds, the unit of the engine's clock."""
    return round(seconds * PS_PER_S)


def to_s(picoseconds: int) -> float:
    """Return ``picoseconds`` as seconds."""
    return picoseconds / PS_PER_S


def _seconds(picoseconds: int | None) -> float | None:
    return None if picoseconds is None else picoseconds / PS_PER_S


class Status(StrEnum):
    """Where a request is; the words are vLLM's (``RequestStatus``)."""

    WAITING = "waiting"
    RUNNING = "running"
    PREEMPTED = "preempted"
    FINISHED = "finished"
    ABORTED = "aborted"
    SHED = "shed"
    """Refused by the router with a 429; no engine ever saw it."""
    STRANDED = "stranded"
    """Its engine was killed; the client's connection hangs until the client gives up."""


@dataclass(slots=True, eq=False)
class Request:
    """A request and its life so far. Compared by identity: two requests are never the same one.

    ``num_tokens`` is prompt plus outputs. The engine keeps a decoding request's counts lazily
    and writes them back whenever ``Engine.advance`` returns.
    """

    request_id: str
    arrival_s: float
    """When the engine gets it, seconds."""
    prompt_tokens: int
    max_tokens: int
    """How many output tokens it will generate, unless the context ends first."""
    priority: int = 0
    """Lower goes first (policy ``priority`` only)."""
    prompt_token_ids: tuple[int, ...] | None = None
    """Needed for prefix caching only."""
    output_token_ids: list[int] | None = None
    """Kept only with prefix caching."""

    client_arrival_s: float | None = None
    """When the client sent it; None if there is no router in front of the engine."""
    router_delay_s: float = 0.0
    replica: int = 0
    """Index of the engine that it was routed to."""
    request_class: str = ""
    cut: bool = False
    """True if the router lowered its max_tokens."""
    prefix: tuple[tuple[str, int], ...] = ()
    """(name, tokens) of the shared texts that the prompt begins with, shortest first: each goes on from where the
    one before it ends."""
    whole_prefill: bool = False
    """Prefilled in one step whatever the budget; see ``EngineConfig.allow_whole_prefill``."""
    defect: str = ""
    """What is wrong with the request's body, in the words of ``labs.simulator.gateway``; empty: nothing."""
    user: int = -1
    """Which closed-loop user sent it; -1 for none."""
    attempt: int = 0
    """How many times its client had sent the same before."""
    cancel_tokens: int | None = None
    """Outputs after which its user closes the stream; None: never."""
    client_left_ps: int | None = None
    """When its client gave up waiting; None: it did not."""
    closed_ps: int | None = None
    """When its user closed the stream, where somebody has noted it: at a real engine the gateway does."""
    http_status: int = 200
    """What the client was answered; 200 also while it waits."""
    refusal: str = ""
    """Why it was refused, in one word; empty: it was not."""

    status: Status = Status.WAITING
    finish_reason: str | None = None
    """vLLM's words: length, abort, error (the pool or the context can never hold it); None before."""
    num_computed_tokens: int = 0
    num_output_tokens: int = 0
    num_blocks: int = 0
    """KV blocks held."""
    num_preemptions: int = 0
    reported_preemptions: int = 0
    """Those that ``vllm:num_preemptions_total`` shows: it moves only with the victim's next output."""
    recomputed_tokens: int = 0
    """Tokens computed again after a preemption or a restart."""

    arrival_ps: int = field(init=False)
    queued_ps: int = field(init=False)
    """When it last entered the waiting queue."""
    index: int = -1
    """Its place among all that the engine was given; breaks ties."""
    prefill_target: int = 0
    """num_tokens at the last admission: below it, the request prefills."""
    computed_high: int = 0
    """The most tokens ever computed for it: below it, prefill is recompute."""
    first_scheduled_ps: int | None = None
    first_token_ps: int | None = None
    last_token_ps: int | None = None
    finish_ps: int | None = None
    longest_gap_ps: int = 0
    output_limit: int = 0
    """max_tokens, or fewer if max_model_len ends it sooner; set by the engine."""
    cached_tokens: int = 0
    """Tokens that its first admission found in the prefix cache."""
    computed_offset: int = 0
    """While decoding in the calendar: num_computed_tokens minus the engine's step count."""
    output_offset: int = 0
    decode_since: int = 0
    """Step count at which it began to decode."""
    ticket: int = 0
    """Which of its decode stretches is the current one; 0 for none."""

    def __post_init__(self) -> None:
        """Derive the clock's own times. Raises ValueError for a request that asks for nothing."""
        if self.prompt_tokens < 1 or self.max_tokens < 1:
            raise ValueError(f"{self.request_id}: prompt_tokens and max_tokens must be at least 1")
        if self.prefix and self.prefix[-1][1] >= self.prompt_tokens:
            raise ValueError(f"{self.request_id}: a prompt must go on after its prefix")
        self.arrival_ps = self.queued_ps = to_ps(self.arrival_s)

    def route(self, replica: int, delay_s: float) -> None:
        """Let the router bring it to ``replica`` ``delay_s`` seconds after the client sent it."""
        self.client_arrival_s = self.arrival_s
        self.router_delay_s = delay_s
        self.replica = replica
        self.arrival_s += delay_s
        self.arrival_ps = self.queued_ps = to_ps(self.arrival_s)

    def private_blocks(self, block_size: int) -> int:
        """Return the KV blocks of all its tokens but the last, without those of shared texts."""
        shared = self.prefix[-1][1] // block_size if self.prefix else 0
        return -(-(self.num_tokens - 1) // block_size) - shared

    @property
    def num_tokens(self) -> int:
        """Prompt plus outputs."""
        return self.prompt_tokens + self.num_output_tokens

    def tokens(self, start: int, stop: int) -> tuple[int, ...]:
        """Return the ids of tokens ``start`` to ``stop`` of prompt plus outputs."""
        prompt = self.prompt_token_ids or ()
        outputs = self.output_token_ids or []
        return prompt[start:stop] + tuple(
            outputs[max(0, start - len(prompt)) : max(0, stop - len(prompt))]
        )

    def state(self) -> tuple[object, ...]:
        """Return what it is and how far it has come, in plain values."""
        return (
            self.request_id, self.arrival_ps, self.client_arrival_s, self.prompt_tokens, self.max_tokens,
            self.priority, self.replica, self.request_class, self.cut, self.status.value, self.finish_reason,
            self.num_computed_tokens, self.num_output_tokens, self.num_blocks, self.num_preemptions,
            self.reported_preemptions, self.recomputed_tokens, self.computed_high, self.queued_ps,
            self.first_scheduled_ps, self.first_token_ps, self.last_token_ps, self.finish_ps, self.longest_gap_ps,
            self.prefix, self.whole_prefill, self.defect, self.user, self.attempt, self.cancel_tokens,
            self.client_left_ps, self.http_status, self.refusal, self.cached_tokens,
        )  # fmt: skip

    @property
    def sent_s(self) -> float:
        """When the client sent it, seconds; the engine's arrival if there is no router."""
        return self.arrival_s if self.client_arrival_s is None else self.client_arrival_s

    @property
    def is_cancelled(self) -> bool:
        """True if its user has closed the stream midway."""
        return self.cancel_tokens is not None and self.num_output_tokens >= self.cancel_tokens

    @property
    def timed_out(self) -> bool:
        """True if its client gave up waiting: neither a failure of the server nor the user's wish."""
        return self.client_left_ps is not None

    @property
    def first_scheduled_s(self) -> float | None:
        """Start of the first step that computed a token of it, seconds."""
        return _seconds(self.first_scheduled_ps)

    @property
    def first_token_s(self) -> float | None:
        """When its first output left the engine, seconds."""
        return _seconds(self.first_token_ps)

    @property
    def last_token_s(self) -> float | None:
        """When its latest output left the engine, seconds."""
        return _seconds(self.last_token_ps)

    @property
    def finish_s(self) -> float | None:
        """When it finished or was aborted, seconds."""
        return _seconds(self.finish_ps)

    @property
    def longest_gap_s(self) -> float:
        """Longest time between two of its outputs, stalls by preemption or restart included; 0 before two."""
        return to_s(self.longest_gap_ps)

    @property
    def ttft_s(self) -> float | None:
        """Time to first token as the client sees it: router delay included."""
        return None if self.first_token_ps is None else to_s(self.first_token_ps) - self.sent_s
