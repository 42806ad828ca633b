import pickle

import pytest

from labs.simulator.cluster import Cluster
from labs.simulator.cost_model import profile
from labs.simulator.public_traces import TRACES_DIR, TraceError, TraceWorkload, load, names
from labs.simulator.router import RouterDelay
from labs.simulator.scheduler import EngineConfig
from labs.simulator.workload import Burst

CONVERSATION = "azure-2023-conversation"


@pytest.mark.parametrize(
    ("name", "rows", "input_mean", "output_mean"),
    [
        (CONVERSATION, 19_366, 1155, 211),
        ("azure-2023-code", 8_819, 2048, 28),
        ("mooncake-fast25-conversation", 4_000, 13_312, 347),
        ("sharegpt-lengths-300", 300, 857, 653),
    ],
)
def test_a_trace_is_what_its_origin_says(name, rows, input_mean, output_mean):
    trace = load(name)
    assert len(trace.arrivals_s) == len(trace.input_tokens) == len(trace.output_tokens) == rows
    assert sum(trace.input_tokens) / rows == pytest.approx(input_mean, abs=1)
    assert sum(trace.output_tokens) / rows == pytest.approx(output_mean, abs=1)
    assert list(trace.arrivals_s) == sorted(trace.arrivals_s)
    assert trace.licence
    assert trace.changes
    assert "github.com/" in trace.origin


def test_every_trace_has_its_source_and_all_are_small():
    files = sorted(path.name for path in TRACES_DIR.glob("*.gz"))
    assert files == sorted(f"{name}.csv.gz" for name in names())
    assert sum((TRACES_DIR / name).stat().st_size for name in files) < 400_000
    with pytest.raises(TraceError, match="no trace 'nope'; there are azure"):
        load("nope")


def test_a_trace_plays_at_its_own_times():
    requests = list(TraceWorkload(CONVERSATION, first=2000).until(1e9))
    trace = load(CONVERSATION)
    assert len(requests) == 2000
    assert [r.arrival_s for r in requests] == pytest.approx(list(trace.arrivals_s[:2000]))
    assert [r.prompt_tokens for r in requests] == list(trace.input_tokens[:2000])
    assert requests[-1].arrival_s == pytest.approx(424, abs=1)


def test_a_speed_scales_the_arrivals_and_not_the_lengths():
    plain = list(TraceWorkload(CONVERSATION, first=500).until(1e9))
    fast = list(TraceWorkload(CONVERSATION, first=500, speed=2.0, start_s=-10.0).until(1e9))
    assert [r.arrival_s for r in fast] == pytest.approx([r.arrival_s / 2 - 10.0 for r in plain])
    assert [r.max_tokens for r in fast] == [r.max_tokens for r in plain]
    with pytest.raises(ValueError, match="above 0"):
        TraceWorkload(CONVERSATION, speed=0.0)


def test_a_burst_and_a_new_rate_bend_the_time_of_a_trace():
    plain = list(TraceWorkload(CONVERSATION).until(100.0))
    bent = TraceWorkload(CONVERSATION, bursts=(Burst(3.0, 20.0, 40.0),))
    requests = list(bent.until(40.0))
    assert len(requests) == len([r for r in plain if r.arrival_s < 80.0])
    bent.set_rate(0.5, 60.0)
    assert 0 < len(list(bent.until(100.0))) < len(plain)


def test_a_trace_in_pieces_and_from_a_checkpoint_is_the_trace_at_once():
    whole, pieces = TraceWorkload(CONVERSATION, speed=1.3), TraceWorkload(CONVERSATION, speed=1.3)
    times = [r.arrival_s for r in whole.until(200.0)]
    theirs = [r.arrival_s for r in pieces.until(77.7)]
    pieces = pickle.loads(pickle.dumps(pieces))  # noqa: S301
    theirs += [r.arrival_s for r in pieces.until(200.0)]
    assert times == theirs
    assert whole.state() == pieces.state()


def test_a_cluster_serves_a_trace():
    llama = profile("llama-70b")
    config = EngineConfig(
        num_gpu_blocks=llama.num_gpu_blocks(), max_num_seqs=128, max_num_batched_tokens=2048
    )
    served = Cluster(
        config, llama.cost_model(), TraceWorkload(CONVERSATION, first=300), seed=1,
        router_delay=RouterDelay(0.002, 0.004),
    )  # fmt: skip
    served.advance(200.0)
    assert len(served.requests) == 300
    assert all(r.finish_reason == "length" for r in served.requests)
