"""What stands in front of a lab's engines, their lifetime, and what goes wrong there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labs.simulator.clients import (
    Clients,
    ClientsChange,
    ClosedLoopSpec,
    QuestionsChange,
    UsersChange,
)
from labs.simulator.faults import MixChange, RateChange, Shedding, SlowSteps
from labs.simulator.gateway import Gateway, GatewayChange
from labs.simulator.lifetime import AbortsIgnored, AbortsLoseBlocks, StartUp
from labs.simulator.rolling import Rolling, Rollout
from labs.simulator.workload import LengthDistribution, RequestClass
from labs.worlds import turnover
from labs.worlds.traffic import MAX_OUTPUT_TOKENS, chat, longest_prompt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from labs.simulator.cluster import Cluster
    from labs.simulator.faults import Fault
    from labs.specs import LabSpec, Range
    from labs.specs.front import (
        AddedRequests,
        ClientsSpec,
        FrontWorld,
        GatewaySpec,
        RollingSpec,
    )
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
    if said.turnover is not None:
        turnover.begin(spec, cluster, said.turnover, draws)
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
        cancel_by=said.cancel_by,
    )


def gateway_of(spec: LabSpec, said: GatewaySpec) -> Gateway:
    """Return the gateway that a spec says."""
    return Gateway(
        checks=said.checks,
        model=spec.fleet.profile,
        wraps_refusals=said.wraps_refusals,
        tokenizer_crashes=said.tokenizer_crashes,
    )


BATCH = "batch"
"""Class of the requests of the batch job."""
STAGGER_S = 60.0
"""Within this time the workers of a batch job begin. Scenario constant."""


def closed_loop(spec: LabSpec, draws: Draws) -> ClosedLoopSpec | None:
    """Return the batch job of the lab before the fault, None where it has none."""
    said = None if spec.fleet.front is None else spec.fleet.front.batch
    if said is None:
        return None
    longest = longest_prompt(spec)
    kind = RequestClass(
        name=BATCH,
        share=1.0,
        prompt=LengthDistribution(
            draws.uniform("batch_prompt", said.prompt_mean_tokens), said.length_cv, maximum=longest
        ),
        output=LengthDistribution(
            draws.uniform("batch_output", said.output_mean_tokens),
            said.length_cv,
            maximum=MAX_OUTPUT_TOKENS,
        ),
    )
    workers = round(draws.uniform("batch_workers", said.in_flight))
    return ClosedLoopSpec(workers, said.pause_s, (kind,), STAGGER_S, said.back_off_s)


def _batch_faults(spec: LabSpec, ails: FrontWorld, draws: Draws) -> Iterator[Fault]:
    job = closed_loop(spec, draws)
    factors = (ails.batch_workers_factor, ails.batch_prompt_factor, ails.batch_output_factor)
    if job is None:
        if any(factors):
            raise ValueError(f"{spec.slug}: world.front.batch_… needs fleet.front.batch")
        return
    (kind,) = job.classes
    if ails.batch_prompt_factor is not None:
        factor = draws.uniform("batch_prompt_factor", ails.batch_prompt_factor)
        kind = replace(kind, prompt=replace(kind.prompt, mean=kind.prompt.mean * factor))
    if ails.batch_output_factor is not None:
        factor = draws.uniform("batch_output_factor", ails.batch_output_factor)
        kind = replace(kind, output=replace(kind.output, mean=kind.output.mean * factor))
    if (kind,) != job.classes:
        yield QuestionsChange((kind,))
    if ails.batch_workers_factor is not None:
        factor = draws.uniform("batch_workers_factor", ails.batch_workers_factor)
        yield UsersChange(round(job.users * factor))


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
    stops = turnover.worse(spec, ails, draws)
    if stops is not None:
        found.append(stops)
    if ails.client_timeout_s is not None:
        found.append(_impatience(spec, ails.client_timeout_s, draws))
    if ails.shed_share is not None:
        found.append(Shedding(draws.uniform("shed_share", ails.shed_share)))
    return [*found, *_batch_faults(spec, ails, draws)]


def _impatience(spec: LabSpec, wait_s: Range, draws: Draws) -> ClientsChange:
    said = None if spec.fleet.front is None else spec.fleet.front.clients
    if said is None:
        raise ValueError(f"{spec.slug}: client_timeout_s needs fleet.front.clients")
    timeout_s = float(round(draws.uniform("client_timeout", wait_s)))
    return ClientsChange(replace(clients_of(said, draws), timeout_s=timeout_s))


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
    longest = longest_prompt(spec)
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
