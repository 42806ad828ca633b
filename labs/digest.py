"""A digest of the code and the spec that a world follows from: what was computed under another one is not reused.

Comments, docstrings and layout do not count; everything that can change a number does.
"""

from __future__ import annotations

import hashlib
import io
import json
import tokenize
from functools import cache
from pathlib import Path

from labs.catalogue import labs

_HERE = Path(__file__).parent
_ROOMS = ("simulator", "instruments/signals.py", "worlds.py", "incident", "table_runs.py")
_WORLD_KEYS = {"timeline", "alarm", "slos", "fleet", "traffic", "hypotheses", "mitigation"}
"""Of a spec; titles, prices and texts change no world."""
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.ENCODING,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
}


@cache
def world_digest(slug: str) -> str:
    """Return the digest of everything that a lab's worlds follow from, 64 hexadecimal digits."""
    spec = labs()[slug]
    said = spec.model_dump(mode="json", include=_WORLD_KEYS) | {"signals": sorted(spec.signals)}
    said["hypotheses"] = {key: each["world"] for key, each in said["hypotheses"].items()}
    total = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
    for room in _ROOMS:
        path = _HERE / room
        files = (
            sorted(path.rglob("*.py")) + sorted(path.rglob("*.toml")) if path.is_dir() else [path]
        )
        for file in files:
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
