"""Worlds at their page, simulated once: several plays and re-runs of one world follow one another."""

from __future__ import annotations

import hashlib
import pickle
from collections import OrderedDict
from typing import TYPE_CHECKING

from labs import worlds
from labs.incident.perform import begin

if TYPE_CHECKING:
    from labs.incident.state import Incident, Progress
    from labs.specs import LabSpec

_PAGES: OrderedDict[tuple[str, str, int], bytes] = OrderedDict()
_MOST = 4


def spec_key(spec: LabSpec) -> str:
    """Return what tells two specs apart, drafts of one lab among them."""
    return f"{spec.slug}:{hashlib.sha256(spec.model_dump_json().encode()).hexdigest()}"


def page_bytes(
    spec: LabSpec, seed: int, *, hypothesis: str | None = None, progress: Progress | None = None
) -> bytes:
    """Return a world at its page, pickled; the hypothesis is the seed's own unless given."""
    name = hypothesis or worlds.hypothesis_of(spec, seed)
    key = (spec_key(spec), name, seed)
    if key in _PAGES:
        _PAGES.move_to_end(key)
    else:
        world = begin(spec, seed, hypothesis=name, progress=progress)
        _PAGES[key] = pickle.dumps(world, protocol=pickle.HIGHEST_PROTOCOL)
        while len(_PAGES) > _MOST:
            _PAGES.popitem(last=False)
    return _PAGES[key]


def at_page(
    spec: LabSpec, seed: int, *, hypothesis: str | None = None, progress: Progress | None = None
) -> Incident:
    """Return a fresh copy of a world at its page."""
    raw = page_bytes(spec, seed, hypothesis=hypothesis, progress=progress)
    world: Incident = pickle.loads(raw)  # noqa: S301  (our own bytes)
    return world
