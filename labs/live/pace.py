"""How fast a box is: its engine's steps beside those of the profile that its labs are written for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labs.live import calibration, comparing
from labs.simulator.cost_model import profile

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from labs.live.boxes import Box
    from labs.live.calibration import Fit
    from labs.simulator.cost_model import CostModel

LOADED = 20
"""Requests at once of the heavier step: about what a live lab runs."""
CONTEXT = 96
PROMPT = 512
SLOWEST = 1.5
"""A live lab leaves a third of its engine free: one that is slower by more than this is overloaded by its healthy world."""


@dataclass(frozen=True)
class Step:
    """One kind of step: what it takes on a box, and what labs are written for."""

    title: str
    measured_ms: float
    written_for_ms: float

    @property
    def ratio(self) -> float:
        """Return how many times as long as written for it takes."""
        return self.measured_ms / self.written_for_ms


def measure(box: Box, *, folder: Path, tell: Callable[[float, str], None]) -> list[Step]:
    """Start the engine of a box, measure its steps for half a minute, and stop it.

    Raises EngineError, OtherMetrics, TimeoutError; ValueError for a box with models, one of which has to be chosen.
    """
    if not box.simulator_profile or box.url:
        raise ValueError(
            f"{box.name}: only an engine of one model that is started here is measured"
        )
    config = replace(comparing.AMPLE, block_size=box.block_size)
    log_path = folder / "pace.log"
    with comparing.engine_of(box, config, log_path, tell) as server:
        seen = calibration.measure(
            server.base_url, log_path, model=box.served_model_name, config=config, tell=tell
        )
    return steps_of(calibration.fitted(seen), profile(box.simulator_profile).cost_model())


def steps_of(found: Fit, written_for: CostModel) -> list[Step]:
    """Return steps of three kinds on both."""
    kinds = (
        ("one stream's token", 1, CONTEXT, 0),
        (f"a token of each of {LOADED} streams", LOADED, LOADED * CONTEXT, 0),
        (f"a prompt of {PROMPT} tokens", 1, PROMPT, PROMPT),
    )
    return [
        Step(title, _took_ms(found.cost(), *kind), _took_ms(written_for, *kind))
        for title, *kind in kinds
    ]


def _took_ms(cost: CostModel, sequences: int, kv_tokens: int, prefill_tokens: int) -> float:
    took_ps = cost.step_ps(
        kv_tokens=kv_tokens,
        prefill_tokens=prefill_tokens,
        sequences=sequences,
        tokens=max(sequences, prefill_tokens),
    )
    return took_ps / calibration.PS_PER_MS


def told(steps: list[Step]) -> list[str]:
    """Return the steps in lines, and what follows from them."""
    lines = [
        f"{each.title:<32} {each.measured_ms:8.1f} ms   labs are written for {each.written_for_ms:8.1f} ms   x {each.ratio:.2f}"
        for each in steps
    ]
    worst = max(steps, key=lambda each: each.ratio)
    if worst.ratio > SLOWEST:
        lines.append(
            f"This box takes {worst.ratio:.1f} times as long for {worst.title} as its labs are written for: with their healthy traffic it is overloaded "
            "already. Run nothing else on it, or give it faster cores."
        )
    else:
        lines.append("This box is fast enough for its labs.")
    return lines
