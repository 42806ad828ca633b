"""Where a lab plays: its clock, its cluster, its traffic, and what each world changes of them."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from labs.specs.base import Bound, Frozen, PositiveSeconds, Range, Seconds, Share
from labs.specs.engine import EngineFleet, EngineWorld
from labs.specs.front import FrontFleet, FrontWorld
from labs.specs.hardware import HardwareFleet, HardwareWorld
from labs.specs.memory import MemoryFleet, MemoryWorld


class Timeline(Frozen):
    """Incident seconds; the page is at 0."""

    starts_at_s: Annotated[int, Field(lt=0)]
    """The engines start empty here; nothing before the healthy window is shown."""
    healthy_from_s: Annotated[int, Field(lt=0)]
    fault_at_s: Annotated[int, Field(lt=0)]
    """The healthy window ends and the fault begins."""
    budget_s: PositiveSeconds
    """The incident clock stops here: nothing that costs time can be done after it."""
    grid_s: tuple[int, ...]
    """Times at which the information table holds every world's signals."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.starts_at_s < self.healthy_from_s < self.fault_at_s:
            raise ValueError("starts_at_s, healthy_from_s and fault_at_s must rise in this order")
        if not self.grid_s or list(self.grid_s) != sorted(set(self.grid_s)) or self.grid_s[0] < 0:
            raise ValueError("grid_s must be rising times from 0 on")
        return self


class WindowsSpec(Frozen):
    """How far back instruments look, and how long a verification watches. Shorter where an engine lives faster."""

    short_s: PositiveSeconds = 60
    panel_s: PositiveSeconds = 300
    long_s: PositiveSeconds = 720
    verify_s: PositiveSeconds = 300
    young_s: PositiveSeconds = 100
    """For so long after it is ready a replica counts as young."""
    silent_s: PositiveSeconds = 30
    """A call without a token for so long stands still."""

    @property
    def looked_back(self) -> tuple[float, ...]:
        """Return the three windows of instruments, shortest first; then what counts as young, and as silent."""
        windows = (self.short_s, self.panel_s, self.long_s, self.young_s, self.silent_s)
        return tuple(map(float, windows))


class Admission(Frozen):
    """What a seed's worlds must do to be used, beyond the alarm's own silence and ringing."""

    healthy: tuple[Bound, ...] = ()
    """Hold at every minute of the healthy window."""
    healthy_mean: tuple[Bound, ...] = ()
    """Hold for the mean over those minutes."""
    page: tuple[Bound, ...] = ()
    """Hold at the page, in a served world that is a fault."""
    hurt: tuple[Bound, ...] = ()
    """Hold every five minutes from the page on, while nobody acts, in a served world that is a fault."""
    alarm_was_silent: bool = True
    """False for an alarm that rings in a healthy cluster as well: the controls of a false alarm."""


class Fleet(Frozen):
    """The cluster before anything is changed. Ranges are drawn by the seed."""

    profile: str
    pool_blocks: Range
    """Usable KV blocks per rank, of as many tokens as the profile says."""
    most_pool_blocks: Annotated[int, Field(gt=0)] | None = None
    """So many would fit the memory, if somebody asked for them; None: the pool has all that there is."""
    max_num_seqs: tuple[int, ...]
    """One of these, by the seed."""
    max_num_batched_tokens: Annotated[int, Field(gt=0)]
    max_model_len: Annotated[int, Field(gt=0)]
    scheduler_reserve_full_isl: bool
    router_median_s: Annotated[float, Field(gt=0)]
    router_p95_s: Annotated[float, Field(gt=0)]
    restart_s: Seconds
    replica_ready_after_s: Seconds
    replicas: Annotated[int, Field(ge=1)] = 1
    engine: Literal["vllm", "sglang"] = "vllm"
    """Whose names the servers have. It changes no world and no signal."""
    full_pool_seqs: Annotated[int, Field(ge=0)] = 0
    """Sequences in a full pool, for the step that the offered load is computed with; 0 where they cost little."""
    tensor_parallel_size: Annotated[int, Field(ge=1)] = 4
    hardware: HardwareFleet | None = None
    memory: MemoryFleet | None = None
    front: FrontFleet | None = None
    inside: EngineFleet | None = None


class Traffic(Frozen):
    """Poisson arrivals; prompt and output lengths are lognormal."""

    offered_load: Range | None = None
    """Tokens wanted over tokens held (Little's law) while healthy; the arrival rate follows from it."""
    rate: Range | None = None
    """Or the arrival rate itself, requests per second over the whole fleet."""
    prompt_mean_tokens: Range
    output_mean_tokens: Range
    length_cv: Annotated[float, Field(gt=0)]

    @model_validator(mode="after")
    def _one_rate(self) -> Self:
        if (self.offered_load is None) == (self.rate is None):
            raise ValueError("traffic has offered_load or rate, one of them")
        return self


class Burst(Frozen):
    """Arrivals multiplied for a while, then back to what they were."""

    factor: Range
    lasts_s: Range


class LongPrompts(Frozen):
    """A share of requests with long prompts, prefilled whole because chunking is off."""

    share: Range
    prompt_tokens: Range
    output_mean_tokens: Annotated[float, Field(gt=0)] = 400.0
    max_num_batched_tokens: Annotated[int, Field(gt=0)]


class World(Frozen):
    """What is wrong in a hypothesis, from ``timeline.fault_at_s`` on. Nothing set: healthy."""

    offered_load: Range | None = None
    """The demand that replaces the healthy one."""
    base_offered_load: Range | None = None
    """The demand before and after, where it must differ from ``traffic.offered_load``."""
    rate_factor: Range | None = None
    """The arrival rate from then on, as a multiple of the healthy one."""
    burst: Burst | None = None
    router_median_s: Range | None = None
    leaked_share: Range | None = None
    """Share of the pool's blocks that finished requests never give back, lost over ``leak_over_s``."""
    leak_over_s: Seconds = 0
    long_prompts: LongPrompts | None = None
    hardware: HardwareWorld | None = None
    memory: MemoryWorld | None = None
    front: FrontWorld | None = None
    inside: EngineWorld | None = None


class Slo(Frozen):
    """A promise to the users: this share of the offered requests stays within the limit."""

    title: str
    measure: Literal["ttft", "gap", "tpot", "e2e", "answered"]
    """First token; longest pause in a stream; mean time per output token; whole answer; answered as asked at all."""
    limit_s: Annotated[float, Field(gt=0)] | None = None
    target: Share

    @model_validator(mode="after")
    def _has_its_limit(self) -> Self:
        if (self.measure == "answered") != (self.limit_s is None):
            raise ValueError("limit_s stands with every measure but answered")
        return self

    @property
    def limit(self) -> float:
        """Return what a measured value may not exceed; 1 for ``answered``, whose values are 0."""
        return 1.0 if self.limit_s is None else self.limit_s


class MitigationSpec(Frozen):
    settle_s: Seconds
    window_s: PositiveSeconds
    follow_s: Seconds = 150
    """The world runs on after the window, so that its last requests can finish."""
    heal_within_s: Seconds = 900
    """A replayed trigger must be over by then."""
