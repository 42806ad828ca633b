"""A batch job beside the people: its workers, what is read of them, and what can be told to them."""

import pickle

import pytest

from labs import incident
from labs.catalogue import labs
from labs.console import Refusal, parse
from labs.incident import perform
from labs.instruments.registry import signal_values
from labs.specs.front import FrontWorld
from labs.worlds import front
from labs.worlds.draws import Draws

LAB = "answers-in-fits-and-starts"
SEED = 7


def world(hypothesis, at_s=0):
    found = incident.waking(labs()[LAB], SEED, hypothesis=hypothesis)
    incident.advance(found, at_s)
    return found


def read(found, *names):
    values = signal_values(found.view, names)
    return [values[name] for name in names]


def job(spec, hypothesis):
    loop = front.closed_loop(spec, Draws(spec.slug, SEED))
    changes = front.faults(spec, spec.hypotheses[hypothesis].world.front, Draws(spec.slug, SEED))
    return loop, changes


def test_the_job_is_the_same_in_every_world_until_the_fault():
    at_s = labs()[LAB].timeline.fault_at_s - 1
    asked = [
        [
            (each.request_id, each.prompt_tokens, each.sent_s)
            for each in found.world.cluster.requests
        ]
        for found in (world("context", at_s), world("concurrency", at_s))
    ]
    assert asked[0] == asked[1]


def test_longer_prompts_leave_the_workers_as_many():
    loop, (change,) = job(labs()[LAB], "context")
    (before,), (after,) = loop.classes, change.classes
    assert 4.1 <= after.prompt.mean / before.prompt.mean <= 4.9
    assert after.output == before.output


def test_more_workers_ask_the_same_things():
    loop, (change,) = job(labs()[LAB], "concurrency")
    assert 3.9 <= change.users / loop.users <= 4.3


def test_a_lab_without_a_job_cannot_have_one_changed():
    spec = labs()["calls-that-fail"]
    with pytest.raises(ValueError, match=r"fleet\.front\.batch"):
        front.faults(spec, FrontWorld(batch_workers_factor=(2.0, 2.0)), Draws(spec.slug, SEED))


def test_each_factor_of_the_product_is_read_by_itself():
    long, many = world("context"), world("concurrency")
    names = ("batch_in_flight", "batch_tokens_each", "open_load")
    open_long, each_long, load_long = read(long, *names)
    open_many, each_many, load_many = read(many, *names)
    assert open_many > 3 * open_long
    assert each_long > 2.5 * each_many
    assert load_long > 1.1
    assert load_many > 1.1


def test_the_table_of_open_requests_adds_up_to_what_is_wanted():
    found = world("concurrency")
    outcome = perform(found, parse("in-flight"), 1)
    rows = [line.split() for line in outcome.text.splitlines()[1:]]
    together = sum(int(row[-1].replace(",", "")) for row in rows[:-1])
    assert int(rows[-1][1].replace(",", "")) == together
    assert set(outcome.signals) == {"batch_in_flight", "batch_tokens_each", "open_load"}


def test_the_ledger_shows_what_a_running_request_holds():
    found = world("context")
    outcome = perform(found, parse("kv-ledger | grep 'held by running'"), 1)
    blocks, requests = (int(outcome.text.split()[place]) for place in (3, 5))
    assert outcome.signals["held_per_running_tokens"] == pytest.approx(16 * blocks / requests)


def test_as_many_workers_as_agreed_end_what_too_many_began():
    found = world("concurrency")
    perform(found, parse("batch-workers 16"), 1)
    incident.advance(found, 600)
    workers, load = read(found, "batch_in_flight", "open_load")
    assert workers <= 16
    assert load < 0.8


def test_workers_come_back_when_the_change_is_taken_back():
    found = world("concurrency")
    before = found.world.cluster.front.closed_loop.users
    perform(found, parse("batch-workers 16"), 1)
    perform(found, parse("batch-workers 8"), 2)
    perform(found, parse("undo 2"), 3)
    assert found.world.cluster.front.closed_loop.users == 16
    perform(found, parse("undo 1"), 4)
    assert found.world.cluster.front.closed_loop.users == before


def test_where_no_job_runs_its_workers_cannot_be_told_anything():
    found = incident.waking(labs()["a-crowd-at-noon"], SEED, hypothesis="demand")
    assert perform(found, parse("batch-workers 16"), 1).kind == "refused"


@pytest.mark.parametrize("line", ["batch-workers", "batch-workers 0", "batch-workers many", "in-flight now"])  # fmt: skip
def test_a_line_that_is_not_understood_says_what_would_be(line):
    refusal = parse(line)
    assert isinstance(refusal, Refusal)
    assert "`" in refusal.message


def test_a_world_with_a_job_goes_on_after_a_pickle_as_it_would_have():
    one = world("concurrency", -300)
    perform(one, parse("batch-workers 16"), 1)
    other = pickle.loads(pickle.dumps(one))  # noqa: S301
    for each in (one, other):
        incident.advance(each, 200)
    assert one.world.cluster.digest() == other.world.cluster.digest()
