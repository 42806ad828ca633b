"""Plays that every lab must be proof against, made from its spec and its reference play.

Each has the ceiling of the marking specification, section 8. A lab in which one of them honestly earns more says so,
and why, in its spec: ``[cheats.<name>]`` with ``ceiling`` and ``why``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from labs.plays import Play, load_play

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from labs.specs import LabSpec

type Step = Mapping[str, Any]
type Steps = Sequence[Step]

MOST_NAMES = 3
CONTROL_CEILINGS = {"right answers, nothing read": 25.0, "says healthy": 25.0, "restart only": 40.0}
"""In a healthy control silence is right, yet it earns nothing that was not looked for."""


def cheats(spec: LabSpec) -> Iterator[Play]:
    """Return every cheat of a lab, with its ceiling in worlds that are a fault."""
    reference = load_play(spec.key, "reference")
    for name, (ceiling, passes, make) in _CHEATS.items():
        steps = {key: made for key in spec.served if (made := make(spec, reference, key))}
        if steps:
            own = spec.cheats.get(name)
            yield Play(
                slug=spec.slug,
                name=name,
                title=name.capitalize(),
                ceiling=ceiling if own is None else own.ceiling,
                steps=steps,
                must_not_pass=not passes,
            )


def in_control(play: Play) -> Play:
    """Return a cheat with its ceiling in a healthy control."""
    return replace(play, ceiling=CONTROL_CEILINGS.get(play.name, play.ceiling))


def _diagnose_at(steps: Steps) -> int:
    return next((i for i, step in enumerate(steps) if "diagnose" in step), len(steps))


def _with_diagnosis(steps: Steps, **changed: Any) -> list[Step]:
    return [
        {"diagnose": {**step["diagnose"], **changed}} if "diagnose" in step else step
        for step in steps
    ]


def _nothing_read(spec: LabSpec, reference: Play, world: str) -> list[Step]:
    del spec
    steps = reference.steps_for(world)
    unread = [step for step in steps[: _diagnose_at(steps)] if "predict" in step]
    said = _with_diagnosis(steps[_diagnose_at(steps) :], citations=[], parameter=None)
    return [*unread, *said]


def _other_worlds_answer(spec: LabSpec, reference: Play, world: str) -> list[Step]:
    others = [name for name in spec.served if name != world and reference.has(name)]
    return (
        [{**step, "may_refuse": True} for step in reference.steps_for(others[0])] if others else []
    )


def _with_changes(spec: LabSpec, *keys: str) -> list[Step]:
    lines = [spec.changes[key].command for key in keys if key in spec.changes]
    if not lines:
        return []
    changes = [{"run": line, "may_refuse": True} for line in lines]
    return [*changes, {"run": "wait 10m", "may_refuse": True}]


def _restart_only(spec: LabSpec, reference: Play, world: str) -> list[Step]:
    del reference, world
    return _with_changes(spec, "restart")


def _shed_everything(spec: LabSpec, reference: Play, world: str) -> list[Step]:
    del reference, world
    if "shed" not in spec.changes:
        return []
    return [{"run": "shed 100%"}, {"run": "wait 10m"}]


def _every_change(spec: LabSpec, reference: Play, world: str) -> list[Step]:
    del reference, world
    return _with_changes(spec, *spec.changes)


def _says_healthy(spec: LabSpec, reference: Play, world: str) -> list[Step]:
    del spec, reference, world
    return [{"diagnose": {"scope": "nothing", "slos": [], "components": [], "citations": []}}]


def _says_healthy_after_reading(spec: LabSpec, reference: Play, world: str) -> list[Step]:
    if spec.hypotheses[world].answer.scope == "healthy":
        return []
    steps = reference.steps_for(world)
    return [
        *steps[: _diagnose_at(steps)],
        {"diagnose": {"scope": "nothing", "slos": [], "components": [], "citations": []}},
    ]


def _names_everything(spec: LabSpec, reference: Play, world: str) -> list[Step]:
    named = [key for key, node in spec.nodes.items() if node.nameable]
    if len(named) <= MOST_NAMES:
        return []
    return _with_diagnosis(reference.steps_for(world), components=named)


def _measures_everything(spec: LabSpec, reference: Play, world: str) -> list[Step]:
    steps = reference.steps_for(world)
    at = _diagnose_at(steps)
    read = {step["run"] for step in steps[:at] if "run" in step}
    more = [
        {"run": each.command, "may_refuse": True}
        for each in spec.instruments.values()
        if each.command not in read and not each.is_alarm and not each.is_panel
    ]
    return [*more, *steps]


def _cites_everything(spec: LabSpec, reference: Play, world: str) -> list[Step]:
    steps = reference.steps_for(world)
    commands = {each.command: each for each in spec.instruments.values()}
    seen = [
        name
        for step in steps[: _diagnose_at(steps)]
        if step.get("run") in commands
        for name in commands[step["run"]].signals
    ]
    roles: list[dict[str, Any]] = [
        {"signal": name, "role": "shows", "may_lack": True} for name in dict.fromkeys(seen)
    ]
    roles += [
        {"signal": name, "role": "rules_out", "rival": rival, "may_lack": True}
        for rival in spec.hypotheses
        if rival != world
        for name in dict.fromkeys(seen)
    ]
    return _with_diagnosis(steps, citations=roles)


_CHEATS: dict[str, tuple[float, bool, Callable[[LabSpec, Play, str], list[Step]]]] = {
    "right answers, nothing read": (75.0, False, _nothing_read),
    "the other world's answer": (55.0, False, _other_worlds_answer),
    "restart only": (40.0, False, _restart_only),
    "shed everything": (50.0, False, _shed_everything),
    "every change at once": (55.0, False, _every_change),
    "says healthy": (0.0, False, _says_healthy),
    "says healthy after reading": (20.0, False, _says_healthy_after_reading),
    "names everything": (80.0, True, _names_everything),
    "measures everything": (98.4, True, _measures_everything),
    "cites everything": (85.5, False, _cites_everything),
}
"""Name -> (ceiling, whether it may pass, its steps in a world).

Whoever measures everything pays at least 1.5 times the budget (statement 8), so thrift is at most 2/3 and the total
10 · (1 − 2/3) / 2 = 1.7 below full; the specification's 96 is its toy's.
"""
