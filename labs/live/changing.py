"""What each verb of change does to a world of real engines: by the load client, by real means, or not at all.

Every verb is here, and one that nothing does is refused with a sentence, uncharged. docs/gpu-boxes.md has the table. What
is done to GPUs was never run on any.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from labs.console.memory import FLAGS
from labs.incident.changes import KINDS
from labs.live import gpu_changing
from labs.live.gpu_changing import all_of, starting, undone

if TYPE_CHECKING:
    from collections.abc import Callable

    from labs.incident import Incident, Operation
    from labs.incident.changes.kinds import Kind
    from labs.live.machines import Machine
    from labs.specs import LabSpec

BY_LOAD = {
    "batch-workers", "client-retries", "client-timeout", "drain", "limit-max-tokens", "restart-router", "rollback-template",
    "route", "shed",
}  # fmt: skip
"""Done by whoever sends: the router, the gateway's caps, the clients and their templates are the load client's."""
OF_THE_TURNOVER = {"hold-replicas", "pre-stop", "router-refresh", "shutdown-timeout"}
"""Of the load client too; they refuse by themselves where nobody replaces replicas."""
OF_A_ROLLOUT = {"ready-after-warm-up"}
"""What the router believes of a start: the load client's too, where replicas are replaced in turn."""
OF_A_GATEWAY = {"gateway-check", "pass-refusals"}
"""Of the load client, where the lab says that a gateway stands before its engines."""
OF_ITS_STREAMS = "close-upstream"
"""Of the load client, where a world of the lab is about a gateway that reads on when its client has gone."""
ROLLING = {"bind-numa", "evict", "place", "restart", "rollback-image", "unset-env"}
"""They start replicas anew."""

NOT_HERE = {
    "add-replica": "this box starts the engines of the lab and has no place for one more",
    "bind-numa": "this box has no GPUs that its processors could be near to or far from",
    "close-upstream": "the gateway closes an engine's connection whenever its client goes",
    "cool": "no command of this box turns its fans",
    "evict": "this box has no GPUs, and so nobody else's process on one",
    "freeze-gc": "nothing freezes the heap of a vLLM that runs",
    "gateway-check": "no gateway stands before the engines of this lab",
    "pass-refusals": "no gateway stands before the engines of this lab",
    "place": "this box has no GPUs to choose among",
    "power-limit": "this box has no GPU whose power could be limited",
    "ready-after-warm-up": "vLLM answers /health once it has warmed up, and nobody replaces replicas here",
    "redeploy": "the memory of a real engine's ranks is not followed; `restart` takes the flags that this engine can change",
    "refuse-prompt-logprobs": "no request here asks for prompt_logprobs",
    "rollback-image": "this box has one image of the engine and none before it",
    "scrape-every": "who scrapes here is the course itself, and it holds nothing up",
    "unset-env": "no variable of this engine's environment was set by anybody but the course",
}
"""What no box does, or none without GPUs."""
OTHERS = "this engine is run by somebody else: the course sends it requests, and neither starts, stops nor sets anything"


def kinds_of(machine: Machine | None, *, is_ours: bool = True) -> dict[str, Kind]:
    """Return what every verb does to a live world.

    ``machine`` is a box with GPUs, None for one without; an engine that is not ours is only ever sent requests.
    """
    kinds = {verb: _refused(kind, verb) for verb, kind in KINDS.items()}
    kinds |= {verb: KINDS[verb] for verb in BY_LOAD | OF_THE_TURNOVER}
    of_a_gateway = {*OF_A_GATEWAY, OF_ITS_STREAMS}
    kinds |= {verb: replace(KINDS[verb], why_not=_where_it_is(verb)) for verb in of_a_gateway}
    kinds |= {verb: replace(KINDS[verb], why_not=_without_rollout(verb)) for verb in OF_A_ROLLOUT}
    if not is_ours:
        started = {verb: _refused(KINDS[verb], verb, OTHERS) for verb in ROLLING | {"power-limit", "redeploy"}}  # fmt: skip
        return kinds | started
    if machine is not None:
        return kinds | gpu_changing.KINDS
    restart = replace(
        KINDS["restart"],
        why_not=all_of(starting, gpu_changing.no_such_flag, _no_fp8, KINDS["restart"].why_not),
        why_not_undone=undone(KINDS["restart"]),
    )
    redeploy = replace(
        KINDS["redeploy"],
        why_not=all_of(_not_followed, gpu_changing.starting_one, _no_fp8, _no_flag, KINDS["redeploy"].why_not),
    )  # fmt: skip
    return kinds | {"restart": restart, "redeploy": redeploy}


def _refused(kind: Kind, verb: str, why: str = "") -> Kind:
    said = f"{verb}: {why or NOT_HERE.get(verb, 'nothing on this box does that')}. Nothing was charged."
    return replace(kind, why_not=lambda incident, operation: said)


def not_here(verb: str, spec: LabSpec) -> str:
    """Return why a verb does nothing in any live world of a lab; '' for one that the load client does there.

    It looks at the lab and not at a world: no answer may tell which one is served.
    """
    front = spec.fleet.front
    if verb in OF_A_GATEWAY and front is not None and front.gateway is not None:
        return ""
    fronts = [each.world.front for each in spec.hypotheses.values()]
    if verb == OF_ITS_STREAMS and any(each and each.aborts == "run_on" for each in fronts):
        return ""
    return NOT_HERE.get(verb, "")


def _where_it_is(verb: str) -> Callable[[Incident, Operation], str]:
    """Return the check of a verb of the gateway: refused where the lab has nothing of it."""

    def why_not(incident: Incident, operation: Operation) -> str:
        why = not_here(verb, incident.spec)
        return f"{verb}: {why}. Nothing was charged." if why else KINDS[verb].why_not(incident, operation)  # fmt: skip

    return why_not


OF_A_START = {"--max-model-len", "--max-num-seqs", "--max-num-batched-tokens", "--num-gpu-blocks-override"}  # fmt: skip
"""What one replica alone may be started with on a box without GPUs."""


def _not_followed(incident: Incident, operation: Operation) -> str:
    if incident.world.cluster.memory:
        return ""
    return f"{operation['verb']}: {NOT_HERE['redeploy']}. Nothing was charged."


def _no_flag(incident: Incident, operation: Operation) -> str:
    del incident
    flag = next((each for each in operation if each in FLAGS and each not in OF_A_START), None)
    if flag is None:
        return ""
    return f"vllm: {flag}: this box has no GPU, and no engine of it is started with that. The engine was not stopped."


def _without_rollout(verb: str) -> Callable[[Incident, Operation], str]:
    def why_not(incident: Incident, operation: Operation) -> str:
        if incident.world.cluster.front.rollout is None:
            return f"{verb}: {NOT_HERE[verb]}. Nothing was charged."
        return KINDS[verb].why_not(incident, operation)

    return why_not


def _no_fp8(incident: Incident, operation: Operation) -> str:
    del incident
    if operation.get("--kv-cache-dtype") == "fp8":
        return "vllm: this box has no GPU, and its processor keeps no keys and values in FP8. The engine was not stopped."
    return ""
