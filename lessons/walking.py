"""A walkthrough carried out: the answer of any reading at the moment of any step, the same for everybody.

Pure. The world of a step is reached from its beginning by the steps before it, within a second for today's labs, so no
world is kept.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import labs
from labs import console, incident
from lessons.simulations import Progress
from lessons.walkthroughs import number_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from labs.incident import Incident, Outcome
    from lessons.simulations import Steps
    from lessons.walkthroughs import Step, Walkthrough

_ROOMS = ("simulator", "specs", "worlds", "console", "instruments", "incident")
_PIECE_S = 300


@dataclass(frozen=True)
class Answer:
    """What a line gave at the moment of a step."""

    outcome: Outcome
    before_s: int
    """The incident clock when it was asked, seconds."""
    changes_s: tuple[int, ...]
    """When changes were made before it, seconds."""
    facts: Mapping[str, str]
    """What the text may quote, as it is written; empty for a line that is not the step's."""
    values: Mapping[str, float]
    """The same as numbers."""

    def as_json(self) -> dict[str, Any]:
        return {
            "outcome": asdict(self.outcome),
            "before_s": self.before_s,
            "changes_s": list(self.changes_s),
            "facts": dict(self.facts),
        }


def answer(walk: Walkthrough, key: str, line: str = "") -> Steps[Answer]:
    """Compute what a line gives at a step: the step's own unless another is given. Raises KeyError for no such step."""
    step = walk.step(key)
    if step is None:
        raise KeyError(key)
    world = incident.waking(walk.spec, walk.seed, hypothesis=walk.world)
    yield from _to_the_page(world, step.at_s)
    values: dict[str, float] = {}
    changes_s: list[int] = []
    for earlier in walk.steps[: step.number - 1]:
        outcome = _performed(world, earlier, earlier.command)
        values |= found_in(earlier, outcome, values)
        if outcome.kind == "change":
            changes_s.append(outcome.at_s - outcome.cost_s)
        yield _progress(world, step.at_s)
    command = console.parse(line) if line else step.command
    if isinstance(command, console.Refusal):
        raise TypeError(f"a refused line was queued: {command.message}")
    before_s = world.clock_s
    outcome = incident.perform(world, command, step.number)
    if command == step.command:
        values |= found_in(step, outcome, values)
        facts = {name: shown(value) for name, value in values.items()}
    else:
        values, facts = {}, {}
    return Answer(outcome, before_s, tuple(changes_s), facts, values)


def _to_the_page(world: Incident, until_s: int) -> Iterator[Progress]:
    begins_s = world.spec.timeline.starts_at_s
    for at_s in (*range(begins_s + _PIECE_S, 0, _PIECE_S), 0):
        incident.advance(world, at_s)
        yield _progress(world, until_s)


def _progress(world: Incident, until_s: int) -> Progress:
    begins_s = world.spec.timeline.starts_at_s
    return Progress(world.clock_s - begins_s, until_s - begins_s)


def _performed(world: Incident, step: Step, command: console.Command) -> Outcome:
    outcome = incident.perform(world, command, step.number)
    if outcome.kind == "refused":
        raise ValueError(f"step {step.number} ({step.key}): {outcome.text}")
    return outcome


def found_in(step: Step, outcome: Outcome, known: Mapping[str, float]) -> dict[str, float]:
    """Return a step's facts: what its patterns find in the answer, and what follows. Raises ValueError for one not found."""
    values: dict[str, float] = {}
    for name, pattern in step.find.items():
        match = pattern.search(outcome.text)
        if match is None:
            raise ValueError(f"step {step.number} ({step.key}): its answer shows no {name}")
        values[name] = number_of(match[1])
    for name, term in step.work_out.items():
        values[name] = term.worked_out({**known, **values})
    return values


def code_version(walk: Walkthrough) -> str:
    """Return a digest of all that a walkthrough's answers follow from: its steps, its lab, and the code of the worlds."""
    digest = hashlib.sha256(_code().encode())
    digest.update(walk.as_json().encode())
    digest.update(walk.spec.model_dump_json().encode())
    return digest.hexdigest()[:16]


@cache
def _code() -> str:
    return digest_of(sources())


def sources() -> Iterable[Path]:
    """Yield the files of code that a walkthrough's answers follow from."""
    here, rooms = Path(__file__).parent, Path(labs.__file__).parent
    yield from (here / "walking.py", here / "walkthroughs.py")
    for room in _ROOMS:
        for kind in ("*.py", "*.toml", "*.csv"):
            yield from sorted((rooms / room).rglob(kind))


def digest_of(files: Iterable[Path]) -> str:
    """Return the digest of files and their names."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
