"""What is special about the engine of a lab: caches, kernels, pauses, prefill; and what goes wrong within it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from labs.specs.base import Frozen, Range


class Template(Frozen):
    """The text that every prompt begins with, one for each tenant; what users say follows it."""

    tokens: Range
    tenants: Annotated[int, Field(gt=0)]


class EngineFleet(Frozen):
    """The engine's knobs beyond the common ones."""

    allow_whole_prefill: bool = False
    """The engine's own priority path: requests of a class with ``whole_prefill`` are not cut to the budget."""
    tells_kernels: bool = False
    """The log says which kernels the servers chose, and changes can make them choose again."""
    template: Template | None = None
    """Prompts begin with it, and prefix caching is on; ``traffic.prompt_mean_tokens`` is what follows it."""


class Caller(Frozen):
    """Somebody new who calls, on top of the traffic there is."""

    name: str
    rate: Range
    """Requests per second over the whole fleet."""
    prompt_tokens: Range
    prompt_cv: Annotated[float, Field(ge=0)] = 0.2
    output_tokens: Range
    whole_prefill: bool = False


class Pausing(Frozen):
    """A pause of every engine that comes again by steps or by seconds."""

    pause_s: Range
    every_steps: Range | None = None
    every_s: Range | None = None

    @model_validator(mode="after")
    def _one_clock(self) -> Self:
        if (self.every_steps is None) == (self.every_s is None):
            raise ValueError("a pause has every_steps or every_s, one of them")
        return self


class EngineDeploy(Frozen):
    """A restart of every engine with another value, as the fault begins."""

    max_num_batched_tokens: Annotated[int, Field(gt=0)]
    down_s: Annotated[float, Field(gt=0)]


class Fallback(Frozen):
    """A deploy of every replica, whose servers choose other kernels at their start. Times are of scenario constants."""

    what: Literal["attention", "linear"]
    factor: Range
    """On the time to read KV, or on the matrix products of prefill."""
    launch_ms: Range = (0.0, 0.0)
    """What each step takes more."""
    down_s: Annotated[float, Field(gt=0)]


class EngineWorld(Frozen):
    """What goes wrong within the engines. Nothing set: healthy."""

    caller: Caller | None = None
    pausing: Pausing | None = None
    deploy: EngineDeploy | None = None
    fallback: Fallback | None = None
    volatile_from_token: Range | None = None
    """A template deploy: from this token on, no two prompts are alike."""
    tenants_factor: Range | None = None
    """So many times as many tenants, each with a template of its own."""
    prompt_mean_tokens: Range | None = None
    """What users say behind the template is as long as this."""
