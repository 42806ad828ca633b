"""Recorded traffic that others have published: arrivals and lengths, with origin and licence."""

from __future__ import annotations

import gzip
import hashlib
import math
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from labs.simulator.request import Request
from labs.simulator.workload import LengthDistribution, RequestClass, Workload, WorkloadSpec

if TYPE_CHECKING:
    from labs.simulator.workload import Burst

TRACES_DIR = Path(__file__).parent / "traces"
_ONE = LengthDistribution(1.0, 0.0)


class TraceError(ValueError):
    """A trace that does not exist, or whose file is not the one described."""


@dataclass(slots=True, frozen=True)
class PublicTrace:
    """A published trace; the three columns are equally long, in order of arrival."""

    name: str
    title: str
    origin: str
    licence: str
    cite: str
    changes: str
    """What was changed on the way here."""
    arrivals_s: tuple[float, ...]
    """Seconds from the first request."""
    input_tokens: tuple[int, ...]
    output_tokens: tuple[int, ...]

    @property
    def rate_rps(self) -> float:
        """Requests per second over the whole of it."""
        return (len(self.arrivals_s) - 1) / self.arrivals_s[-1]


def _sources() -> dict[str, dict[str, str]]:
    return tomllib.loads((TRACES_DIR / "SOURCES.toml").read_text(encoding="utf-8"))


def names() -> tuple[str, ...]:
    """Return the names of the traces that ship."""
    return tuple(_sources())


@lru_cache(maxsize=8)
def load(name: str) -> PublicTrace:
    """Read a trace. Raises TraceError if there is none of that name, or its file is another than described."""
    sources = _sources()
    if name not in sources:
        raise TraceError(f"no trace {name!r}; there are {', '.join(sources)}")
    source = sources[name]
    data = (TRACES_DIR / f"{name}.csv.gz").read_bytes()
    if hashlib.sha256(data).hexdigest() != source["sha256"]:
        raise TraceError(f"{name}: not the file that SOURCES.toml describes")
    lines = gzip.decompress(data).decode("ascii").splitlines()[1:]
    rows = [tuple(map(int, line.split(","))) for line in lines]
    return PublicTrace(
        name=name,
        title=source["title"],
        origin=source["origin"],
        licence=source["licence"],
        cite=source["cite"],
        changes=source["changes"],
        arrivals_s=tuple(row[0] / 1000 for row in rows),
        input_tokens=tuple(row[1] for row in rows),
        output_tokens=tuple(row[2] for row in rows),
    )


class TraceWorkload(Workload):
    """A published trace as traffic: the k-th request of a seedless world, at a speed of one's choice.

    The ``rates`` of ``spec`` are factors on the trace's own speed, 1.0 as recorded; bursts multiply them. The
    first class of ``spec`` names the requests; the lengths are the trace's.
    """

    __slots__ = ("_first", "name")

    def __init__(
        self,
        name: str,
        *,
        speed: float = 1.0,
        first: int | None = None,
        start_s: float = 0.0,
        bursts: tuple[Burst, ...] = (),
    ) -> None:
        """Play ``first`` requests of the trace (None: all) from ``start_s`` on. Raises TraceError, ValueError."""
        if speed <= 0:
            raise ValueError(f"{speed=}: must be above 0")
        self.name = name
        self._first = len(load(name).arrivals_s) if first is None else first
        spec = WorkloadSpec(((start_s, speed),), (RequestClass(name, 1.0, _ONE, _ONE),))
        super().__init__(spec, name, start_s, bursts)

    def __post_init__(self) -> None:
        """Stand before the first request."""
        super().__post_init__()
        self._gap = 0.0

    def _make(self, arrival_s: float) -> Request:
        trace = load(self.name)
        place = self.count
        kind = self.spec.classes[0]
        request = Request(
            request_id=f"r{place:06d}",
            arrival_s=arrival_s,
            prompt_tokens=trace.input_tokens[place],
            max_tokens=trace.output_tokens[place],
            priority=kind.priority,
            request_class=kind.name,
            whole_prefill=kind.whole_prefill,
        )
        self.count += 1
        self._last_s = arrival_s
        self._gap = math.inf
        if self.count < self._first:
            self._gap = trace.arrivals_s[place + 1] - trace.arrivals_s[place]
        return request

    def state(self) -> tuple[object, ...]:
        """Return where the stream is, in plain values."""
        return self.name, self._first, super().state()
