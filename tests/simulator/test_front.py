import os
import pickle
import random
import subprocess
import sys
from pathlib import Path

import pytest

from labs.simulator.front import PolicyChange
from labs.simulator.request import Status
from labs.simulator.router import (
    CacheAware,
    LeastLoaded,
    PrefixAffinity,
    RoundRobin,
)
from tests.simulator.reacting import SHORT, TENANTS, eventful, world

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("seed", range(4))
def test_an_eventful_world_in_pieces_is_the_world_at_once(seed):
    whole, pieces = eventful(seed), eventful(seed)
    whole.advance(200.0)
    cut = random.Random(f"pieces:{seed}")
    while pieces.now_s < 200.0:
        pieces.advance(min(200.0, pieces.now_s + cut.expovariate(2.0)))
    assert whole.digest() == pieces.digest()
    kinds = {(r.timed_out, r.is_cancelled, r.attempt > 0, r.user >= 0) for r in whole.requests}
    assert len(kinds) > 6


def test_an_eventful_world_goes_on_from_a_checkpoint():
    whole = eventful(9)
    whole.advance(95.0)
    copy = pickle.loads(pickle.dumps(whole))  # noqa: S301
    for one in (whole, copy):
        one.advance(160.0)
    assert copy.digest() == whole.digest()


def test_an_eventful_world_is_the_same_in_another_process():
    code = "from tests.simulator.reacting import eventful as e; w = e(5); w.advance(150.0); print(w.digest())"
    ours = eventful(5)
    ours.advance(150.0)
    theirs = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    assert theirs == ours.digest()


def test_going_from_event_to_event_changes_nothing_by_itself():
    plain, watched = world(2.0, replicas=2), world(2.0, replicas=2)
    watched.front.set_policy(LeastLoaded())
    watched.front.set_policy(RoundRobin())
    assert watched.front.reacts
    assert not plain.front.reacts
    for one in (plain, watched):
        one.advance(300.0)
    assert [e.state() for e in plain.engines] == [e.state() for e in watched.engines]


def test_the_router_counts_what_is_in_flight():
    served = world(3.0, replicas=2, policy=LeastLoaded())
    for until_s in (10.0, 33.3, 90.0):
        served.advance(until_s)
        for replica in (0, 1):
            ours = [
                r for r in served.requests
                if r.replica == replica and (r.finish_ps is None or r.finish_ps > until_s * 1e12)
            ]  # fmt: skip
            assert served.front.router.in_flight[replica] == len(ours)


def test_a_router_that_starts_to_look_at_load_knows_what_is_in_flight():
    late, early = world(3.0, replicas=2), world(3.0, replicas=2, policy=LeastLoaded())
    for one in (late, early):
        one.advance(60.0)
    late.front.set_policy(LeastLoaded())
    unfinished = [r for r in late.requests if r.finish_ps is None or r.finish_ps > 60e12]
    assert sum(late.front.router.in_flight) == len(unfinished)
    late.advance(400.0)
    assert max(late.front.router.in_flight) < 60


def test_least_loaded_avoids_a_slow_replica_and_turns_do_not():
    shares = {}
    for policy in (RoundRobin(), LeastLoaded()):
        served = world(2.0, replicas=4, policy=policy)
        served.engines[2].slowdown = 4.0
        served.advance(300.0)
        sent = [r.replica for r in served.requests]
        shares[type(policy)] = sent.count(2) / len(sent)
    assert shares[RoundRobin] == pytest.approx(0.25, abs=0.01)
    assert shares[LeastLoaded] < 0.18


def test_stale_counts_send_herds():
    def worst_run(policy):
        served = world(4.0, replicas=3, policy=policy)
        served.advance(200.0)
        run = longest = 1
        for a, b in zip(served.requests, served.requests[1:], strict=False):
            run = run + 1 if a.replica == b.replica else 1
            longest = max(longest, run)
        return longest

    assert worst_run(LeastLoaded(refresh_s=10.0)) > 10 > worst_run(LeastLoaded())


def test_weights_share_out_turns_and_load():
    served = world(2.0, replicas=2, policy=RoundRobin(weights=(3.0, 1.0)))
    served.advance(200.0)
    assert [r.replica for r in served.requests[:8]] == [0, 0, 1, 0, 0, 0, 1, 0]


def test_affinity_keeps_a_group_on_one_replica_and_moves_only_what_it_must():
    served = world(3.0, classes=(TENANTS,), replicas=4, policy=PrefixAffinity())
    served.advance(100.0)
    before = {r.prefix[0][0]: r.replica for r in served.requests}
    assert all(before[r.prefix[0][0]] == r.replica for r in served.requests)
    assert len(set(before.values())) > 2
    served.front.drained.add(1)
    served.advance(200.0)
    after = {r.prefix[0][0]: r.replica for r in served.requests if r.sent_s >= 100.0}
    assert all(replica == before[name] for name, replica in after.items() if before[name] != 1)


def test_cache_aware_follows_the_match_until_loads_part():
    served = world(3.0, classes=(TENANTS,), replicas=3, policy=CacheAware())
    served.advance(100.0)
    homes = {}
    for request in served.requests:
        homes.setdefault(request.prefix[0][0], set()).add(request.replica)
    assert all(len(each) == 1 for each in homes.values())
    strict = world(
        3.0, classes=(TENANTS,), replicas=3,
        policy=CacheAware(balance_abs_threshold=1, balance_rel_threshold=1.0),
    )  # fmt: skip
    strict.advance(100.0)
    spread = {(r.prefix[0][0], r.replica) for r in strict.requests}
    assert len(spread) > len(homes) * 1.5


def test_below_the_threshold_the_smallest_tree_gets_the_request():
    served = world(2.0, classes=(SHORT,), replicas=3, policy=CacheAware())
    served.advance(100.0)
    trees = [tree[""] for tree in served.front.router.trees]
    assert max(trees) - min(trees) < 3000


def test_the_policy_can_change_while_the_world_runs():
    served = world(2.0, replicas=2, faults=((50.0, PolicyChange(LeastLoaded())),))
    served.engines[1].slowdown = 5.0
    served.advance(300.0)
    early = [r.replica for r in served.requests if r.sent_s < 50.0]
    late = [r.replica for r in served.requests if r.sent_s > 100.0]
    assert early.count(1) / len(early) == pytest.approx(0.5, abs=0.02)
    assert late.count(1) / len(late) < 0.35


def test_without_a_replica_in_rotation_requests_get_503():
    served = world(1.0, replicas=2)
    served.front.drained.update((0, 1))
    served.advance(20.0)
    assert {(r.http_status, r.refusal, r.status) for r in served.requests} == {
        (503, "no_replica", Status.ABORTED)
    }


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (RoundRobin, {"weights": (0.0,)}),
        (LeastLoaded, {"refresh_s": -1.0}),
        (LeastLoaded, {"weights": (-1.0,)}),
    ],
    ids=["turns", "refresh", "load"],
)
def test_a_policy_that_makes_no_sense_is_refused(kind, fields):
    with pytest.raises(ValueError, match=r"policy|weight"):
        kind(**fields)
