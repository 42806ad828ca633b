"""A box: a machine that engines are started on, and what they are started with there."""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

PROFILES_DIR = Path(__file__).parent / "profiles"
ROOT = Path(__file__).resolve().parent.parent.parent


class BoxError(ValueError):
    """A profile of a box that cannot be used; the message names the file and the key."""


@dataclass(frozen=True, kw_only=True)
class BoxModel:
    """A model that a box can serve, under the name of the simulator's profile that it stands for."""

    profile: str
    model: str
    """As ``Box.model``."""
    kv_bytes_per_token: int
    tensor_parallel_size: int
    flags: tuple[str, ...] = ()
    stands_for: tuple[str, ...] = ()
    """Other profiles whose labs it may play: fictional ones, which nobody can start."""


@dataclass(frozen=True, kw_only=True)
class Box:
    """What a box has and how its engines are started."""

    name: str
    title: str
    program: str = ""
    """The command ``vllm``: a relative path is one of the checkout, a bare word is found on PATH."""
    model: str = ""
    """Folder with config.json and tokenizer; a relative path is one of the checkout, ``$NAME`` a variable that holds it."""
    served_model_name: str = ""
    simulator_profile: str = ""
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
    nice: int = 0
    """How far an engine gives way, 0 to 19, to whatever else runs on the box: where it computes on the processors that its
    clients run on, they hear of each token when it comes only if they go first."""
    models: tuple[BoxModel, ...] = ()
    """Where a lab's profile decides which model is served; then ``model`` and what belongs to it are empty."""
    hardware: str = ""
    """Name of the simulator's box that it is; empty: no GPUs."""
    pairs: tuple[tuple[int, int], ...] = ()
    """GPUs that NVLink joins, the lower index first."""
    gpu_memory_utilization: float = 0.0
    """Of each GPU, what an engine may take; 0: vLLM's default."""
    python: str = "python3"
    """A Python that has torch, for our own programs on a GPU; found as ``program`` is."""
    first_port: int = 8100
    """Replica N listens on the Nth port from here."""
    url: str = ""
    """Where an engine answers that somebody else runs, or ``$NAME``: nothing is started, set or stopped there."""


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
        given["pairs"] = tuple((min(pair), max(pair)) for pair in given.get("pairs", ()))
        given["models"] = tuple(
            _model(profile, said) for profile, said in dict(given.get("models", {})).items()
        )
        made = Box(name=path.stem, **given)
    except (TypeError, ValueError) as exc:
        raise BoxError(f"{path.name}: {exc}") from exc
    if made.url:
        _attached(path, made)
        return made
    if made.nice not in range(20):
        raise BoxError(f"{path.name}: nice: write a number from 0 to 19")
    if not made.program:
        raise BoxError(f"{path.name}: program: say which command starts an engine")
    if bool(made.model) == bool(made.models):
        raise BoxError(f"{path.name}: say model, or models by profile, one of them")
    return made


def _attached(path: Path, made: Box) -> None:
    """Raise BoxError for a profile of somebody else's engine that says how to start one."""
    for key in ("program", "model", "models", "devices", "flags", "env"):
        if getattr(made, key):
            raise BoxError(
                f"{path.name}: {key}: take it out: the engine at url is started by somebody else"
            )
    if not made.served_model_name or not made.simulator_profile:
        raise BoxError(
            f"{path.name}: say served_model_name, and simulator_profile: what a step costs there"
        )


def address(box: Box, environ: Mapping[str, str] | None = None) -> str:
    """Return where the engine of a box answers that somebody else runs, without a slash at its end. Raises BoxError."""
    variable = _VARIABLE.fullmatch(box.url)
    said = box.url
    if variable is not None:
        said = (os.environ if environ is None else environ).get(variable[1], "")
        if not said:
            raise BoxError(
                f"{variable[1]} is not set: it says where the engine of {box.name} answers"
            )
    parts = urlsplit(said)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment:
        raise BoxError(f"{box.name}: url: write http://host:port, not {said[:80]}")
    return said.rstrip("/")


def _model(profile: str, said: dict[str, Any]) -> BoxModel:
    given = {**said, **{key: tuple(said.get(key, ())) for key in ("flags", "stands_for")}}
    return BoxModel(profile=profile, **given)


def for_profile(box: Box, profile: str) -> Box:
    """Return the box as it serves a lab of this profile. Raises BoxError if it has no model for it."""
    if not box.models:
        return box
    for each in box.models:
        if profile == each.profile or profile in each.stands_for:
            return replace(
                box,
                model=each.model,
                served_model_name=each.profile,
                simulator_profile=each.profile,
                kv_bytes_per_token=each.kv_bytes_per_token,
                tensor_parallel_size=each.tensor_parallel_size,
                flags=(*box.flags, *each.flags),
                models=(),
            )
    known = ", ".join(each.profile for each in box.models)
    raise BoxError(f"{box.name} serves {known}; it has no model for {profile}")


_VARIABLE = re.compile(r"\$([A-Z][A-Z0-9_]*)")


def place(said: str, environ: Mapping[str, str] | None = None) -> Path:
    """Return the path that a profile says: relative ones within the checkout, ``$NAME`` from the environment.

    Raises BoxError for a variable that is not set, or whose path is relative.
    """
    variable = _VARIABLE.fullmatch(said)
    if variable is None:
        return ROOT / said
    given = (os.environ if environ is None else environ).get(variable[1], "")
    if not given:
        raise BoxError(
            f"{variable[1]} is not set: it names the folder of the model on this box, with config.json and weights"
        )
    if not Path(given).is_absolute():
        raise BoxError(f"{variable[1]}={given}: write an absolute path")
    return Path(given)


def program(said: str) -> str:
    """Return the path of a program that a profile says; a bare word that is not on PATH stays what it is."""
    if "/" in said:
        return str(place(said))
    return shutil.which(said) or said
