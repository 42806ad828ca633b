"""What every verb of change does to worlds of real engines: none is met with an error, and none does nothing in silence."""

import pytest

from labs import console, incident
from labs.catalogue import lab, live_keys
from labs.incident.changes import KINDS
from labs.live import beginning
from labs.live.boxes import Box, box
from labs.live.replicas import Replica

LINES = {
    "add-replica": "add-replica",
    "batch-workers": "batch-workers 4",
    "bind-numa": "bind-numa",
    "client-retries": "client-retries 0",
    "client-timeout": "client-timeout 60",
    "close-upstream": "close-upstream",
    "cool": "cool",
    "drain": "drain 0",
    "evict": "evict",
    "freeze-gc": "freeze-gc",
    "gateway-check": "gateway-check model",
    "hold-replicas": "hold-replicas",
    "limit-max-tokens": "limit-max-tokens 100",
    "pass-refusals": "pass-refusals",
    "place": "place 0 2,3",
    "power-limit": "nvidia-smi -pl 400",
    "pre-stop": "pre-stop 10",
    "ready-after-warm-up": "ready-after-warm-up",
    "redeploy": "redeploy --gpu-memory-utilization 0.85",
    "refuse-prompt-logprobs": "refuse-prompt-logprobs",
    "restart": "restart --max-num-seqs 20",
    "restart-router": "restart-router",
    "rollback-image": "rollback-image",
    "rollback-template": "rollback-template",
    "route": "route least-loaded",
    "router-refresh": "router-refresh 5",
    "scrape-every": "scrape-every 60s",
    "shed": "shed 20%",
    "shutdown-timeout": "shutdown-timeout 30",
    "unset-env": "unset-env NCCL_P2P_DISABLE",
}

CPU = {"limit-max-tokens", "restart", "restart-router", "rollback-template", "route", "shed"}
"""What can be done to the storm on a processor; it has one replica, no batch job, no gateway and clients who wait."""
ATTACHED = Box(
    name="there",
    title="Somebody else's",
    url="http://127.0.0.1:1",
    block_size=32,
    served_model_name="small-llama",
    simulator_profile="small-llama-cpu",
)


def operation(verb):
    command = console.parse(LINES[verb])
    return {"verb": verb, **command.options}


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Make a live world whose engines are never started, and return it; restarts are only noted."""
    made = []
    monkeypatch.setattr(
        Replica, "restart", lambda self, config, cost, *, down_s: setattr(self, "config", config)
    )

    def make(where, slug="preemption-storm/live"):
        found = beginning.waking(lab(slug), 1, where, folder=tmp_path)
        made.append(found)
        return found

    yield make
    for each in made:
        beginning.cluster_of(each).close()


def test_every_verb_has_a_line_here_and_a_kind_in_every_live_world(world):
    assert set(LINES) == set(KINDS)
    assert set(world(box("cpu")).kinds) == set(KINDS)


@pytest.mark.parametrize("verb", sorted(LINES))
def test_on_a_processor_a_verb_works_or_is_refused_with_a_sentence(world, verb):
    found = world(box("cpu"))
    refused = incident.why_not(found, operation(verb))
    if verb in CPU:
        assert refused == ""
        incident.carry_out(found, operation(verb), 1)
    else:
        assert refused.startswith((f"{verb}: ", "nvidia-smi"))
        assert refused.endswith(".")


@pytest.mark.parametrize("verb", sorted(LINES))
def test_an_engine_of_others_is_neither_started_nor_set(world, verb):
    found = world(ATTACHED)
    refused = incident.why_not(found, operation(verb))
    if verb in CPU - {"restart"}:
        incident.carry_out(found, operation(verb), 1)
        return
    assert refused.endswith(".")
    if verb in {"restart", "place", "evict", "unset-env", "redeploy"}:
        assert refused.startswith(f"{verb}: this engine is run by somebody else")


def test_a_refused_change_costs_nothing(world):
    found = world(box("cpu"))
    command = console.parse("restart --kv-cache-dtype fp8")
    outcome = incident.perform(found, command, 1)
    assert (outcome.kind, outcome.cost_s, found.changes) == ("refused", 0, [])
    assert outcome.text.startswith("vllm: this box has no GPU, and its processor keeps no keys")


def test_flags_that_no_vllm_has_stop_no_engine(world):
    found = world(box("cpu"))
    said = incident.why_not(found, {"verb": "restart", "--allow-whole-prefill": ""})
    assert said.startswith("vllm: --allow-whole-prefill: no vLLM has this flag")


def test_what_starts_is_not_started_again(world, monkeypatch):
    found = world(box("cpu"))
    monkeypatch.setattr(Replica, "is_starting", True)
    said = "restart: replica 0 is still starting; wait until it is over. Nothing was charged."
    assert incident.why_not(found, operation("restart")) == said
    again = {"verb": "undo", "of": 1, "operation": operation("restart")}
    assert incident.why_not(found, again) == f"undo: {said}"


def test_a_gateway_that_the_lab_has_is_the_load_clients():
    kinds = beginning.kinds_of(None)
    assert kinds["gateway-check"].apply == KINDS["gateway-check"].apply


@pytest.mark.parametrize("truth", ["ghosts", "demand"])
def test_a_gateway_that_a_lab_is_about_closes_its_streams_in_every_world(tmp_path, truth):
    found = beginning.waking(
        lab("a-crowd-at-noon/live"), 1, box("cpu"), folder=tmp_path, hypothesis=truth
    )
    try:
        assert incident.why_not(found, operation("close-upstream")) == ""
        incident.carry_out(found, operation("close-upstream"), 1)
    finally:
        beginning.cluster_of(found).close()


@pytest.mark.parametrize("key", live_keys())
def test_what_a_lab_offers_on_a_processor_can_be_done_there(world, key):
    found = world(box("cpu"), key)
    for number, change in enumerate(found.spec.changes.values(), start=1):
        command = console.parse(change.command)
        each = {"verb": command.verb, **command.options}
        said = incident.why_not(found, each)
        # A world in which nothing is wrong has had some of them done.
        assert said == "" or said.endswith("on already.")
        if not said:
            incident.carry_out(found, each, number)
