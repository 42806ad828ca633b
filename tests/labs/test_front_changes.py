"""Changes of the gateway and of what its clients do."""

from labs import incident
from labs.catalogue import labs
from labs.console import parse
from labs.incident import perform

SEED = 7


def test_a_check_is_switched_on_once_and_can_be_taken_back():
    world = incident.begin(labs()["calls-that-fail"], SEED, hypothesis="cut")
    gateway = world.world.cluster.front.gateway
    assert perform(world, parse("gateway-check context_length"), 1).kind == "change"
    assert "context_length" in world.world.cluster.front.gateway.checks
    assert perform(world, parse("gateway-check context_length"), 2).kind == "refused"
    assert perform(world, parse("undo 1"), 3).kind == "change"
    assert world.world.cluster.front.gateway == gateway


def test_refusals_pass_as_the_engine_words_them():
    world = incident.begin(labs()["calls-that-fail"], SEED, hypothesis="hidden")
    perform(world, parse("pass-refusals"), 1)
    answer = perform(world, parse("probe no-role"), 2)
    assert answer.text.startswith("HTTP/1.1 400")
    assert "Field required" in answer.text


def test_a_client_that_has_gone_ends_its_request_again():
    world = incident.begin(labs()["a-crowd-at-noon"], SEED, hypothesis="ghosts")
    perform(world, parse("close-upstream"), 1)
    incident.advance(world, 600)
    assert "without                       0" in perform(world, parse("connections"), 2).text


def test_without_retries_nothing_is_sent_again():
    world = incident.begin(labs()["calls-given-up"], SEED, hypothesis="storm")
    perform(world, parse("client-retries 0"), 1)
    sent = len(world.world.cluster.requests)
    incident.advance(world, 300)
    # Those who had begun to wait for their second turn still take it.
    late = world.world.cluster.requests[sent + 30 :]
    assert sum(each.attempt > 0 for each in late) == 0


def test_retries_come_back_when_the_change_is_taken_back():
    world = incident.begin(labs()["calls-given-up"], SEED, hypothesis="storm")
    before = world.world.cluster.front.clients
    perform(world, parse("client-retries 0"), 1)
    perform(world, parse("undo 1"), 2)
    assert world.world.cluster.front.clients == before


def test_clients_that_never_ask_again_cannot_be_told_not_to():
    world = incident.begin(labs()["calls-that-fail"], SEED, hypothesis="cut")
    assert perform(world, parse("client-retries 0"), 1).kind == "refused"
