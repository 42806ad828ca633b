"""What was seen of a live world, as plain JSON; and the world that can be looked at again from it.

A record holds every request as its client saw it and every scrape of the engines' metrics. Signals, promises and the
alarm are computed from it at any time, as they were while the engine ran.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from labs.incident import Incident
from labs.live import starts
from labs.simulator.config import EngineConfig
from labs.simulator.lifetime import StartUp
from labs.simulator.request import Request, Status
from labs.simulator.telemetry import Process, Sample
from labs.simulator.turnover import Stop, Turnover
from labs.worlds import World

if TYPE_CHECKING:
    from collections.abc import Mapping

    from labs.simulator.memory.state import Memory
    from labs.specs import LabSpec
    from labs.worlds import Fleet

FORMAT = 1
_ASKED = (
    "request_id",
    "arrival_s",
    "prompt_tokens",
    "max_tokens",
    "priority",
    "client_arrival_s",
    "router_delay_s",
    "replica",
    "request_class",
    "cut",
    "defect",
    "user",
    "attempt",
    "cancel_tokens",
    "client_left_ps",
    "http_status",
    "refusal",
    "finish_reason",
    "num_output_tokens",
)
_SEEN = ("index", "first_token_ps", "last_token_ps", "finish_ps", "longest_gap_ps", "output_limit")


@dataclass(eq=False)
class RecordedEngine:
    """An engine as its record tells of it; nothing can be done to it."""

    config: EngineConfig
    samples: list[Sample]
    processes: list[Process]
    requests: list[Request] = field(default_factory=list)
    num_leaked_blocks: int = 0

    def open_at(self, now_s: float) -> list[Request]:
        """Return the requests that the engine had at a time, those that waited among them."""
        return [
            each
            for each in self.requests
            if each.arrival_s <= now_s and (each.finish_s is None or each.finish_s > now_s)
        ]

    @property
    def waiting(self) -> tuple[Request, ...]:
        return tuple(
            each for each in self.requests if each.finish_ps is None and each.first_token_ps is None
        )


@dataclass(frozen=True)
class RecordedFront:
    """What was known of how replicas are stopped, at the record's end."""

    turnover: Turnover | None = None
    stops: tuple[Stop, ...] = ()


@dataclass(eq=False)
class RecordedCluster:
    """A cluster as its record tells of it. Its clock stands where one puts it; nothing advances."""

    config: EngineConfig
    requests: list[Request]
    engines: list[RecordedEngine]
    said_digest: str
    now_s: float
    """How far the record goes, incident seconds."""
    front: RecordedFront = RecordedFront()
    hardware: None = None
    memory: dict[int, Memory] = field(default_factory=dict)
    kernels: dict[int, Any] = field(default_factory=dict)

    def digest(self) -> str:
        """Return the SHA-256 of the record."""
        return self.said_digest


def dump(incident: Incident, *, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return all that was seen of a live incident until now; ``about`` is noted as it is (box, engine's version)."""
    cluster = incident.world.cluster
    front = cluster.front
    turnover = {} if front.turnover is None else {"turnover": asdict(front.turnover)}
    return {
        **turnover,
        "format": FORMAT,
        "about": dict(about),
        "ends_s": cluster.now_s,
        **_followed(cluster.memory),
        "stops": [asdict(each) for each in front.stops],
        "requests": [_request(each) for each in cluster.requests],
        "engines": [
            {
                "config": asdict(engine.config),
                "samples": [_row(each) for each in engine.samples],
                "processes": [
                    [
                        each.stopped_s,
                        each.up_s if math.isfinite(each.up_s) else None,
                        None if each.base is None else _row(each.base),
                    ]
                    for each in engine.processes
                ],
            }
            for engine in cluster.engines
        ],
    }


def _followed(memory: Mapping[int, Memory]) -> dict[str, Any]:
    """Return the starts of those replicas whose starts the world follows, where there are any."""
    found = {str(replica): starts.dump(each) for replica, each in sorted(memory.items())}
    return {"starts": found} if found else {}


def bytes_of(record: Mapping[str, Any]) -> bytes:
    """Return a record as bytes: equal records give equal ones."""
    return json.dumps(record, sort_keys=True, separators=(",", ":")).encode()


def digest_of(raw: bytes) -> str:
    """Return what tells two records apart, 64 hexadecimal digits."""
    return hashlib.sha256(raw).hexdigest()


def _request(request: Request) -> list[Any]:
    prefix = [list(each) for each in request.prefix]
    said = [getattr(request, name) for name in (*_ASKED, *_SEEN)]
    closed = [] if request.closed_ps is None else [request.closed_ps]
    return [*said, str(request.status), prefix, *closed]


def _row(sample: Sample) -> list[Any]:
    values = [getattr(sample, each.name) for each in fields(Sample)]
    return [list(value) if isinstance(value, tuple) else value for value in values]


def incident_of(spec: LabSpec, hypothesis: str, seed: int, fleet: Fleet, raw: bytes) -> Incident:
    """Return the incident that a record tells of, its clock at the record's end.

    ``fleet`` is what the engines ran with at the end. Raises ValueError for a record of another format.
    """
    data = json.loads(raw)
    if data.get("format") != FORMAT:
        raise ValueError(
            f"a record of format {data.get('format')!r} cannot be read; this is {FORMAT}"
        )
    requests = [_requested(each) for each in data["requests"]]
    engines: list[RecordedEngine] = []
    for replica, each in enumerate(data["engines"]):
        engine = RecordedEngine(
            EngineConfig(**each["config"]),
            [_sample(row) for row in each["samples"]],
            [
                Process(
                    stopped_s,
                    math.inf if up_s is None else up_s,
                    None if base is None else _sample(base),
                )
                for stopped_s, up_s, base in each["processes"]
            ],
        )
        engine.requests = sorted(
            (r for r in requests if r.replica == replica and r.index >= 0), key=lambda r: r.index
        )
        engines.append(engine)
    cluster: Any = RecordedCluster(
        engines[0].config,
        requests,
        engines,
        digest_of(raw),
        float(data["ends_s"]),
        front=_front(data),
    )
    for replica, each in data.get("starts", {}).items():
        cluster.memory[int(replica)] = starts.of_record(each)
    world = World(hypothesis, seed, fleet, cluster, fleet.full_pool_step_s, 1.0, 0.0)
    return Incident(spec, world, fleet, clock_s=int(data["ends_s"]))


def _front(data: Mapping[str, Any]) -> RecordedFront:
    said, turnover = data.get("turnover"), None
    if said is not None:
        turnover = Turnover(**{**said, "start_up": StartUp(**said["start_up"])})
    return RecordedFront(turnover, tuple(Stop(**each) for each in data.get("stops", ())))


def _requested(row: list[Any]) -> Request:
    names = (*_ASKED, *_SEEN, "status", "prefix")
    said = dict(zip(names, row, strict=False))
    request = Request(
        **{name: said[name] for name in _ASKED},
        prefix=tuple((name, tokens) for name, tokens in said["prefix"]),
        status=Status(said["status"]),
    )
    for name in _SEEN:
        setattr(request, name, said[name])
    request.closed_ps = row[len(names)] if len(row) > len(names) else None
    return request


def _sample(row: list[Any]) -> Sample:
    names = [each.name for each in fields(Sample)]
    values = [tuple(value) if isinstance(value, list) else value for value in row]
    said: dict[str, Any] = dict(zip(names, values, strict=True))
    return Sample(**said)
