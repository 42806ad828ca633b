"""How people of different skill handle an incident: the reference play with what they leave out, add and mistake. Pure.

For demonstrations and measurements: nobody's marks are invented, a persona's play is carried out and marked as anybody's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labs.plays import Play, load_play

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from labs.specs import LabSpec

type Step = Mapping[str, Any]

CONFIDENCES = (50, 60, 70, 80, 90)
VAGUE = (
    "It was slow and the queue was long.",
    "I restarted it and the graph went down.",
    "The GPU looked busy all the time.",
    "Somebody should add more replicas.",
    "The cache was nearly full, so I changed that.",
)


@dataclass(frozen=True)
class Persona:
    """Somebody who takes a lab."""

    skill: float
    """0 to 1: how seldom they leave something out or mistake it."""
    surplus: float
    """How much surer they are than right, in the share of the way to 90 %; below 0 is modest."""


def play_of(spec: LabSpec, truth: str, persona: Persona, draws: Random) -> Play:
    """Return what a persona does in a world. Raises PlayError if the lab's reference has no steps for it."""
    steps = load_play(spec.key, "reference").steps_for(truth)
    at = next((i for i, step in enumerate(steps) if "diagnose" in step), len(steps))
    asked = [*_predicted(steps[:at], persona, draws), *_readings(spec, steps[:at], persona, draws)]
    said = [_diagnosed(spec, step, persona, draws) for step in steps[at : at + 1]]
    done = _mended(spec, steps[at + 1 :], persona, draws)
    whole = [*asked, *said, *done, *_explained(steps, persona, draws)]
    return Play(
        slug=spec.slug,
        name="a persona",
        title="A persona",
        ceiling=100.0,
        steps={truth: [{**step, "may_refuse": True} for step in whole]},
    )


def _slips(persona: Persona, draws: Random, share: float) -> bool:
    """Tell whether something goes wrong that goes wrong for the least skilled in this share of cases."""
    return draws.random() < share * (1 - persona.skill)


def _sure(persona: Persona, draws: Random, choices: Sequence[int]) -> int:
    wanted = 50 + 40 * min(
        1.0, max(0.0, persona.skill * 0.7 + persona.surplus + draws.gauss(0, 0.15))
    )
    return min(choices, key=lambda each: abs(each - wanted))


def _predicted(steps: Sequence[Step], persona: Persona, draws: Random) -> list[Step]:
    found = next((step["predict"] for step in steps if "predict" in step), None)
    if found is None:
        return []
    factor = 2 ** draws.gauss(0, 0.3 + 1.5 * (1 - persona.skill))
    value = float(found["value"]) * factor
    value = min(1.0, value) if 0 < float(found["value"]) <= 1 else value
    said = {
        **found,
        "value": float(f"{value:.3g}"),
        "confidence": _sure(persona, draws, (50, 70, 90)),
    }
    return [{"predict": said}]


def _readings(spec: LabSpec, steps: Sequence[Step], persona: Persona, draws: Random) -> list[Step]:
    wanted = [step for step in steps if "run" in step]
    kept = [step for step in wanted if not _slips(persona, draws, 0.4)] or list(wanted[:1])
    others = sorted(each.command for each in spec.instruments.values() if not each.is_panel)
    for _ in range(3):
        if others and _slips(persona, draws, 0.7):
            kept.insert(draws.randrange(len(kept) + 1), {"run": draws.choice(others)})
    return kept


def _diagnosed(spec: LabSpec, step: Step, persona: Persona, draws: Random) -> Step:
    said = dict(step["diagnose"])
    if _slips(persona, draws, 0.6):
        worlds = sorted(key for key, each in spec.hypotheses.items() if each.answer.mechanisms)
        other = spec.hypotheses[draws.choice(worlds)].answer
        said["mechanism"] = other.mechanisms[0].mechanism
        said["components"] = list(other.components[0]) if other.components else []
    citations = [each for each in said.get("citations", []) if not _slips(persona, draws, 0.5)]
    said |= {
        "citations": [{**each, "may_lack": True} for each in citations],
        "confidence": _sure(persona, draws, CONFIDENCES),
    }
    return {"diagnose": said}


def _mended(spec: LabSpec, steps: Sequence[Step], persona: Persona, draws: Random) -> list[Step]:
    changes = sorted(each.command for each in spec.changes.values())
    done: list[Step] = []
    if changes and _slips(persona, draws, 0.4):
        done.append({"run": draws.choice(changes)})
    for step in steps:
        if "explain" in step or (step.get("run") == "verify" and _slips(persona, draws, 0.35)):
            continue
        if step.get("run") in changes and _slips(persona, draws, 0.5):
            done.append({"run": draws.choice(changes)})
        else:
            done.append(step)
    return done


def _explained(steps: Sequence[Step], persona: Persona, draws: Random) -> list[Step]:
    if _slips(persona, draws, 0.4):
        return []
    whole = next((str(step["explain"]) for step in steps if "explain" in step), "")
    sentences = [each.strip(" .") + "." for each in whole.split(". ") if each.strip()]
    kept = [each for each in sentences if not _slips(persona, draws, 0.8)]
    if not kept or _slips(persona, draws, 0.6):
        kept.append(draws.choice(VAGUE))
    return [{"explain": " ".join(kept)}]
