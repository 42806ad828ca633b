"""Drill 5.4: the same perplexity, and facts from far away are lost. Recall against length, exactly or in closed form.

Keys in four bits are :func:`lessons.exact.retrieval.recall`; noise of weights and needles of uneven strength are its closed
form. Positions beyond a lost window, and a text that is cut, hide what lies too far in front. Scenario constants: needles of
12, a window of 16,384, a cut at 14,000 to 18,000 tokens, noise of 1.25 to 1.4, a new question worth 10.8 to 11.1, and 50
needles at even depths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from lessons.drills.evidence import Observed
from lessons.exact.draws import generator
from lessons.exact.retrieval import Haystack, Recall, perplexity, recall, with_noise

if TYPE_CHECKING:
    from labs.marking.table import Value
    from lessons.exact.retrieval import KeyFormat

LENGTHS = (512, 2_048, 8_192, 32_768)
NEEDLES = 50
SCORE = Haystack().score
WINDOW = 16_384
"""Tokens that the model was trained on before its positions were scaled."""
NEAR_LOSS, FAR_SHARE = 2.0, 0.01
"""Nats of a token that needs nothing from far away, and the share of those that do."""
_DRAWN = 3


@dataclass(frozen=True)
class Case:
    """One world: what was changed along with the format."""

    drawn: int
    keys: KeyFormat
    noise: float
    """Of every score, from weights."""
    score: float
    """What the test's question gives a needle in the exact model."""
    spread: float
    """Of that score from needle to needle."""
    visible: int
    """Tokens before the question in which anything can be found."""
    positions_kept: bool
    sent: int
    """Tokens of the longest prompt that reach the engine."""
    filed_with: tuple[float, float]
    """Score and spread of the question with which the results on file were made."""
    rounding: float
    """What the weights' format costs every token, nats."""
    luck: tuple[tuple[float, ...], ...]
    """One number of each needle at each length, 0 to 1: it is found if its number is below the share that is."""


@lru_cache(maxsize=16)
def _drawn_recall(keys: KeyFormat, drawn: int) -> tuple[Recall, ...]:
    return recall(keys, LENGTHS, seed=drawn)


def _recall(case: Case, length: int) -> Recall:
    """Return recall among ``length`` tokens that all can be seen."""
    if case.keys != "bf16":
        return _drawn_recall(case.keys, case.drawn)[LENGTHS.index(length)]
    return with_noise(case.score, length, noise=case.noise, spread=case.spread)


def _found(case: Case, length: int) -> list[bool]:
    """Return of each needle, the farthest from the question first, whether it is found."""
    share = _recall(case, length).found
    reach = min(case.visible, case.sent)
    return [
        luck < share and length * (NEEDLES - place - 0.5) / NEEDLES <= reach
        for place, luck in enumerate(case.luck[LENGTHS.index(length)])
    ]


def _share(found: list[bool]) -> float:
    return sum(found) / len(found)


def _case(world: str, seed: int) -> Case:
    rng = generator("drill-5.4", seed)
    drawn = int(rng.integers(_DRAWN))
    noise = float(rng.uniform(1.25, 1.4))
    sent = int(rng.integers(14_000, 18_001))
    score = float(rng.uniform(10.8, 11.1))
    rounding = float(rng.uniform(0.003, 0.008))
    luck = tuple(tuple(row) for row in rng.uniform(size=(len(LENGTHS), NEEDLES)).tolist())
    longest = LENGTHS[-1]
    calm = Case(
        drawn,
        "bf16",
        noise=0.0,
        score=SCORE,
        spread=0.0,
        visible=longest,
        positions_kept=True,
        sent=longest,
        filed_with=(SCORE, 0.0),
        rounding=rounding,
        luck=luck,
    )
    match world:
        case "keys":
            return replace(calm, keys="int4 per token")
        case "weights":
            return replace(calm, noise=noise)
        case "positions":
            return replace(calm, visible=WINDOW, positions_kept=False)
        case "cut":
            return replace(calm, sent=sent)
        case "question":
            return replace(calm, score=score, spread=0.8)
    raise KeyError(world)


def _changed(case: Case, fix: str) -> Case:
    match fix:
        case "channel":
            return replace(case, keys="bf16")
        case "sixteen":
            return replace(case, noise=0.0)
        case "scaling":
            return replace(case, visible=LENGTHS[-1], positions_kept=True)
        case "limit":
            return replace(case, sent=LENGTHS[-1])
        case "leave":
            # The old checkpoint is measured anew, with today's question.
            return replace(case, filed_with=(case.score, case.spread))
    raise KeyError(fix)


def _before(case: Case) -> Case:
    """Return the checkpoint as it was before it was quantized, behind today's gateway and under today's question."""
    return replace(
        case, keys="bf16", noise=0.0, visible=LENGTHS[-1], positions_kept=True, rounding=0.0
    )


def _perplexity_change(case: Case) -> float:
    """Return by which share perplexity rises, in windows of 2,048 tokens of ordinary text."""
    text = replace(case, score=SCORE, spread=0.0)
    now = perplexity(NEAR_LOSS + case.rounding, _recall(text, 2_048).loss, FAR_SHARE)
    then = perplexity(NEAR_LOSS, _recall(_before(text), 2_048).loss, FAR_SHARE)
    return now / then - 1


def observe(world: str, seed: int, fix: str | None = None) -> Observed:
    """Return what a world reads. A fix takes one change away. Takes 0.2 s at first, then under 1 ms."""
    case = _case(world, seed)
    if fix is not None:
        case = _changed(case, fix)
    longest = LENGTHS[-1]
    found = {length: _found(case, length) for length in LENGTHS}
    score, spread = case.filed_with
    on_file = replace(_before(case), score=score, spread=spread, sent=longest)
    lost = _share(_found(on_file, longest)) - _share(found[longest])
    half = NEEDLES // 2
    first, second = _share(found[longest][:half]), _share(found[longest][half:])
    kv16 = _share(_found(replace(case, keys="bf16"), longest))
    before = _share(_found(_before(case), longest))
    change = _perplexity_change(case)
    kept = case.sent / longest
    same_question = math.isclose(score, case.score)
    values: dict[str, Value] = {
        "lost_share": lost,
        "found_512": _share(found[512]),
        "found_8192": _share(found[8_192]),
        "half_gap": second - first,
        "kv16_found": kv16,
        "before_found": before,
        "positions": "as before" if case.positions_kept else "not as before",
        "kept_share": kept,
        "question": "the same" if same_question else "another",
        "perplexity_change": 100 * change,
    }
    prints = {
        "grid": (
            "tokens          " + "".join(f"{length:>9,}" for length in LENGTHS),
            "found           " + "".join(f"{_share(found[length]):>9.2f}" for length in LENGTHS),
            f"at {longest:,}: {first:.2f} of the farther half, {second:.2f} of the nearer half",
        ),
        "kv16": (f"keys and values in 16 bits, at {longest:,}: {kv16:.2f} found",),
        "before": (f"checkpoint of last week, same test, at {longest:,}: {before:.2f} found",),
        "config": (
            "  quantization_config: added",
            "  rope_scaling: equal in both"
            if case.positions_kept
            else f"- rope_scaling: factor 2.0, original_max_position_embeddings {WINDOW}",
        ),
        "usage": (f"sent {longest:,} tokens; usage.prompt_tokens {case.sent:,}",),
        "file": (f"the question of the results on file and today's: {values['question']}",),
        "perplexity": (f"perplexity in windows of 2,048 tokens: {100 * change:+.1f} %",),
    }
    return Observed(values, prints)
