"""The load that a world sends, in words: what the load client would drive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.live.faults.of_worlds import BY_LOAD
from labs.simulator.callers import NewCaller
from labs.simulator.clients import ClientsChange, QuestionsChange, UsersChange
from labs.simulator.faults import MixChange, RateChange, Shedding
from labs.simulator.lifetime import AbortsIgnored
from labs.simulator.templates import LongerPrompts, MoreTexts, VolatileTemplate
from labs.worlds.draws import Draws
from labs.worlds.front import closed_loop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from labs.live.offering import Played
    from labs.simulator.workload import LengthDistribution, RequestClass


def load_of(played: Played, faults: Sequence[object]) -> Iterator[str]:
    """Yield a line for each part of the load. ``faults`` are what the simulator would do at the world's fault."""
    yield from _before(played)
    at = f"from {played.offer.spec.timeline.fault_at_s} s"
    for line in _at_the_fault(played):
        yield f"{at}: {line}"
    for each in faults:
        if type(each).__name__ in BY_LOAD:
            yield f"{at}: {_said(each)}"


def _before(played: Played) -> Iterator[str]:
    spec = played.offer.spec
    workload = played.world.cluster.workload
    for from_s, rate in workload.spec.rates:
        yield f"from {from_s:g} s: {rate:.3f} requests/s over the whole fleet, Poisson arrivals"
    for burst in workload.bursts:
        yield f"from {burst.from_s:g} s to {burst.to_s:.0f} s: {burst.factor:.2f} times as many"
    for kind in workload.spec.classes:
        yield f"{kind.name}: {_class(kind)}"
    job = closed_loop(spec, Draws(spec.slug, played.seed))
    if job is not None:
        yield f"{job.users} callers that ask again when they are answered, {job.think_s:g} s later on average: {_class(job.classes[0])}"
    clients = played.world.cluster.front.clients
    if clients is not None and clients.cancel_share:
        by = "" if clients.cancel_by == 1 else f", at latest after {clients.cancel_by:.0%} of them"
        yield f"{clients.cancel_share:.1%} of the answers are stopped by their user, as likely early as late{by}"
    median_s, p95_s = spec.fleet.router_median_s, spec.fleet.router_p95_s
    yield f"the load client's router: a delay of {median_s:g} s (median), {p95_s:g} s (p95)"


def _at_the_fault(played: Played) -> Iterator[str]:
    spec = played.offer.spec
    if played.hypothesis not in spec.hypotheses:
        return
    fault = spec.hypotheses[played.hypothesis].world
    if fault.router_median_s is not None:
        delay_s = Draws(spec.slug, played.seed).uniform("router", fault.router_median_s)
        yield f"a delay of {delay_s:.2f} s (median), {2.5 * delay_s:.2f} s (p95)"
    if fault.long_prompts is not None:
        long = fault.long_prompts
        yield f"a share of {long.share[0]:g} to {long.share[1]:g} has prompts of {long.prompt_tokens[0]:,.0f} to {long.prompt_tokens[1]:,.0f} tokens"
    for name, priority in played.priorities.items():
        yield f"requests of {name} carry priority {priority}"


def _class(kind: RequestClass) -> str:
    before = ""
    if kind.prefix_tokens:
        texts = "one text" if kind.prefix_groups == 1 else f"one of {kind.prefix_groups} texts"
        before = f"{texts} of {kind.prefix_tokens:,} tokens, then "
    return f"{before}prompts of {_lengths(kind.prompt)}, answers of {_lengths(kind.output)}"


def _lengths(lengths: LengthDistribution) -> str:
    return f"{lengths.mean:,.0f} tokens (cv {lengths.cv:g}, at most {lengths.maximum:,})"


def _said(fault: object) -> str:
    """Return a fault of the load in words, with all that it draws."""
    match fault:
        case NewCaller(kind=kind, rate=rate):
            return f"{kind.name} comes as well, {rate:.3f} requests/s: {_class(kind)}"
        case MixChange(classes=classes) | QuestionsChange(classes=classes):
            return _mix(classes)
        case RateChange(rate=rate):
            return f"{rate:.3f} requests/s"
        case Shedding(share=share):
            return f"the load client's router answers 429 to {share:.1%}"
        case AbortsIgnored(replica=replica):
            return (
                f"the load client's gateway reads on from replica {replica} when a client has gone"
            )
        case UsersChange(users=users):
            return f"{users} callers that ask again when they are answered"
        case ClientsChange(clients=clients):
            return f"clients wait {clients.timeout_s or 0:g} s for a whole answer"
    return _texts(fault)


def _texts(fault: object) -> str:
    match fault:
        case VolatileTemplate(request_class=name, position=position):
            return f"the texts of {name} differ from token {position:,} on"
        case MoreTexts(request_class=name, groups=groups):
            return f"{name} begins with one of {groups} texts"
        case LongerPrompts(request_class=name, mean_tokens=mean):
            return f"{name} says {mean:,.0f} tokens behind its text, on average"
    return type(fault).__name__


def _mix(classes: Sequence[RequestClass]) -> str:
    total = sum(each.share for each in classes)
    return "; ".join(
        f"{each.name}, {each.share / total:.0%} of them: {_class(each)}" for each in classes
    )
