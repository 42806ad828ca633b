import random
from dataclasses import replace

import pytest

from labs.simulator.engine import Engine
from labs.simulator.pauses import Pause
from labs.simulator.prefix_groups import TemplateChange
from labs.simulator.request import Request, Status
from labs.simulator.workload import LengthDistribution, RequestClass
from tests.simulator.reacting import TENANTS, world
from tests.simulator.worlds import engine, random_config, random_cost, submit

GROUPS = {"enable_prefix_caching": True, "prefix_hashing": "groups"}


def random_prefix(rng, texts):
    """Return a shared text, with or without the one that it goes on from."""
    base, first = rng.choice(texts), rng.choice([0, 1, 2])
    prefix = [(f"{base}", 7 * len(base))]
    if first:
        prefix.append((f"{base}.{first}", 7 * len(base) + 20 * first))
    return tuple(prefix)


def shared_life(seed, *, closed_form, pieces=False, listener=None):
    """Run a small random life of requests with shared prefixes under memory pressure."""
    rng, cut = random.Random(f"shared:{seed}"), random.Random(f"pieces:{seed}")
    config = replace(
        random_config(rng),
        block_size=rng.choice([1, 4, 16]),
        max_num_seqs=rng.choice([3, 8, 20]),
        max_model_len=1000,
        num_gpu_blocks=rng.choice([20, 60, 150, 600]),
        allow_whole_prefill=rng.random() < 0.3,
        **GROUPS,
    )
    served = Engine(
        config, random_cost(rng), sample_every_s=rng.choice([0.1, 1.0]), closed_form=closed_form
    )
    served.on_step = listener
    texts = ["a", "bb", "cccc", "d" * 9][: rng.randint(1, 4)]
    rate, t_s, requests = rng.choice([2, 20, 60]), 0.0, []
    for i in range(70):
        t_s += rng.expovariate(rate)
        prefix = random_prefix(rng, texts) if rng.random() < 0.8 else ()
        length = (prefix[-1][1] if prefix else 0) + rng.randint(1, rng.choice([5, 60]))
        requests.append(
            Request(
                f"r{i}", t_s, length, rng.randint(1, rng.choice([5, 60])),
                prefix=prefix, whole_prefill=rng.random() < 0.3,
                cancel_tokens=rng.choice([None, None, 1, 3, 9]),
            )
        )  # fmt: skip
        served.submit(requests[-1])
    last_s = 0.0
    for stop_s in [*sorted(rng.uniform(0, t_s * 1.5) for _ in range(4)), t_s * 4 + 30]:
        if pieces:
            for piece_s in sorted(cut.uniform(last_s, stop_s) for _ in range(8)):
                served.advance(piece_s)
        served.advance(stop_s)
        last_s = stop_s
        what = rng.choice(["leak", "abort", "restart", "pause", "aborts"])
        gone, size = rng.randrange(70), rng.random()
        if what == "leak":
            served.leak(int(size * 20))
        elif what == "abort":
            served.abort(requests[gone])
        elif what == "restart":
            served.restart(config, served.cost, down_s=size)
        elif what == "pause":
            served.set_pauses((Pause(0.05, every_steps=7),))
        else:
            served.set_aborts(run_on=size < 0.3, lose_blocks=size > 0.6)
    return served


@pytest.mark.parametrize("seed", range(80))
def test_named_texts_hit_what_hashed_blocks_hit(seed):
    whole = shared_life(seed, closed_form=True)
    stepped = shared_life(seed, closed_form=False)
    assert whole.samples == stepped.samples
    assert whole.state() == stepped.state()


@pytest.mark.parametrize("seed", range(30))
def test_named_texts_take_the_same_steps(seed):
    ours, theirs = [], []
    shared_life(seed, closed_form=True, listener=ours.append)
    shared_life(seed, closed_form=False, listener=theirs.append)
    assert ours == theirs


@pytest.mark.parametrize("seed", range(20))
def test_prefix_caching_in_pieces_is_prefix_caching_at_once(seed):
    whole = shared_life(seed, closed_form=True)
    assert whole.state() == shared_life(seed, closed_form=True, pieces=True).state()


def test_the_lives_that_are_compared_hit_evict_and_preempt():
    lives = [shared_life(seed, closed_form=True) for seed in range(80)]
    assert sum(life.samples[-1].prefix_cache_hits > 100 for life in lives) > 40
    resumed = [r for life in lives for r in life.requests if r.num_preemptions]
    assert len(resumed) > 100
    # A resumed request finds blocks of its own again: it recomputes less than it had.
    assert sum(r.recomputed_tokens < r.computed_high for r in resumed) > 20


BOTH = pytest.mark.parametrize("closed_form", [True, False])


@BOTH
def test_only_whole_blocks_hit_and_the_last_token_is_always_computed(closed_form):
    served = engine(closed_form=closed_form, **GROUPS)
    for at_s in (0.0, 1.0):
        submit(served, (65, 5), at_s=at_s, prefix=(("text", 64),))
        submit(served, (60, 5), at_s=at_s + 0.5, prefix=(("other", 59),))
    served.advance(10.0)
    assert [r.cached_tokens for r in served.requests] == [0, 0, 64, 48]
    last = served.samples[-1]
    assert (last.prefix_cache_queries, last.prefix_cache_hits) == (250, 112)


@BOTH
def test_shared_blocks_count_once(closed_form):
    served = engine(closed_form=closed_form, **GROUPS)
    submit(served, *[(81, 300)] * 3, prefix=(("text", 80),))
    served.advance(0.1)
    assert all(r.status is Status.RUNNING for r in served.requests)
    # Five shared, and of each its own.
    assert served.num_used_blocks == 5 + sum(r.num_blocks - 5 for r in served.requests)
    served.abort(served.requests[1])
    assert served.num_used_blocks == 5 + sum(r.num_blocks - 5 for r in served.running)


@BOTH
def test_the_text_unused_longest_is_evicted_first_and_from_its_end(closed_form):
    served = engine(num_gpu_blocks=16, closed_form=closed_form, **GROUPS)
    for at_s, name in ((0.0, "old"), (1.0, "new")):
        submit(served, (65, 1), at_s=at_s, prefix=((name, 64),))
    submit(served, (115, 1), at_s=2.0)
    submit(served, (65, 1), at_s=3.0, prefix=(("new", 64),))
    submit(served, (65, 1), at_s=4.0, prefix=(("old", 64),))
    served.advance(10.0)
    assert [r.cached_tokens for r in served.requests[3:]] == [64, 48]


@BOTH
def test_a_prefill_that_escapes_chunking_makes_one_long_step(closed_form):
    gaps = {}
    for allowed in (False, True):
        served = engine(closed_form=closed_form, num_gpu_blocks=300, allow_whole_prefill=allowed)
        (stream,) = submit(served, (16, 200))
        (whole,) = submit(served, (2000, 5), at_s=0.5, whole_prefill=True)
        served.advance(60.0)
        gaps[allowed] = stream.longest_gap_s
        assert whole.num_output_tokens == 5
    assert gaps[False] < 0.02
    assert 0.21 < gaps[True] < 0.23


def test_a_new_template_hits_only_up_to_where_it_differs():
    served = world(
        1.0, classes=(replace(TENANTS, prefix_groups=1),), config=GROUPS,
        faults=((60.0, TemplateChange("tenants", 100, "tenant@2")),),
    )  # fmt: skip
    served.advance(120.0)
    before = [r.cached_tokens for r in served.requests if 20.0 < r.sent_s < 59.0]
    after = [r.cached_tokens for r in served.requests if r.sent_s > 60.0]
    assert set(before) == {800}
    assert after[0] == 6 * 16
    assert after[-1] == 800


def test_a_prompt_must_go_on_after_its_prefix():
    with pytest.raises(ValueError, match="after its prefix"):
        Request("r", 0.0, 64, 5, prefix=(("text", 64),))


def test_affinity_saves_the_prefill_that_turns_spend():
    from labs.simulator.router import PrefixAffinity, RoundRobin

    kind = RequestClass(
        "tenants", 1.0, LengthDistribution(100, 0.3), LengthDistribution(50, 0.3),
        prefix_group="t", prefix_tokens=2000, prefix_groups=40,
    )  # fmt: skip
    shares = []
    for policy in (RoundRobin(), PrefixAffinity()):
        served = world(3.0, classes=(kind,), replicas=4, policy=policy, config=GROUPS)
        served.advance(200.0)
        last = [each.samples[-1] for each in served.engines]
        queries = sum(s.prefix_cache_queries for s in last)
        shares.append(sum(s.prefix_cache_hits for s in last) / queries)
    assert shares[1] > shares[0] + 0.1
