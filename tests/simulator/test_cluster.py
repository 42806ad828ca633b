import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from labs.simulator.cluster import Cluster
from labs.simulator.cost_model import profile
from labs.simulator.faults import CostChange, Leak, MixChange
from labs.simulator.metrics import percentile
from labs.simulator.request import Status
from labs.simulator.router import RouterDelay
from labs.simulator.scheduler import EngineConfig
from labs.simulator.workload import LengthDistribution, RequestClass, Workload, WorkloadSpec
from tests.simulator.worlds import CHAT, cluster, handle

ATLAS = profile("atlas-70b")
ROOT = Path(__file__).parents[2]


def world(rate=0.3, **fields):
    config = EngineConfig(num_gpu_blocks=ATLAS.num_gpu_blocks(), max_num_seqs=40)
    traffic = Workload(WorkloadSpec(((0.0, rate),), (CHAT,)), 3)
    return Cluster(
        config, ATLAS.cost_model(), traffic, seed=3, router_delay=RouterDelay(0.02, 0.08), **fields
    )


def test_the_router_delays_each_request_and_the_client_feels_it():
    served = world(2.0, replicas=4)
    served.advance(1000.0)
    delays = [request.router_delay_s for request in served.requests]
    assert percentile(delays, 50) == pytest.approx(0.02, rel=0.1)
    assert percentile(delays, 95) == pytest.approx(0.08, rel=0.2)
    request = next(r for r in served.requests if r.first_token_s is not None)
    assert request.arrival_s == request.client_arrival_s + request.router_delay_s
    assert request.ttft_s == request.first_token_s - request.client_arrival_s


def test_replicas_take_turns():
    served = world(replicas=3)
    served.advance(100.0)
    assert [request.replica for request in served.requests[:6]] == [0, 1, 2, 0, 1, 2]


def test_a_new_replica_serves_from_when_it_is_ready():
    served = world(1.0)
    served.advance(100.0)
    assert served.add_replica(160.0) == 1
    served.advance(300.0)
    firsts = [request.sent_s for request in served.requests if request.replica == 1]
    assert 160.0 <= min(firsts) < 170.0
    assert served.engines[1].samples[0].t_s == 160.0


def test_the_router_goes_around_a_replica_that_restarts():
    served = world(1.0, replicas=2)
    served.advance(100.0)
    served.restart_engine(0, served.config, served.cost, 60.0)
    served.advance(200.0)
    during = {r.replica for r in served.requests if 100.0 <= r.sent_s < 159.0}
    assert during == {1}
    assert 0 in {r.replica for r in served.requests if r.sent_s > 165.0}


def test_shed_requests_are_lost_and_leave_the_others_as_they_were():
    plain, sheds = world(1.0), world(1.0)
    for one in (plain, sheds):
        one.advance(50.0)
    sheds.shed(0.3)
    for one in (plain, sheds):
        one.advance(400.0)
    lost = [request for request in sheds.requests if request.status is Status.SHED]
    assert len(lost) == pytest.approx(350 * 0.3, rel=0.3)
    assert all(request.sent_s >= 50.0 and request.first_token_s is None for request in lost)
    for a, b in zip(plain.requests, sheds.requests, strict=True):
        assert (a.sent_s, a.prompt_tokens, a.max_tokens) == (
            b.sent_s,
            b.prompt_tokens,
            b.max_tokens,
        )
        assert b in lost or a.router_delay_s == b.router_delay_s


def test_a_limit_on_outputs_cuts_only_those_who_come_after_it():
    served = world(1.0)
    served.advance(50.0)
    served.limit_max_tokens(500)
    served.advance(100.0)
    cut = [request for request in served.requests if request.cut]
    assert cut
    assert all(request.sent_s >= 50.0 and request.max_tokens == 500 for request in cut)
    assert max(r.max_tokens for r in served.requests if r.sent_s < 50.0) > 500


def test_faults_happen_at_their_time():
    slow = ATLAS.cost_model().scaled(2.0)
    short = RequestClass("short", 1.0, LengthDistribution(100, 0.0), LengthDistribution(10, 0.0))
    served = world(
        faults=(
            (10.0, Leak(0, 5, every_s=10.0, until_s=40.0)),
            (50.0, CostChange(0, slow)),
            (60.0, MixChange((short,))),
        )
    )
    served.advance(9.0)
    assert served.engines[0].num_leaked_blocks == 0
    served.advance(25.0)
    assert served.engines[0].num_leaked_blocks == 10
    served.advance(100.0)
    assert served.engines[0].num_leaked_blocks == 20
    assert served.engines[0].cost == slow
    assert {r.request_class for r in served.requests if r.sent_s >= 60.0} == {"short"}
    with pytest.raises(ValueError, match="before"):
        served.schedule(50.0, CostChange(0, slow))


@pytest.mark.parametrize("delay", [(-1.0, 1.0), (2.0, 1.0), (0.0, 1.0)])
def test_a_delay_that_makes_no_sense_is_refused(delay):
    with pytest.raises(ValueError, match="not a delay"):
        RouterDelay(*delay)


def test_a_world_in_pieces_is_the_world_at_once():
    whole, pieces = handle(cluster()), cluster()

    def bit_by_bit(until_s):
        while pieces.now_s + 7.3 < until_s:
            pieces.advance(pieces.now_s + 7.3)
        pieces.advance(until_s)

    handle(pieces, advance=bit_by_bit)
    assert whole.digest() == pieces.digest()
    assert len(whole.requests) > 1000


def test_a_world_goes_on_from_a_checkpoint():
    whole = handle(cluster())
    copy = pickle.loads(pickle.dumps(whole))  # noqa: S301
    assert copy.digest() == whole.digest()
    for one in (whole, copy):
        one.advance(900.0)
    assert copy.digest() == whole.digest()


def test_the_digest_notices_any_action():
    left, right = cluster(), cluster()
    assert left.digest() == right.digest()
    right.shed(0.001)
    assert left.digest() != right.digest()


def test_another_process_with_another_hash_seed_makes_the_same_bytes():
    code = "from tests.simulator.worlds import cluster, handle; print(handle(cluster()).digest())"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for seed in ("0", "4242")
    }
    assert digests == {handle(cluster()).digest()}
