"""What a lab's computed files follow from: the worlds that its spec says, and what those worlds do.

``spec_digest`` holds everything in a spec that can change a world or a reading. ``behaviour`` holds what the worlds
do under today's code: a few of them are run and what every request got, and every signal read, is hashed. So a
change of code that changes no number asks for nothing to be computed again, and one that does is seen.
"""

from __future__ import annotations

import hashlib
import io
import json
import tokenize
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from labs import incident, worlds
from labs.catalogue import labs
from labs.instruments.registry import signal_values

if TYPE_CHECKING:
    from labs.instruments.registry import Value
    from labs.specs import LabSpec

_HERE = Path(__file__).parent
_ROOMS = ("simulator", "instruments", "worlds.py", "worlds", "incident", "table_runs.py")
_WORLD_KEYS = {
    "timeline", "alarm", "admission", "slos", "fleet", "traffic", "hypotheses", "mitigation",
}  # fmt: skip
"""Of a spec; titles, prices and texts change no world."""
_PROBE_SEEDS = (3_000_000, 3_000_001)
"""A stream of their own: neither the table's nor the pool's."""
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
    said["signals"] = sorted(spec.signals)
    said["hypotheses"] = {key: each["world"] for key, each in said["hypotheses"].items()}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def behaviour(spec: LabSpec) -> str:
    """Return the digest of what a few worlds of a lab do, 64 hexadecimal digits.

    Times are rounded to milliseconds and signals to six digits, so that it does not depend on the last bit of a
    logarithm. Takes a few worlds' simulation.
    """
    total = hashlib.sha256()
    for name in dict.fromkeys((*spec.hypotheses, worlds.HEALTHY)):
        for seed in _PROBE_SEEDS:
            world = incident.begin(spec, seed, hypothesis=name)
            values = signal_values(world.view, sorted(spec.signals))
            said = {key: _rounded(value) for key, value in values.items()}
            total.update(json.dumps(said, sort_keys=True).encode())
            for request in world.world.cluster.requests:
                times = (request.sent_s, request.first_token_s, request.finish_s)
                told = [None if each is None else round(each, 3) for each in times]
                total.update(repr((told, request.num_output_tokens, str(request.status))).encode())
    return total.hexdigest()


def _rounded(value: Value) -> str | None:
    return value if value is None or isinstance(value, str) else f"{value:.6g}"


@cache
def world_digest(slug: str) -> str:
    """Return the digest of spec and code that a lab's worlds follow from: the key of what a worker computes itself."""
    total = hashlib.sha256(spec_digest(labs()[slug]).encode())
    total.update(code_digest().encode())
    return total.hexdigest()


@cache
def code_digest() -> str:
    """Return the digest of all code that can change a world. Comments, docstrings and layout do not count."""
    total = hashlib.sha256()
    for room in _ROOMS:
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
