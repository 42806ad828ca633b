"""A box: a machine that engines are started on, and what they are started with there."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

PROFILES_DIR = Path(__file__).parent / "profiles"
ROOT = Path(__file__).resolve().parent.parent.parent


class BoxError(ValueError):
    """A profile of a box that cannot be used; the message names the file and the key."""


@dataclass(frozen=True, kw_only=True)
class Box:
    """What a box has and how its engines are started."""

    name: str
    title: str
    program: str
    """The command ``vllm``; a relative path is one of the checkout."""
    model: str
    """Folder with config.json and tokenizer; a relative path is one of the checkout."""
    served_model_name: str
    simulator_profile: str
    """The profile of ``labs.simulator`` whose steps cost what this engine's do."""
    block_size: int
    kv_bytes_per_token: int = 0
    """Over all layers of one rank. Where it is given, the pool is set in bytes: by these and the blocks that a lab draws."""
    devices: tuple[int, ...] = ()
    """GPU indices; empty: the CPU."""
    tensor_parallel_size: int = 1
    flags: tuple[str, ...] = ()
    """What every start adds."""
    env: tuple[tuple[str, str], ...] = ()
    """What every start adds to the environment."""


@cache
def box(name: str) -> Box:
    """Return the box of a name. Raises BoxError for one that does not exist or cannot be read."""
    path = PROFILES_DIR / f"{name}.toml"
    if not path.is_file():
        known = ", ".join(sorted(each.stem for each in PROFILES_DIR.glob("*.toml")))
        raise BoxError(f"{name}: there is no box of that name; there are {known}")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise BoxError(f"{path.name}: cannot be read: {exc}") from exc
    return _box(path, data)


def _box(path: Path, data: dict[str, Any]) -> Box:
    known = {each.name for each in fields(Box)} - {"name"}
    unknown = sorted(set(data) - known)
    if unknown:
        raise BoxError(f"{path.name}: {unknown[0]}: unknown key: take it out")
    given = dict(data)
    for key in ("devices", "flags"):
        given[key] = tuple(given.get(key, ()))
    given["env"] = tuple(sorted(dict(given.get("env", {})).items()))
    try:
        return Box(name=path.stem, **given)
    except TypeError as exc:
        raise BoxError(f"{path.name}: {exc}") from exc


def place(said: str) -> Path:
    """Return the path that a profile says, relative ones within the checkout."""
    return ROOT / said
