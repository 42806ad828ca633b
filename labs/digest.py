"""What a lab's computed files follow from: the worlds that its spec says, and what those worlds do.

``spec_digest`` holds everything in a spec that can change a world or a reading. ``behaviour`` holds what the worlds
do under today's code: a few of them are run and what every request got, and every signal read, is hashed. So a
change of code that changes no number asks for nothing to be computed again, and one that does is seen.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import tokenize
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from courseware.served import remembered
from labs import console, incident, worlds
from labs.catalogue import lab
from labs.instruments.registry import signal_values

if TYPE_CHECKING:
    from collections.abc import Iterable

    from labs.incident import Incident
    from labs.instruments.registry import Value
    from labs.specs import LabSpec

_HERE = Path(__file__).parent
_ROOMS = ("simulator", "instruments", "specs", "worlds", "incident", "table_runs.py")
_WORLD_KEYS = {
    "timeline", "windows", "alarm", "admission", "slos", "fleet", "traffic", "hypotheses", "mitigation",
}  # fmt: skip
"""Of a spec; titles, prices and texts change no world."""
_PROBE_SEEDS = (3_000_000, 3_000_001)
"""A stream of their own: neither the table's nor the pool's."""
_AFTERMATH_S = 600
"""How long a probe is watched after the last change."""
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.ENCODING,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
}


def spec_digest(spec: LabSpec) -> str:
    """Return the digest of what a spec says about its worlds, 64 hexadecimal digits."""
    # What stands at its default is left out, so that a new key of the format changes no lab that does not use it.
    said = spec.model_dump(mode="json", include=_WORLD_KEYS, exclude_defaults=True)
    said["fleet"].pop("engine", None)  # Names and formats; the engine underneath is the same.
    said["slos"] = {name: {**slo, "title": ""} for name, slo in said["slos"].items()}
    said["signals"] = {
        name: (each.unit, each.kind, each.transform, each.resolution)
        for name, each in sorted(spec.signals.items())
    }
    said["hypotheses"] = {
        key: (said["hypotheses"][key]["world"], each.prior, each.served, each.answer.scope)
        for key, each in spec.hypotheses.items()
    }
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def behaviour(spec: LabSpec) -> str:
    """Return the digest of what a few worlds of a lab do, 64 hexadecimal digits.

    Each is left alone until the last grid time of the table; the first of each hypothesis is handled once more,
    with every change that the lab offers. Times are rounded to milliseconds and signals to six digits, so that it
    does not depend on the last bit of a logarithm. Takes a few worlds' simulation.
    """
    total = hashlib.sha256()
    for name in dict.fromkeys((*spec.hypotheses, worlds.HEALTHY)):
        for seed in _PROBE_SEEDS:
            world = incident.begin(spec, seed, hypothesis=name)
            page = pickle.dumps(world, protocol=pickle.HIGHEST_PROTOCOL)
            for at_s in spec.timeline.grid_s:
                incident.advance(world, at_s)
                total.update(_readings(world))
            total.update(_requests(world))
            if seed == _PROBE_SEEDS[0]:
                handled: Incident = pickle.loads(page)  # noqa: S301  (our own bytes)
                total.update(_changed(handled))
    return total.hexdigest()


def _readings(world: Incident) -> bytes:
    values = signal_values(world.view, sorted(world.spec.signals))
    return json.dumps({key: _rounded(value) for key, value in values.items()}).encode()


def _requests(world: Incident) -> bytes:
    told: list[str] = []
    for each in world.world.cluster.requests:
        times = (each.sent_s, each.first_token_s, each.last_token_s, each.finish_s)
        shown = [None if time_s is None else round(time_s, 3) for time_s in times]
        told.append(
            repr((shown, round(each.longest_gap_s, 3), each.num_output_tokens, str(each.status)))
        )
    return "\n".join(told).encode()


def _changed(world: Incident) -> bytes:
    """Return what a world does when every change of its lab is made in it, one after the other."""
    said = b""
    for number, change in enumerate(world.spec.changes.values(), start=1):
        parsed = console.parse(change.command)
        if isinstance(parsed, console.Command):
            outcome = incident.perform(world, parsed, number)
            said += repr((outcome.kind, outcome.at_s)).encode()
    incident.advance(world, world.clock_s + _AFTERMATH_S)
    return said + _readings(world) + _requests(world)


def _rounded(value: Value) -> str | None:
    return value if value is None or isinstance(value, str) else f"{value:.6g}"


@remembered
def world_digest(key: str) -> str:
    """Return the digest of spec and code that a lab's worlds follow from: the key of what a worker computes itself."""
    total = hashlib.sha256(spec_digest(lab(key)).encode())
    total.update(code_digest().encode())
    return total.hexdigest()


@cache
def code_digest() -> str:
    """Return the digest of all code that can change a world. Comments, docstrings and layout do not count."""
    return meaning_digest(_ROOMS)


def meaning_digest(rooms: Iterable[str]) -> str:
    """Return the digest of the code of rooms (folders or files of ``labs``), comments, docstrings and layout aside."""
    total = hashlib.sha256()
    for room in rooms:
        path = _HERE / room
        files = sorted(each for kind in ("*.py", "*.toml", "*.csv") for each in path.rglob(kind))
        for file in files if path.is_dir() else [path] if path.exists() else []:
            total.update(file.relative_to(_HERE).as_posix().encode())
            total.update(_meaning(file))
    return total.hexdigest()


def _meaning(file: Path) -> bytes:
    text = file.read_text(encoding="utf-8")
    return meaning(text).encode() if file.suffix == ".py" else text.encode()


def meaning(source: str) -> str:
    """Return the tokens of Python source that can change what it does, one a line."""
    kept: list[str] = []
    starts_statement = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in _LAYOUT:
            starts_statement = starts_statement or token.type != tokenize.COMMENT
            continue
        if not (starts_statement and token.type == tokenize.STRING):
            kept.append(token.string)
        starts_statement = False
    return "\n".join(kept)
