"""What stands between people and engines in a lab: clients, gateway, router, lifetime; and what goes wrong there."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from labs.specs.base import Frozen, PositiveSeconds, Range, Seconds


class ClientsSpec(Frozen):
    """What the programs of the users do while they wait: scenario constants."""

    timeout_s: float | None = None
    first_token_timeout_s: float | None = None
    retries: Annotated[int, Field(ge=0)] = 0
    backoff_s: Annotated[float, Field(ge=0)] = 1.0
    cancel_share: Range | None = None
    """Share of the streams that their user closes midway ..."""
    cancel_by: Annotated[float, Field(gt=0, le=1)] = 1.0
    """... as likely early as late, at latest after so much of what was asked for."""


class GatewaySpec(Frozen):
    """What the gateway checks, and what it makes of the engine's refusals."""

    checks: tuple[
        Literal["model", "role", "messages", "context_length", "max_tokens", "json"], ...
    ] = ()
    wraps_refusals: bool = False
    tokenizer_crashes: bool = False


class StartUpSpec(Frozen):
    """How long each phase of a replica's start takes, and whether readiness waits for the last: scenario constants."""

    process_s: Seconds
    weights_s: Seconds
    profile_s: Seconds
    warm_up_s: Range
    cold_steps: Annotated[int, Field(ge=1)] = 16


class RollingSpec(Frozen):
    """Replicas are taken out, stopped and started again in turn, for ever: a fleet on machines that come and go."""

    every_s: PositiveSeconds
    drain_s: Seconds
    """From out of rotation to SIGTERM."""
    start_up: StartUpSpec


class BatchSpec(Frozen):
    """A job of another team beside the people: so many workers, each of which asks again as soon as it is answered."""

    in_flight: Range
    prompt_mean_tokens: Range
    output_mean_tokens: Range
    length_cv: Annotated[float, Field(gt=0)] = 0.3
    pause_s: Annotated[float, Field(ge=0)] = 0.5
    """Between an answer and the worker's next request, on average. Scenario constant."""
    back_off_s: Annotated[float, Field(ge=0)] = 20.0
    """How much longer a worker waits whose request was refused or failed. Scenario constant."""


class TurnoverSpec(Frozen):
    """Replicas are taken out, told to stop and replaced in turn, with streams in flight: scenario constants."""

    every_s: PositiveSeconds
    first_s: Range | None = None
    """From the world's beginning until the first is picked; not said: anywhere in the first turn."""
    removal_s: Seconds
    """From the choice of a replica until the router sends nothing more to it."""
    pre_stop_s: Seconds
    """From the choice of a replica until SIGTERM."""
    shutdown_timeout_s: Seconds
    """From SIGTERM until what still runs is cut off."""
    start_up: StartUpSpec


class FrontFleet(Frozen):
    """Clients, gateway and router of a lab."""

    clients: ClientsSpec | None = None
    gateway: GatewaySpec | None = None
    defects: dict[str, Range] = Field(default_factory=dict)
    """What is wrong with a body -> share of the requests in which it is."""
    rolling: RollingSpec | None = None
    turnover: TurnoverSpec | None = None
    batch: BatchSpec | None = None


class AddedRequests(Frozen):
    """Requests of another kind that come on top of everybody's."""

    name: str
    rate: Range
    """Requests per second."""
    prompt_mean_tokens: Range
    output_mean_tokens: Range


class FrontWorld(Frozen):
    """What goes wrong in front of the engines, or in their lifetime. Nothing set: healthy."""

    prompt_factor: Range | None = None
    """Everybody's prompts, as a multiple of the healthy ones."""
    output_factor: Range | None = None
    added: AddedRequests | None = None
    step_factor: Range | None = None
    """Every step of the first replica, as a multiple of what it cost: a neighbour, a clock, a kernel."""
    gateway: GatewaySpec | None = None
    shed_share: Range | None = None
    """Share of requests to which the router answers 429."""
    aborts: Literal["run_on", "lose_blocks"] | None = None
    """What becomes of a cancelled request on every replica."""
    ready_before_warm_up: bool = False
    """Replicas that start from now on are ready before they have warmed up."""
    batch_workers_factor: Range | None = None
    """So many times as many workers of the batch job."""
    batch_prompt_factor: Range | None = None
    """Its prompts, as a multiple of the healthy ones ..."""
    batch_output_factor: Range | None = None
    """... and its answers."""
    shutdown_timeout_s: Seconds | None = None
    """What servers that are told to stop get from now on, where there is a turnover."""
    removal_s: Range | None = None
    """How late the router learns that a replica was taken out, where there is a turnover."""
    client_timeout_s: Range | None = None
    """The programs of the users wait so long for a whole answer."""
