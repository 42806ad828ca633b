"""The hardware under a cluster: what is where, what ails it, and since when."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from labs.simulator.hardware.collectives import step_collectives
from labs.simulator.hardware.placement import (
    HEALTHY,
    Environment,
    Place,
    Placement,
    Tenant,
    XidEvent,
    healthy_route,
    route,
)
from labs.simulator.hardware.ranks import GpuState, rank_cost, slowest
from labs.simulator.hardware.topology import other_end

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from labs.simulator.cluster import Cluster
    from labs.simulator.cost_model import CostModel, ModelProfile
    from labs.simulator.hardware.boxes import Box
    from labs.simulator.hardware.collectives import Route
    from labs.simulator.hardware.topology import Link


@dataclass(slots=True, frozen=True)
class Start:
    """One start of a replica: where, and with what environment."""

    at_s: float
    placement: Placement
    environment: Environment
    route: Route


class Hardware:
    """Nodes, the replicas' places on them, and the condition of every GPU with its history. Picklable; deterministic.

    A cluster that has one asks it for the cost of each replica. Costs change at once when a GPU's condition does; a move or
    another environment takes effect when the replica starts again.
    """

    def __init__(
        self,
        profile: ModelProfile,
        nodes: Mapping[str, Box],
        placement: Sequence[Placement],
        *,
        environment: Sequence[Environment] = (),
        start_s: float = 0.0,
    ) -> None:
        """Make healthy nodes at ``start_s`` with replicas of ``profile`` on them.

        ``environment`` is of each replica, healthy where it is short. Raises ValueError for a placement
        that does not fit: a node or GPU that is not there, a GPU twice, not as many as the profile has ranks.
        """
        self.num_hidden_layers = profile.num_hidden_layers
        self.hidden_size = profile.hidden_size
        self.ranks = profile.tensor_parallel_size
        self.weights_bytes = profile.weights_bytes
        self.kv_bytes_per_token = profile.kv_bytes_per_token
        self.nodes = dict(nodes)
        self.tenants: list[Tenant] = []
        self._busy: set[int] = set()
        """Process ids of the tenants that run kernels now."""
        self.events: list[XidEvent] = []
        """Xids, oldest first."""
        self.links_down: dict[str, set[Link]] = {node: set() for node in self.nodes}
        self.placement: list[Placement | None] = []
        """Of each replica, as it runs now; None: on hardware that nobody looks at."""
        self.environment: list[Environment] = []
        self.starts: list[list[Start]] = []
        """Of each replica, oldest first."""
        self._base: list[CostModel | None] = []
        self._history: dict[Place, list[tuple[float, GpuState]]] = {
            (name, gpu): [(start_s, GpuState(box.max_sm_clock_mhz))]
            for name, box in self.nodes.items()
            for gpu in range(len(box.gpus))
        }
        self._next: dict[int, tuple[Placement, Environment]] = {}
        for replica, place in enumerate(placement):
            self.check(place)
            its = environment[replica] if replica < len(environment) else HEALTHY
            self._add(place, its, start_s)

    def _add(self, place: Placement | None, environment: Environment, at_s: float) -> None:
        self.placement.append(place)
        self.environment.append(environment)
        self.starts.append([])
        self._base.append(None)
        if place is not None:
            self._began(len(self.placement) - 1, at_s)

    def _began(self, replica: int, at_s: float) -> None:
        placement = self.placement[replica]
        if placement is None:
            return
        environment = self.environment[replica]
        self.starts[replica].append(
            Start(at_s, placement, environment, self.route_of(placement, environment))
        )
        for rank, place in enumerate(placement.places):
            self.change(place, at_s, far_cpu=rank in environment.far_ranks)

    def check(self, place: Placement, *, leaving: Sequence[int] = ()) -> None:
        """Raise ValueError if a replica cannot run at ``place``; replicas in ``leaving`` make room."""
        box = self.nodes.get(place.node)
        if box is None:
            raise ValueError(f"{place.node}: no such node; there are {', '.join(self.nodes)}")
        if len(set(place.gpus)) != len(place.gpus) or len(place.gpus) != self.ranks:
            raise ValueError(f"{place.gpus}: must be {self.ranks} different GPUs")
        if not all(0 <= gpu < len(box.gpus) for gpu in place.gpus):
            raise ValueError(f"{place.gpus}: {place.node} has GPUs 0 to {len(box.gpus) - 1}")
        for replica in range(len(self.placement)):
            planned = self._next.get(replica, (self.placement[replica], HEALTHY))[0]
            if planned is None or replica in leaving:
                continue
            taken = sorted(set(planned.places) & set(place.places))
            if taken:
                raise ValueError(f"GPU {taken[0][1]} of {taken[0][0]} belongs to replica {replica}")

    # -- what the cluster asks ---------------------------------------------------------------------

    def cost(self, replica: int, base: CostModel | None = None) -> CostModel:
        """Return what a step of ``replica`` costs now.

        ``base`` is the cost on healthy hardware, remembered; without it the one remembered last is taken. Raises
        ValueError if there is none, or no such replica.
        """
        if replica >= len(self.placement):
            raise ValueError(f"{replica=} has no place; there are {len(self.placement)}")
        if base is not None:
            self._base[replica] = base
        base = self._base[replica]
        if base is None:
            raise ValueError(f"{replica=} has no cost yet")
        placement = self.placement[replica]
        if placement is None:
            return base
        box = self.nodes[placement.node]
        healthy = self._with_collectives(base, replica)
        ranks = [
            rank_cost(healthy, self.state_of(place), max_sm_clock_mhz=box.max_sm_clock_mhz)
            for place in placement.places
        ]
        return slowest(ranks)

    def rank_base(self, replica: int) -> CostModel | None:
        """Return what a step would cost on a rank that nothing ails, with the group's collectives as they are."""
        base = self._base[replica]
        return None if base is None else self._with_collectives(base, replica)

    def base_cost(self, replica: int) -> CostModel | None:
        """Return the cost on healthy hardware that was remembered last."""
        return self._base[replica]

    def _with_collectives(self, base: CostModel, replica: int) -> CostModel:
        placement = self.placement[replica]
        if placement is None or self.ranks == 1:
            return base
        now = self.route_of(placement, self.environment[replica])
        best = healthy_route(self.nodes[placement.node], self.ranks)
        return replace(base, collectives=self._knots(now), collectives_included=self._knots(best))

    def _knots(self, way: Route) -> tuple[tuple[int, int], ...]:
        return step_collectives(
            num_hidden_layers=self.num_hidden_layers, hidden_size=self.hidden_size, route=way
        )

    def route_of(self, placement: Placement, environment: Environment) -> Route:
        """Return the way that collectives would go there, with the links as they are now."""
        return route(
            self.nodes[placement.node],
            placement.gpus,
            environment,
            self.links_down[placement.node],
        )

    def current_route(self, replica: int) -> Route | None:
        """Return the way that a replica's collectives go now; None where nobody looks."""
        placement = self.placement[replica]
        return None if placement is None else self.route_of(placement, self.environment[replica])

    def restarted(
        self, replica: int, base: CostModel, effective: CostModel, at_s: float
    ) -> CostModel:
        """Note that a replica starts anew at ``at_s``: what was planned for it holds now. Return its cost.

        ``effective`` is the cost that its engine had; a ``base`` equal to it is not taken for a healthy cost.
        """
        if replica in self._next:
            self.placement[replica], self.environment[replica] = self._next.pop(replica)
        self._began(replica, at_s)
        return self.cost(replica, None if base == effective else base)

    def added(self, base: CostModel, at_s: float) -> CostModel:
        """Note one more replica, on hardware that nobody looks at until it is moved. Return its cost."""
        self._add(None, HEALTHY, at_s)
        return self.cost(len(self.placement) - 1, base)

    # -- what happens to it ------------------------------------------------------------------------

    def plan(
        self,
        replica: int,
        placement: Placement | None = None,
        environment: Environment | None = None,
        *,
        leaving: Sequence[int] = (),
    ) -> None:
        """Plan where and how a replica starts next; what is not given stays. Raises ValueError, see ``check``."""
        where, how = self._next.get(replica, (self.placement[replica], self.environment[replica]))
        where, how = placement or where, environment or how
        if where is None:
            raise ValueError(f"{replica=} has no place that it could keep")
        if placement is not None:
            self.check(placement, leaving=(replica, *leaving))
        self._next[replica] = (where, how)

    def change(self, place: Place, at_s: float, **fields: Any) -> None:
        """Change fields of a GPU's state from ``at_s`` on. Raises KeyError for a place that is not there."""
        history = self._history[place]
        state = replace(history[-1][1], **fields)
        if state == history[-1][1]:
            return
        if history[-1][0] == at_s:
            history[-1] = (at_s, state)
        else:
            history.append((at_s, state))

    def take_link_down(self, node: str, link: Link) -> tuple[Link, Link]:
        """Let an NVLink be inactive; return both its ends. Raises IndexError for a link that is not there."""
        end = other_end(self.nodes[node], link)
        self.links_down[node] |= {link, end}
        return link, end

    def set_busy(self, tenant: Tenant, at_s: float, *, busy: bool) -> None:
        """Let a tenant's process run kernels from ``at_s`` on, or none."""
        self._busy.discard(tenant.pid)
        if busy and tenant in self.tenants:
            self._busy.add(tenant.pid)
        here = self.tenants_of((tenant.node, tenant.gpu))
        count = sum(each.pid in self._busy for each in here)
        self.change((tenant.node, tenant.gpu), at_s, busy_tenants=count)

    def refresh(self, cluster: Cluster, place: Place | None = None) -> None:
        """Set the engines' costs anew: of the replicas on ``place``, or of all."""
        for replica, placement in enumerate(self.placement):
            if placement is None or (place is not None and place not in placement.places):
                continue
            cluster.engines[replica].set_cost(self.cost(replica))

    # -- what instruments ask ----------------------------------------------------------------------

    def state_of(self, place: Place) -> GpuState:
        """Return what a GPU is like now."""
        return self._history[place][-1][1]

    def state_at(self, place: Place, t_s: float) -> GpuState:
        """Return what a GPU was like at ``t_s``, seconds."""
        history = self._history[place]
        return history[max(0, bisect_right(history, t_s, key=lambda entry: entry[0]) - 1)][1]

    def spans(self, place: Place, from_s: float, to_s: float) -> list[tuple[float, GpuState]]:
        """Return how long, seconds, a GPU was in which state between two times, in order."""
        history = self._history[place]
        first = max(0, bisect_right(history, from_s, key=lambda entry: entry[0]) - 1)
        spans: list[tuple[float, GpuState]] = []
        for index in range(first, len(history)):
            begins, state = history[index]
            if begins >= to_s:
                break
            ends = history[index + 1][0] if index + 1 < len(history) else to_s
            lasts = min(ends, to_s) - max(begins, from_s)
            if lasts > 0:
                spans.append((lasts, state))
        return spans

    def replica_at(self, place: Place) -> int | None:
        """Return which replica has a rank on a GPU, or None."""
        for replica, placement in enumerate(self.placement):
            if placement is not None and place in placement.places:
                return replica
        return None

    def tenants_of(self, place: Place) -> tuple[Tenant, ...]:
        """Return the processes of others on a GPU."""
        return tuple(tenant for tenant in self.tenants if (tenant.node, tenant.gpu) == place)

    @property
    def places(self) -> tuple[Place, ...]:
        """Every GPU, node by node."""
        return tuple(self._history)

    def state(self) -> tuple[object, ...]:
        """Return all of it in plain values: equal states have the same past and the same future."""
        return (
            sorted(self.nodes.items()), self.placement, self.environment, self.starts, self._base,
            self.tenants, sorted(self._busy), self.events, sorted((node, sorted(down)) for node, down in self.links_down.items()),
            sorted(self._history.items()), sorted(self._next.items()),
        )  # fmt: skip
