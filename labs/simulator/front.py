"""What stands between people and engines: the router's rotation, clients who wait, and the events among them.

While nobody's doing depends on what an engine did before (requests come by themselves, the router takes turns),
arrivals are known ahead and every engine runs on its own. As soon as somebody reacts (a router that looks at
load, a client that gives up or asks again), the world goes from event to event: no engine runs past a time at
which another's request might end, so nothing is ever told late.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import astuple, dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from labs.simulator import clients as people
from labs.simulator.request import Request, Status, to_ps, to_s
from labs.simulator.router import Policy, RoundRobin, Router

if TYPE_CHECKING:
    from labs.simulator.cluster import Cluster
    from labs.simulator.gateway import Gateway
    from labs.simulator.rolling import Rollout
    from labs.simulator.turnover import Stop, Turnover

EXIT_LINGER_S = 5.0
"""From the last answer to the end of a process told to stop: vLLM 0.32.0, one observation (3 s to 8 s after SIGTERM)."""


class Kind(IntEnum):
    """What happens; at one time, in this order."""

    END = 0
    DELIVER = 1
    UNSTARTED = 2
    """A client gives up if it has no first token yet."""
    LEAVE = 3
    """A client gives up if its answer is not whole."""
    EXIT = 4
    """A process that was told to stop is gone."""
    SEND = 5


class Front:
    """The front of one cluster. Picklable with it; deterministic."""

    def __init__(
        self,
        cluster: Cluster,
        *,
        seed: int | str,
        policy: Policy,
        clients: people.Clients | None,
        closed_loop: people.ClosedLoopSpec | None,
        gateway: Gateway,
    ) -> None:
        self.cluster = cluster
        self.seed = seed
        self.router = Router(policy, len(cluster.engines))
        self.clients = clients
        self.gateway = gateway
        self.drained: set[int] = set()
        """Replicas that somebody took out of rotation."""
        self.unready: set[int] = set()
        """Replicas whose readiness probe fails."""
        self.stopping: set[int] = set()
        """Replicas whose server was told to stop and ends what it has."""
        self.rollout: Rollout | None = None
        """How replicas are replaced, where they are."""
        self.turnover: Turnover | None = None
        """The same, where they are stopped with streams in flight."""
        self.stops: list[Stop] = []
        """Every SIGTERM of the turnover so far, in order."""
        self.reacts = False
        self._now_ps = to_ps(cluster.now_s)
        self._delays = random.Random(f"router-delay:{seed}")
        self._sheds = random.Random(f"shed:{seed}")
        self._events: list[tuple[int, int, str, Request | None]] = []
        """Heap of (time, kind, id, request); END and DELIVER times are those at the engine."""
        self.closed_loop: people.ClosedLoop | None = None
        if closed_loop is not None:
            self.closed_loop = people.ClosedLoop(closed_loop, seed)
            for request in self.closed_loop.first(cluster.now_s):
                self._push(request.arrival_ps, Kind.SEND, request)
        self._look()

    def _push(self, at_ps: int, kind: Kind, request: Request) -> None:
        heapq.heappush(self._events, (at_ps, kind, request.request_id, request))

    def _look(self) -> None:
        """Begin to react if anybody does now; from then on for good."""
        turns = isinstance(self.router.policy, RoundRobin)
        limited = any(e.config.max_num_queued_reqs is not None for e in self.cluster.engines)
        acts = self.clients or self.closed_loop or self.stopping or limited
        if self.reacts or (turns and not acts):
            return
        self.reacts = True
        for engine in self.cluster.engines:
            engine.watch_ends()
        for request in self.cluster.requests:
            if request.client_arrival_s is None or request.refusal:
                continue
            if request.finish_ps is None or request.finish_ps > self._now_ps:
                self.router.count(request.replica, 1, self._now_ps)
                if request.finish_ps is not None:
                    self._push(request.finish_ps, Kind.END, request)

    def run(self, until_s: float) -> None:
        """Bring the engines to ``until_s``, and let all happen that happens until then."""
        until_ps = to_ps(until_s)
        self._look()
        for request in self.cluster.workload.until(until_s):
            if self.reacts:
                self._push(request.arrival_ps, Kind.SEND, request)
            else:
                self._send(request)
        if self.reacts:
            self._go(until_ps)
        else:
            self._happen(until_ps)
            for engine in self.cluster.engines:
                engine.advance_ps(until_ps)
        for engine in self.cluster.engines:
            engine.sync()
        self._now_ps = until_ps

    def _go(self, until_ps: int) -> None:
        """Go from event to event."""
        engines = self.cluster.engines
        while True:
            target_ps = until_ps
            if self.closed_loop is not None:
                # What ends makes something begin: nobody may be past it.
                target_ps = min(until_ps, *(engine.earliest_end_ps() for engine in engines))
            for replica in self.stopping:
                # Its last end makes the process go, a while later.
                end_ps = engines[replica].earliest_end_ps()
                target_ps = min(target_ps, end_ps + to_ps(EXIT_LINGER_S))
            if self._events:
                target_ps = min(target_ps, self._events[0][0])
            target_ps = max(target_ps, self._now_ps)
            for engine in engines:
                engine.advance_ps(target_ps)
                for request in engine.take_ended():
                    self._push(request.finish_ps or 0, Kind.END, request)
            self._now_ps = target_ps
            self._happen(target_ps)
            if target_ps >= until_ps:
                return

    def _happen(self, until_ps: int) -> None:
        events = self._events
        while events and events[0][0] <= until_ps:
            at_ps, kind, name, request = heapq.heappop(events)
            if request is None:
                self._exit(int(name))
            elif kind == Kind.DELIVER:
                self._deliver(request, at_ps)
            elif kind == Kind.END:
                self._end(request, at_ps)
            elif kind == Kind.SEND:
                self._send(request)
            else:
                self._leave(request, at_ps, unstarted=kind == Kind.UNSTARTED)

    def _send(self, request: Request) -> None:
        """Let the router take a request that its client sends now."""
        cluster = self.cluster
        if request.attempt or request.user >= 0:
            stream = random.Random(f"send:{self.seed}:{request.request_id}")
            z, point = stream.gauss(0.0, 1.0), stream.random()
        else:
            z, point = self._delays.gauss(0.0, 1.0), self._sheds.random()
        sent_ps = request.arrival_ps
        cluster.requests.append(request)
        if self.clients is not None:
            self._wait(request, self.clients)
        if point < cluster.shed_share:
            self._refuse(request, sent_ps, 429, "shed")
            return
        refused = cluster.refusal_of(request)
        if refused is not None:
            self._refuse(request, sent_ps, *refused)
            return
        limit = cluster.max_tokens_limit
        if limit is not None and request.max_tokens > limit:
            request.max_tokens = limit
            request.cut = True
        choices = self._choices(request.arrival_s)
        if not choices:
            self._refuse(request, sent_ps, 503, "no_replica")
            return
        replica = self.router.pick(request, choices, sent_ps)
        if self.reacts:
            self.router.count(replica, 1, sent_ps)
        request.route(replica, cluster.router_delay.at(z))
        self._push(request.arrival_ps, Kind.DELIVER, request)

    def _wait(self, request: Request, clients: people.Clients) -> None:
        request.cancel_tokens = people.draw_cancel(request, clients, self.seed)
        if clients.first_token_timeout_s is not None:
            at_ps = request.arrival_ps + to_ps(clients.first_token_timeout_s)
            self._push(at_ps, Kind.UNSTARTED, request)
        if clients.timeout_s is not None:
            self._push(request.arrival_ps + to_ps(clients.timeout_s), Kind.LEAVE, request)

    def _choices(self, at_s: float) -> list[int]:
        """Return the replicas among which the router picks: those in rotation that are up, or any to come up."""
        out = self.drained | self.unready
        engines = self.cluster.engines
        rotation = [i for i, each in enumerate(engines) if i not in out and not each.is_dead]
        return [i for i in rotation if engines[i].ready_s <= at_s] or rotation

    def _refuse(self, request: Request, at_ps: int, http_status: int, refusal: str) -> None:
        """End a request that no engine gets to see."""
        if request.client_arrival_s is None:
            request.client_arrival_s = request.arrival_s
        elif self.reacts:
            self.router.count(request.replica, -1, at_ps)
        request.status = Status.SHED if refusal == "shed" else Status.ABORTED
        request.finish_reason = "error"
        request.finish_ps = at_ps
        request.http_status = http_status
        request.refusal = refusal
        if self.reacts:
            self._push(at_ps, Kind.END, request)

    def _deliver(self, request: Request, at_ps: int) -> None:
        """Hand a request to the server of its replica."""
        engine = self.cluster.engines[request.replica]
        if request.client_left_ps is not None:
            return
        if engine.is_dead:
            self._refuse(request, at_ps, 503, "connection_refused")
        elif request.replica in self.stopping:
            self._refuse(request, at_ps, 500, "shutting_down")
        elif self.reacts and request.prompt_tokens >= engine.config.max_model_len:
            self._refuse(request, at_ps, 400, "prompt_too_long")
        elif self.reacts and engine.is_full:
            self._refuse(request, at_ps, 503, "queue_full")
        else:
            engine.submit(request)

    def _end(self, request: Request, at_ps: int) -> None:
        """Hear that a request has ended, and tell its client."""
        if request.client_left_ps is not None:
            return
        if not request.refusal:
            self.router.count(request.replica, -1, at_ps)
        failed = request.http_status == 429 or request.http_status >= 500  # noqa: PLR2004
        self._go_on(request, at_ps, failed=failed)
        engine = self.cluster.engines[request.replica]
        if request.replica in self.stopping and not engine.num_unfinished:
            self._exit_at(request.replica, at_ps + to_ps(EXIT_LINGER_S))

    def _leave(self, request: Request, at_ps: int, *, unstarted: bool) -> None:
        """Let a client give up, unless it has what it waits for."""
        if request.client_left_ps is not None:
            return
        if request.finish_ps is not None and request.finish_ps <= at_ps:
            return
        first_ps = request.first_token_ps
        if unstarted and first_ps is not None and first_ps <= at_ps:
            return
        request.client_left_ps = at_ps
        self.router.count(request.replica, -1, at_ps)
        if request.index >= 0:
            self.cluster.engines[request.replica].abort(request)
        else:
            request.status, request.finish_reason = Status.ABORTED, "abort"
            request.finish_ps = at_ps
        self._go_on(request, at_ps, failed=True)

    def _go_on(self, request: Request, at_ps: int, *, failed: bool) -> None:
        """Let the client send again what failed, or the user ask the next thing."""
        following: Request | None = None
        if failed and self.clients is not None and request.attempt < self.clients.retries:
            following = people.again(request, self.clients, self.seed, to_s(at_ps))
        elif request.user >= 0 and self.closed_loop is not None:
            following = self.closed_loop.next(request.user, to_s(at_ps), failed=failed)
        if following is not None:
            self._push(max(at_ps, following.arrival_ps), Kind.SEND, following)

    def _exit_at(self, replica: int, at_ps: int) -> None:
        heapq.heappush(self._events, (at_ps, Kind.EXIT, str(replica), None))

    def _exit(self, replica: int) -> None:
        if replica in self.stopping:
            self.stopping.remove(replica)
            self.cluster.engines[replica].kill()

    def add_replica(self) -> None:
        """Know the replica that the cluster has just got."""
        self.router.add_replica()
        if self.reacts:
            self.cluster.engines[-1].watch_ends()

    def set_policy(self, policy: Policy) -> None:
        """Pick by another policy from now on; what the router remembers stays."""
        self.router.policy = policy
        self._look()

    def set_clients(self, clients: people.Clients | None) -> None:
        """Have clients behave so from now on; those who wait keep their time limits."""
        self.clients = clients
        self._look()

    def set_users(self, users: int, at_s: float) -> None:
        """Have so many users of the closed loop. Raises ValueError if there is no closed loop."""
        if self.closed_loop is None:
            raise ValueError("this world has no closed loop")
        self.closed_loop.set_users(users)
        self._begin(self.closed_loop, at_s)

    def limit_users(self, limit: int | None, at_s: float) -> None:
        """Let at most so many users of the closed loop ask; None lifts it. Raises ValueError if there is no closed loop."""
        if self.closed_loop is None:
            raise ValueError("this world has no closed loop")
        self.closed_loop.limit = limit
        self._begin(self.closed_loop, at_s)

    def _begin(self, loop: people.ClosedLoop, at_s: float) -> None:
        for request in loop.first(at_s):
            self._push(request.arrival_ps, Kind.SEND, request)

    def stop(self, replica: int, shutdown_timeout_s: float) -> None:
        """Tell a server to stop; see ``labs.simulator.lifetime.ShutDown``."""
        if not shutdown_timeout_s:
            self.cluster.engines[replica].kill()
            return
        self.stopping.add(replica)
        self._look()
        idle_ps = self._now_ps + to_ps(EXIT_LINGER_S)
        limit_ps = self._now_ps + to_ps(shutdown_timeout_s)
        is_idle = not self.cluster.engines[replica].num_unfinished
        self._exit_at(replica, min(idle_ps, limit_ps) if is_idle else limit_ps)

    def state(self) -> tuple[object, ...]:
        """Return all that it knows, in plain values."""
        return (
            self.router.state(), self.clients, self.gateway, sorted(self.drained), sorted(self.unready), sorted(self.stopping),
            self.reacts, sorted(event[:3] for event in self._events),
            None if self.closed_loop is None else self.closed_loop.state(),
            self._delays.getstate(), self._sheds.getstate(), astuple(self.cluster.router_delay),
            *(() if self.rollout is None else (self.rollout,)),
            *(() if self.turnover is None else (self.turnover, tuple(self.stops))),
        )  # fmt: skip


@dataclass(slots=True, frozen=True)
class PolicyChange:
    """The router picks by another policy from now on."""

    policy: Policy

    def strike(self, cluster: Cluster, at_s: float) -> None:
        """Set the policy."""
        del at_s
        cluster.front.set_policy(self.policy)
