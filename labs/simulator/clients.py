"""People at the other end: how long they wait, whether they ask again, and users who ask one thing after another."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from labs.simulator.request import Request
from labs.simulator.workload import RequestClass, make_request, pick

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster


@dataclass(slots=True, frozen=True)
class Clients:
    """What the programs of the users do while they wait. All of it is a scenario's choice, none of it measured."""

    timeout_s: float | None = None
    """The client closes the connection when the answer is not whole by then, counted from its send."""
    first_token_timeout_s: float | None = None
    """The same for the first token."""
    retries: int = 0
    """How often a client that has timed out, or was refused with 429 or 5xx, sends the same again."""
    backoff_s: float = 1.0
    """Wait before the first retry ..."""
    backoff_factor: float = 2.0
    """... and by how much longer before each further one."""
    jitter: float = 0.5
    """Share of the wait, either way, that is drawn."""
    cancel_share: float = 0.0
    """Share of the streams that their user closes midway, after a drawn number of outputs ..."""
    cancel_by: float = 1.0
    """... as likely early as late, at latest after so much of what was asked for."""

    def __post_init__(self) -> None:
        """Refuse what no client does."""
        waits = [each for each in (self.timeout_s, self.first_token_timeout_s) if each is not None]
        if any(wait_s <= 0 for wait_s in waits) or self.retries < 0 or self.backoff_s < 0:
            raise ValueError(f"times must be above 0, retries not below it: {self}")
        if self.backoff_factor < 1 or not 0 <= self.jitter < 1 or not 0 <= self.cancel_share <= 1:
            raise ValueError(f"a factor of at least 1, shares from 0 to 1: {self}")
        if not 0 < self.cancel_by <= 1:
            raise ValueError(f"an answer is closed after some of it, and by its end: {self}")


def stream_of(request: Request, seed: int | str) -> random.Random:
    """Return the stream of randomness of one request's client: the same whatever else happens."""
    return random.Random(f"client:{seed}:{request.request_id}")


def draw_cancel(request: Request, clients: Clients, seed: int | str) -> int | None:
    """Return after how many outputs the user closes the stream; None: never."""
    if not clients.cancel_share or request.max_tokens < 2:  # noqa: PLR2004
        return None
    stream = stream_of(request, seed)
    if stream.random() >= clients.cancel_share:
        return None
    return 1 + int(stream.random() * clients.cancel_by * (request.max_tokens - 1))


def again(request: Request, clients: Clients, seed: int | str, at_s: float) -> Request:
    """Return the retry of a request that its client gave up, or was refused, at ``at_s``."""
    jitter = 1 + clients.jitter * (
        2 * random.Random(f"retry:{seed}:{request.request_id}").random() - 1
    )
    wait_s = clients.backoff_s * clients.backoff_factor**request.attempt * jitter
    attempt = request.attempt + 1
    return Request(
        request_id=f"{request.request_id.split('.')[0]}.{attempt}",
        arrival_s=at_s + wait_s,
        prompt_tokens=request.prompt_tokens,
        max_tokens=request.max_tokens,
        priority=request.priority,
        request_class=request.request_class,
        prefix=request.prefix,
        whole_prefill=request.whole_prefill,
        defect=request.defect,
        user=request.user,
        attempt=attempt,
    )


@dataclass(slots=True, frozen=True)
class ClosedLoopSpec:
    """Users who each wait for an answer, think, and ask again.

    Lengths and thinking are drawn and the starts are spread: users with equal lengths who start together stay
    in step in a simulator, as they do not in life.
    """

    users: int
    think_s: float
    """Mean of the exponential time between the end of an answer and the next question."""
    classes: tuple[RequestClass, ...]
    stagger_s: float
    """The first questions come at even distances, jittered, within so many seconds."""
    back_off_s: float = 0.0
    """How much longer a user whose question failed waits before the next."""

    def __post_init__(self) -> None:
        """Refuse users who never were."""
        times_s = (self.think_s, self.stagger_s, self.back_off_s)
        if self.users < 1 or min(times_s) < 0 or not self.classes:
            raise ValueError(f"not a closed loop: {self}")


class ClosedLoop:
    """The users of one seed. Each has a stream of its own: the k-th question of a user is the same in any run."""

    __slots__ = ("_asked", "_left", "_streams", "limit", "seed", "spec")

    def __init__(self, spec: ClosedLoopSpec, seed: int | str) -> None:
        self.spec = spec
        self.seed = seed
        self._streams: list[random.Random] = []
        self._asked: list[int] = []
        self._left: set[int] = set()
        """Those who have gone after their last answer, and may come again."""
        self.limit: int | None = None
        """What somebody lets ask at once, whoever there is."""

    @property
    def users(self) -> int:
        """How many ask: all there are, or as many as the limit lets."""
        return self.spec.users if self.limit is None else min(self.spec.users, self.limit)

    def first(self, start_s: float) -> list[Request]:
        """Return the first question of each user who is new or comes again, spread over the time after ``start_s``."""
        back = sorted(user for user in self._left if user < self.users)
        self._left.difference_update(back)
        new = [*back, *range(len(self._asked), self.users)]
        requests = []
        for place, user in enumerate(new):
            if user == len(self._asked):
                self._streams.append(random.Random(f"user:{self.seed}:{user}"))
                self._asked.append(0)
            point = (place + self._streams[user].random()) / len(new)
            requests.append(self._ask(user, start_s + point * self.spec.stagger_s))
        return requests

    def next(self, user: int, ended_s: float, *, failed: bool = False) -> Request | None:
        """Return what ``user`` asks after the answer that ended at ``ended_s``; None if that user is no longer there."""
        think_s = self._streams[user].expovariate(1.0) * self.spec.think_s
        if failed:
            think_s += self.spec.back_off_s
        if user >= self.users:
            self._left.add(user)
            return None
        return self._ask(user, ended_s + think_s)

    def _ask(self, user: int, at_s: float) -> Request:
        stream = self._streams[user]
        kind = pick(self.spec.classes, stream.random())
        request = make_request(
            kind,
            f"u{user:04d}-{self._asked[user]:05d}",
            at_s,
            prompt_z=stream.gauss(0.0, 1.0),
            output_z=stream.gauss(0.0, 1.0),
            prefix_point=stream.random(),
            defect_point=stream.random(),
        )
        request.user = user
        self._asked[user] += 1
        return request

    def set_users(self, users: int) -> None:
        """Have so many users from now on; those who leave finish what they asked."""
        self.spec = replace(self.spec, users=users)

    def set_classes(self, classes: tuple[RequestClass, ...]) -> None:
        """Have users ask so from their next question on."""
        self.spec = replace(self.spec, classes=classes)

    def state(self) -> tuple[object, ...]:
        """Return where every user is, in plain values."""
        streams = [each.getstate() for each in self._streams]
        rest = (sorted(self._left), self.limit) if self._left or self.limit is not None else ()
        return (self.spec, self.seed, self._asked, streams, *rest)


@dataclass(slots=True, frozen=True)
class ClientsChange:
    """Clients behave so from now on; those who wait already keep their own ways, but for retries."""

    clients: Clients

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Set what clients do."""
        del at_s
        cluster.front.set_clients(self.clients)


@dataclass(slots=True, frozen=True)
class UsersChange:
    """So many users of the closed loop from now on."""

    users: int

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Set the number of users."""
        cluster.front.set_users(self.users, at_s)


@dataclass(slots=True, frozen=True)
class QuestionsChange:
    """What the users of the closed loop ask from now on; what they have asked goes on as it is."""

    classes: tuple[RequestClass, ...]

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Set the mix of their questions. Raises ValueError if there is no closed loop."""
        del at_s
        if cluster.front.closed_loop is None:
            raise ValueError("this world has no closed loop")
        cluster.front.closed_loop.set_classes(self.classes)
