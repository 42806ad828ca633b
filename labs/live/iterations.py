"""The engine's own account of its steps: the lines that ``--enable-logging-iteration-details`` adds to its log."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FLAG = "--enable-logging-iteration-details"
_LINE = re.compile(
    r"Iteration\((?P<index>\d+)\): (?P<prefilling>\d+) context requests, (?P<prefill_tokens>\d+) context tokens, "
    r"(?P<decoding>\d+) generation requests, (?P<decode_tokens>\d+) generation tokens, "
    r"iteration elapsed time: (?P<elapsed_ms>[\d.]+) ms(?P<dummy> \(dummy\))?, \w+ KV cache usage: (?P<kv>[\d.]+)%"
)


@dataclass(frozen=True, slots=True)
class Iteration:
    """One step, as vLLM logs it."""

    index: int
    prefilling: int
    """Requests that computed prompt tokens, or after a preemption prompt and outputs."""
    prefill_tokens: int
    decoding: int
    elapsed_ms: float
    """Of the model's execution; the scheduler and the outputs come on top."""
    kv_usage: float = 0.0
    """Share of the pool in use after it, to a thousandth."""

    @property
    def tokens(self) -> int:
        return self.prefill_tokens + self.decoding


def iterations(text: str) -> Iterator[Iteration]:
    """Return the steps that a piece of the log tells of, in order; dummy steps of idle ranks are left out."""
    for found in _LINE.finditer(text):
        if found["dummy"]:
            continue
        yield Iteration(
            int(found["index"]),
            int(found["prefilling"]),
            int(found["prefill_tokens"]),
            int(found["decoding"]),
            float(found["elapsed_ms"]),
            round(float(found["kv"]) / 100, 3),
        )
