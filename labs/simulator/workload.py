"""Traffic: when requests come and how long they are."""

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from labs.simulator.request import Request


@dataclass(slots=True, frozen=True)
class LengthDistribution:
    """Lognormal lengths in tokens, given by mean and coefficient of variation, clipped to whole numbers."""

    mean: float
    cv: float
    """Standard deviation over mean; 0 for a constant."""
    minimum: int = 1
    maximum: int = 1_000_000

    def __post_init__(self) -> None:
        """Refuse what is not a distribution of lengths."""
        if self.mean <= 0 or self.cv < 0 or not 1 <= self.minimum <= self.maximum:
            raise ValueError(f"not a distribution of lengths: {self}")

    def at(self, z: float) -> int:
        """Return the length at the standard normal deviate ``z``, tokens."""
        variance = math.log1p(self.cv * self.cv)
        length = math.exp(math.log(self.mean) - variance / 2 + math.sqrt(variance) * z)
        return min(max(round(length), self.minimum), self.maximum)


@dataclass(slots=True, frozen=True)
class RequestClass:
    """One kind of request in the mix."""

    name: str
    share: float
    """Weight in the mix; shares need not sum to 1."""
    prompt: LengthDistribution
    output: LengthDistribution
    priority: int = 0
    prefix_group: str = ""
    """Name of the text that all its prompts begin with, a template; empty: none."""
    prefix_tokens: int = 0
    """Length of that text; ``prompt`` is what follows it."""
    prefix_groups: int = 1
    """How many such texts there are, each request having one of them at random."""
    prefix_base: tuple[tuple[str, int], ...] = ()
    """What the text itself begins with: (name, tokens), shortest first; see ``Request.prefix``."""
    whole_prefill: bool = False
    """Its prefills are not cut to the step's budget, where the engine allows it."""
    defects: tuple[tuple[str, float], ...] = ()
    """(kind, share of its requests): what is wrong with their bodies, see ``labs.simulator.gateway``."""


@dataclass(slots=True, frozen=True)
class Burst:
    """A time in which the rate is multiplied."""

    factor: float
    from_s: float
    to_s: float


@dataclass(slots=True, frozen=True)
class WorkloadSpec:
    """Poisson arrivals with a piecewise-constant rate, and a mix of classes."""

    rates: tuple[tuple[float, float], ...]
    """(from_s, requests per second), in order of time; the first also holds before its time."""
    classes: tuple[RequestClass, ...]

    def __post_init__(self) -> None:
        """Refuse a mix without weight, and rates out of order or below 0."""
        if not self.rates or not self.classes or sum(c.share for c in self.classes) <= 0:
            raise ValueError("a workload needs a rate and a class with a share")
        times = [from_s for from_s, _ in self.rates]
        if times != sorted(times) or min(rate for _, rate in self.rates) < 0:
            raise ValueError(f"rates must be in order of time and not negative: {self.rates}")


def pick(classes: Sequence[RequestClass], point: float) -> RequestClass:
    """Return the class at ``point``, 0 to 1, of the mix."""
    point *= sum(kind.share for kind in classes)
    for kind in classes:
        point -= kind.share
        if point < 0:
            return kind
    return classes[-1]


def make_request(
    kind: RequestClass,
    request_id: str,
    arrival_s: float,
    *,
    prompt_z: float,
    output_z: float,
    prefix_point: float,
    defect_point: float,
) -> Request:
    """Return a request of ``kind``: lengths at two standard normal deviates, the rest at points from 0 to 1."""
    prefix: tuple[tuple[str, int], ...] = ()
    if kind.prefix_tokens:
        which = int(prefix_point * kind.prefix_groups)
        name = f"{kind.prefix_group}/{which}" if kind.prefix_groups > 1 else kind.prefix_group
        prefix = (*kind.prefix_base, (name, kind.prefix_tokens))
    defect = ""
    for name, share in kind.defects:
        defect_point -= share
        if defect_point < 0:
            defect = name
            break
    return Request(
        request_id=request_id,
        arrival_s=arrival_s,
        prompt_tokens=kind.prefix_tokens + kind.prompt.at(prompt_z),
        max_tokens=kind.output.at(output_z),
        priority=kind.priority,
        request_class=kind.name,
        prefix=prefix,
        whole_prefill=kind.whole_prefill,
        defect=defect,
    )


@dataclass(slots=True)
class Workload:
    """The stream of requests of one seed. Picklable at any point.

    Each request takes one number from each of six streams (gap, class, prompt, output, prefix, defect), so a
    knob changes only what it governs: the k-th request has the same deviates at any rate and in
    any mix, and a rate that changes at t leaves all that came before t as it was.
    """

    spec: WorkloadSpec
    seed: int | str
    start_s: float = 0.0
    bursts: tuple[Burst, ...] = ()
    count: int = 0
    """Requests made so far."""
    _last_s: float = field(init=False)
    _gap: float = field(init=False)
    _gaps: random.Random = field(init=False)
    _mix: random.Random = field(init=False)
    _prompts: random.Random = field(init=False)
    _outputs: random.Random = field(init=False)
    _prefixes: random.Random = field(init=False)
    _defects: random.Random = field(init=False)

    def __post_init__(self) -> None:
        """Open the six streams."""
        self._gaps = random.Random(f"gaps:{self.seed}")
        self._mix = random.Random(f"mix:{self.seed}")
        self._prompts = random.Random(f"prompts:{self.seed}")
        self._outputs = random.Random(f"outputs:{self.seed}")
        self._prefixes = random.Random(f"prefixes:{self.seed}")
        self._defects = random.Random(f"defects:{self.seed}")
        self._last_s = self.start_s
        self._gap = self._gaps.expovariate(1.0)

    def state(self) -> tuple[object, ...]:
        """Return where the stream is, in plain values."""
        states = tuple(
            stream.getstate()
            for stream in (
                self._gaps,
                self._mix,
                self._prompts,
                self._outputs,
                self._prefixes,
                self._defects,
            )
        )
        return (
            self.spec,
            self.seed,
            self.start_s,
            self.bursts,
            self.count,
            self._last_s,
            self._gap,
            states,
        )

    def rate_at(self, t_s: float) -> float:
        """Return the rate at ``t_s``, bursts included, requests per second."""
        rate = self.spec.rates[0][1]
        for from_s, value in self.spec.rates:
            if from_s <= t_s:
                rate = value
        for burst in self.bursts:
            if burst.from_s <= t_s < burst.to_s:
                rate *= burst.factor
        return rate

    def add_burst(self, burst: Burst) -> None:
        """Multiply the rate from ``from_s`` to ``to_s``. Raises ValueError for a time already generated."""
        if burst.from_s < self._last_s or burst.to_s < burst.from_s or burst.factor < 0:
            raise ValueError(f"a burst must lie ahead of {self._last_s} s: {burst}")
        self.bursts = (*self.bursts, burst)

    def set_rate(self, rate: float, from_s: float) -> None:
        """Set the rate from ``from_s`` on; later changes of the spec are dropped."""
        kept = tuple(pair for pair in self.spec.rates if pair[0] < from_s)
        first = kept or ((self.start_s, self.spec.rates[0][1]),)
        self.spec = replace(self.spec, rates=(*first, (from_s, rate)))

    def set_classes(self, classes: Sequence[RequestClass]) -> None:
        """Change the mix for requests not yet made."""
        self.spec = replace(self.spec, classes=tuple(classes))

    def until(self, end_s: float) -> Iterator[Request]:
        """Make the requests that arrive before ``end_s``, in order of arrival."""
        while (arrival_s := self._next_arrival_s(end_s)) < end_s:
            yield self._make(arrival_s)

    def _next_arrival_s(self, end_s: float) -> float:
        """Return when the next request arrives, or some time past ``end_s``.

        Counted from the last arrival with the whole gap each time, never from where the last
        call stopped: pieces then give the same floats as the whole.
        """
        t_s, gap = self._last_s, self._gap
        for edge_s in self._edges():
            if edge_s <= t_s:
                continue
            rate = self.rate_at(t_s)
            if rate * (edge_s - t_s) >= gap:
                return t_s + gap / rate
            if edge_s >= end_s:
                return edge_s
            gap -= rate * (edge_s - t_s)
            t_s = edge_s
        rate = self.rate_at(t_s)
        return t_s + gap / rate if rate > 0 else math.inf

    def _edges(self) -> list[float]:
        edges = {from_s for from_s, _ in self.spec.rates}
        for burst in self.bursts:
            edges.update((burst.from_s, burst.to_s))
        return sorted(edges)

    def _make(self, arrival_s: float) -> Request:
        request = make_request(
            pick(self.spec.classes, self._mix.random()),
            f"r{self.count:06d}",
            arrival_s,
            prompt_z=self._prompts.gauss(0.0, 1.0),
            output_z=self._outputs.gauss(0.0, 1.0),
            prefix_point=self._prefixes.random(),
            defect_point=self._defects.random(),
        )
        self.count += 1
        self._last_s = arrival_s
        self._gap = self._gaps.expovariate(1.0)
        return request


def offered_tokens(requests: Iterable[Request], *, step_s: float, window_s: float) -> float:
    """Return the KV tokens that the arrivals of a window want at once, on average.

    Little's law: arrivals x lifetime x mean KV per request. A request that is never delayed lives
    ``max_tokens x step_s`` and holds, on average over its life, its prompt and half its outputs.

    ``requests`` are those that arrived within the window of ``window_s`` seconds, ``step_s`` the
    time of a step with the batch that would be running. Raises ValueError for an empty window.
    """
    if window_s <= 0:
        raise ValueError(f"{window_s=}: a window has a length")
    wanted = sum(r.max_tokens * step_s * (r.prompt_tokens + r.max_tokens / 2) for r in requests)
    return wanted / window_s
