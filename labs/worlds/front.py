"""What stands in front of a lab's engines, their lifetime, and what goes wrong there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labs.simulator.clients import Clients
from labs.simulator.faults import MixChange, RateChange, Shedding, SlowSteps
from labs.simulator.gateway import Gateway, GatewayChange
from labs.simulator.lifetime import AbortsIgnored, AbortsLoseBlocks, StartUp
from labs.simulator.rolling import Rolling, Rollout
from labs.simulator.workload import LengthDistribution, RequestClass
from labs.worlds.traffic import MAX_OUTPUT_TOKENS, chat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labs.simulator.cluster import Cluster
    from labs.simulator.faults import Fault
    from labs.specs import LabSpec
    from labs.specs.front import AddedRequests, ClientsSpec, FrontWorld, GatewaySpec, RollingSpec
    from labs.worlds.draws import Draws
    from labs.worlds.fleet import Fleet


def classes(spec: LabSpec, draws: Draws) -> tuple[RequestClass, ...]:
    """Return the kinds of requests before the fault; the first is that of ordinary users."""
    said = spec.fleet.front
    users = chat(spec, draws)
    if said is None or not said.defects:
        return (users,)
    wrong = [(name, draws.uniform(f"defect_{name}", share)) for name, share in said.defects.items()]
    return (replace(users, defects=tuple(wrong)),)


def prepare(spec: LabSpec, cluster: Cluster, fleet: Fleet, draws: Draws) -> None:
    """Set up what the lab has of it, before the world begins; in every world of a seed the same."""
    del fleet
    said = spec.fleet.front
    if said is None:
        return
    if said.rolling is not None:
        cluster.front.rollout = rollout_of(said.rolling, draws)
        every_s = float(said.rolling.every_s)
        first_s = spec.timeline.starts_at_s + draws.uniform("rolling_phase", (0.0, every_s))
        cluster.schedule(round(first_s), Rolling(every_s, spec.fleet.replicas))
    if said.gateway is not None:
        cluster.front.gateway = gateway_of(spec, said.gateway)
    if said.clients is not None:
        cluster.front.set_clients(clients_of(said.clients, draws))


def rollout_of(said: RollingSpec, draws: Draws, *, cold: bool = False) -> Rollout:
    """Return how replicas are replaced; ``cold``: they say that they are ready before they have warmed up."""
    each = said.start_up
    start_up = StartUp(
        process_s=each.process_s,
        weights_s=each.weights_s,
        profile_s=each.profile_s,
        warm_up_s=round(draws.uniform("warm_up", each.warm_up_s)),
        readiness="before_warm_up" if cold else "after_warm_up",
        cold_steps=each.cold_steps,
    )
    return Rollout(start_up, float(said.drain_s))


def clients_of(said: ClientsSpec, draws: Draws) -> Clients:
    """Return what the users' programs do."""
    cancels = 0.0 if said.cancel_share is None else draws.uniform("cancel_share", said.cancel_share)
    return Clients(
        timeout_s=said.timeout_s,
        first_token_timeout_s=said.first_token_timeout_s,
        retries=said.retries,
        backoff_s=said.backoff_s,
        cancel_share=cancels,
    )


def gateway_of(spec: LabSpec, said: GatewaySpec) -> Gateway:
    """Return the gateway that a spec says."""
    return Gateway(
        checks=said.checks,
        model=spec.fleet.profile,
        wraps_refusals=said.wraps_refusals,
        tokenizer_crashes=said.tokenizer_crashes,
    )


def faults(spec: LabSpec, ails: FrontWorld, draws: Draws) -> list[Fault]:
    """Return what happens when the fault begins."""
    found = list(_traffic_faults(spec, ails, draws))
    if ails.step_factor is not None:
        found.append(SlowSteps(0, draws.uniform("step_factor", ails.step_factor)))
    if ails.gateway is not None:
        found.append(GatewayChange(gateway_of(spec, ails.gateway)))
    if ails.aborts is not None:
        kind = AbortsIgnored if ails.aborts == "run_on" else AbortsLoseBlocks
        found += [kind(replica) for replica in range(spec.fleet.replicas)]
    if ails.ready_before_warm_up:
        if spec.fleet.front is None or spec.fleet.front.rolling is None:
            raise ValueError(f"{spec.slug}: ready_before_warm_up needs fleet.front.rolling")
        found.append(rollout_of(spec.fleet.front.rolling, draws, cold=True))
    if ails.shed_share is not None:
        found.append(Shedding(draws.uniform("shed_share", ails.shed_share)))
    return found


def _traffic_faults(spec: LabSpec, ails: FrontWorld, draws: Draws) -> Iterator[Fault]:
    users = classes(spec, draws)
    if ails.prompt_factor is not None:
        factor = draws.uniform("prompt_factor", ails.prompt_factor)
        users = tuple(replace(kind, prompt=_longer(kind.prompt, factor)) for kind in users)
    if ails.output_factor is not None:
        factor = draws.uniform("output_factor", ails.output_factor)
        users = tuple(replace(kind, output=_longer(kind.output, factor)) for kind in users)
    if ails.added is not None:
        yield from _added(spec, users, ails.added, draws)
    elif users != classes(spec, draws):
        yield MixChange(users)


def _longer(lengths: LengthDistribution, factor: float) -> LengthDistribution:
    most = max(lengths.maximum, round(lengths.maximum * factor))
    return replace(lengths, mean=lengths.mean * factor, maximum=most)


def _added(
    spec: LabSpec, users: tuple[RequestClass, ...], said: AddedRequests, draws: Draws
) -> Iterator[Fault]:
    """Yield the mix and the rate with requests of another kind on top."""
    if spec.traffic.rate is None:
        raise ValueError(f"{spec.slug}: requests are added to a traffic.rate")
    rate, more = draws.uniform("rate", spec.traffic.rate), draws.uniform("added_rate", said.rate)
    longest = spec.fleet.max_model_len - MAX_OUTPUT_TOKENS
    kind = RequestClass(
        name=said.name,
        share=more,
        prompt=LengthDistribution(
            draws.uniform("added_prompt", said.prompt_mean_tokens), 0.3, maximum=longest
        ),
        output=LengthDistribution(
            draws.uniform("added_output", said.output_mean_tokens), 0.3, maximum=MAX_OUTPUT_TOKENS
        ),
    )
    total = sum(each.share for each in users)
    yield MixChange((*(replace(each, share=rate * each.share / total) for each in users), kind))
    yield RateChange(rate + more)
