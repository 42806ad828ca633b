"""Answers of predictions about the walkthroughs: their own steps carried out, and what an untouched world would read. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from courseware.served import remembered, tree
from labs import incident
from lessons import quantities, walking
from lessons.reveals import Reveal
from lessons.walkthroughs import shown, walkthrough_in

if TYPE_CHECKING:
    from lessons.simulations import Steps
    from lessons.walkthroughs import Walkthrough

PLAYBOOK = "02-playbook"


@remembered
def walk_of(folder: str) -> Walkthrough:
    """Return a walkthrough of the playbook. Raises KeyError if the lesson has none."""
    found = walkthrough_in(tree().lessons / PLAYBOOK / folder)
    if found is None:
        raise KeyError(folder)
    return found


def _method(walk: Walkthrough) -> str:
    return f"labs.simulator, this lesson's incident: {walk.spec.title}, seed {walk.seed}"


def capped() -> Steps[Reveal]:
    """Compute p95 TTFT under a cap where demand exceeds the pool, beside the same world left alone, seconds."""
    walk = walk_of("25-late-first-tokens")
    answer = yield from walking.answer(walk, "cap-alarm")
    alone = incident.begin(walk.spec, walk.seed, hypothesis=walk.world)
    incident.advance(alone, answer.outcome.at_s)
    untouched = incident.alarm_now(alone)
    value = answer.values["p95_capped"]
    return Reveal(
        answer=value,
        shown=shown(value),
        beside=f"{answer.facts['p95_page']} s at the page",
        method=_method(walk),
        facts={
            "capped": answer.facts["p95_capped"],
            "page": answer.facts["p95_page"],
            "untouched": shown(float(untouched)) if untouched is not None else "nothing",
            "gap_page": answer.facts["gap_p95"],
            "gap_capped": answer.facts["gap_p95_capped"],
        },
    )


def starts_after() -> Steps[Reveal]:
    """Compute what a count over an hour reads thirteen minutes after the last start."""
    walk = walk_of("26-memory-that-grows")
    answer = yield from walking.answer(walk, "starts-again")
    return Reveal(
        answer=answer.values["starts_later"],
        shown=answer.facts["starts_later"],
        beside=f"{answer.facts['starts']} at the page",
        method=_method(walk),
        facts={
            "later": answer.facts["starts_later"],
            "page": answer.facts["starts"],
            "target": f"{walk.spec.alarm.target:g}",
        },
    )


def tail_after() -> Steps[Reveal]:
    """Compute the p99 gap between tokens with prompts cut at 512 tokens, milliseconds."""
    walk = walk_of("27-one-gap-in-a-hundred")
    answer = yield from walking.answer(walk, "verify")
    value = answer.values["p99_after_ms"]
    mixed = quantities.step_ms(
        kv_tokens=round(answer.values["usage"] * walk_pool_tokens(walk)), prefill_tokens=512
    )
    return Reveal(
        answer=value,
        shown=shown(value),
        beside=f"{answer.facts['p99_ms']} ms at the page",
        method=_method(walk),
        facts={
            "after": answer.facts["p99_after_ms"],
            "page": answer.facts["p99_ms"],
            "mixed": f"{mixed:.0f}",
            "gap_after": f"{answer.values['gap_95_s'] * 1e3:.0f}",
        },
    )


def walk_pool_tokens(walk: Walkthrough) -> int:
    """Return how many tokens the pool of a walkthrough's engine holds."""
    world = incident.waking(walk.spec, walk.seed, hypothesis=walk.world)
    return world.fleet.pool_tokens
