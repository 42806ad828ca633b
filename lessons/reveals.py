"""What is shown once a prediction is committed, and the answers that arithmetic gives. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from lessons import quantities
from lessons.quantities import ATLAS, CLAMPED, GIB, LLAMA, POOL_GIB, STORM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lessons.figures import Plot, Table
    from lessons.guesses import Axes, Guess
    from lessons.simulations import Steps


@dataclass(frozen=True)
class Reveal:
    """What is shown once a prediction is committed."""

    answer: Guess
    """A number, the key of an option, all keys in their order, or a value at each place of the axes."""
    method: str
    """What computed it."""
    shown: str = ""
    """A number as the page writes it, without its unit."""
    beside: str = ""
    """What to compare it with."""
    readings: Mapping[str, str] = field(default_factory=dict)
    """What was measured of each option, by its key."""
    axes: Axes | None = None
    """Of a sketch."""
    curve: tuple[tuple[float, float], ...] = ()
    """Of a sketch: (x, y) as finely as it was computed."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Numbers for the explanation."""
    plots: tuple[Plot, ...] = ()
    table: Table | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def clamped_tokens() -> Steps[Reveal]:
    """Compute what vLLM answers when prompt and max_tokens fit alone and not together."""
    yield from ()
    answer = quantities.admission(**CLAMPED)
    room = CLAMPED["context_window"] - CLAMPED["prompt_tokens"]
    return Reveal(
        answer=answer.completion_tokens,
        shown=f"{answer.completion_tokens}",
        beside=f"status {answer.status}",
        method="vLLM 0.32's rule, as a live 0.32.0 answered",
        facts={
            "status": f"{answer.status}",
            "room": f"{room}",
            "asked": f"{CLAMPED['max_tokens']}",
            "short": f"{CLAMPED['max_tokens'] - answer.completion_tokens}",
        },
    )


def arrivals_implied() -> Steps[Reveal]:
    """Compute the arrivals that a queue and its oldest request imply, requests a second."""
    yield from ()
    rate = quantities.arrivals_per_s(waiting=int(STORM["waiting"]), oldest_s=STORM["oldest_s"])
    lifetime_s = 1_600 * quantities.step_ms(kv_tokens=112_000) / 1e3
    sustained = 40 / lifetime_s
    return Reveal(
        answer=rate,
        shown=f"{rate:.1f}",
        beside=f"the engine can finish {sustained:.2f}",
        method="waiting ÷ age of the oldest: all of them came since it did",
        facts={
            "rate": f"{rate:.1f}",
            "sustained": f"{sustained:.2f}",
            "lifetime": f"{lifetime_s:.0f}",
            "times": f"{rate / sustained:.0f}",
        },
    )


def _pool(bytes_per_token: int, other: str) -> Steps[Reveal]:
    yield from ()
    tokens = quantities.live_tokens(pool_bytes=POOL_GIB * GIB, bytes_per_token=bytes_per_token)
    decimal = quantities.live_tokens(pool_bytes=POOL_GIB * 1e9, bytes_per_token=bytes_per_token)
    blocks = tokens // 16
    return Reveal(
        answer=tokens,
        shown=f"{tokens:,}",
        beside=f"{blocks:,} blocks of 16",
        method=f"{POOL_GIB:.0f} GiB ÷ {bytes_per_token // 1024} KiB, in whole blocks",
        facts={
            "tokens": f"{tokens:,}",
            "blocks": f"{blocks:,}",
            "decimal": f"{decimal:,}",
            "decimal_off": f"{100 * (1 - decimal / tokens):.0f} %",
            "sequences": f"{tokens // 2_800}",
            "other": other,
        },
    )


def pool_atlas() -> Steps[Reveal]:
    """Compute the live tokens that fit an Atlas rank."""
    return _pool(ATLAS.kv_bytes_per_token, f"{LLAMA.kv_bytes_per_token // 1024}")


def pool_llama() -> Steps[Reveal]:
    """Compute the live tokens that fit a real 70B rank at TP4."""
    return _pool(LLAMA.kv_bytes_per_token, f"{ATLAS.kv_bytes_per_token // 1024}")
