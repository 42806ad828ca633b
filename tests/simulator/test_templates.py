"""Templates, and what is found of them: whole blocks before the first token that differs, as long as they are kept."""

import pytest

from labs.simulator.cluster import Cluster
from labs.simulator.cost_model import profile
from labs.simulator.router import RouterDelay
from labs.simulator.scheduler import EngineConfig
from labs.simulator.templates import LongerPrompts, MoreTexts, TemplateIs, VolatileTemplate
from labs.simulator.workload import LengthDistribution, RequestClass, Workload, WorkloadSpec

AT_S = 300.0
CHAT = RequestClass(
    "chat",
    1.0,
    LengthDistribution(300.0, 0.5),
    LengthDistribution(60.0, 0.4),
    prefix_group="template",
    prefix_tokens=3000,
    prefix_groups=10,
)


def cluster(*faults, blocks=28000):
    config = EngineConfig(
        num_gpu_blocks=blocks,
        max_num_batched_tokens=2048,
        enable_prefix_caching=True,
        prefix_hashing="groups",
    )
    return Cluster(
        config,
        profile("llama-70b").cost_model(),
        Workload(WorkloadSpec(((0.0, 2.0),), (CHAT,)), seed="templates"),
        seed="templates",
        router_delay=RouterDelay(0.004, 0.012),
        faults=tuple((AT_S, fault) for fault in faults),
    )


def hits_after(world, until_s=900.0):
    """Share of looked-up tokens that were found, from five minutes after the fault on."""
    world.advance(AT_S + 300.0)
    before = world.engines[0].samples[-1]
    world.advance(until_s)
    after = world.engines[0].samples[-1]
    looked_up = after.prefix_cache_queries - before.prefix_cache_queries
    return (after.prefix_cache_hits - before.prefix_cache_hits) / looked_up


def test_a_template_that_repeats_is_found():
    assert hits_after(cluster()) > 0.85


@pytest.mark.parametrize(("position", "blocks"), [(12, 0), (40, 2), (1600, 100)])
def test_of_a_volatile_template_whole_blocks_before_the_difference_are_found(position, blocks):
    world = cluster(VolatileTemplate("chat", position))
    world.advance(600.0)
    late = [r for r in world.requests if r.sent_s > AT_S + 60 and r.first_scheduled_ps is not None]
    assert {request.cached_tokens for request in late} == {16 * blocks}


def test_volatile_prompts_are_as_long_as_before():
    world, calm = cluster(VolatileTemplate("chat", 40)), cluster()
    lengths = []
    for each in (world, calm):
        each.advance(1500.0)
        late = [r.prompt_tokens for r in each.requests if r.sent_s > AT_S]
        lengths.append((sum(late) / len(late), max(late) - min(late)))
    assert lengths[0][0] == pytest.approx(lengths[1][0], rel=0.01)
    assert lengths[0][1] == pytest.approx(lengths[1][1], rel=0.5)


def test_a_template_that_comes_back_is_found_again():
    world = cluster(VolatileTemplate("chat", 40), TemplateIs(CHAT))
    assert world.workload.spec.classes[0].prefix_tokens == 3000
    assert hits_after(world) == hits_after(cluster())


def test_more_texts_than_the_pool_keeps_are_evicted_before_they_are_asked_for():
    few = hits_after(cluster(MoreTexts("chat", 30), blocks=9000))
    many = hits_after(cluster(MoreTexts("chat", 90), blocks=9000))
    assert few > 0.8
    assert many < 0.6


def test_longer_prompts_leave_the_template_alone():
    world = cluster(LongerPrompts("chat", 2000.0))
    world.advance(600.0)
    late = [r for r in world.requests if r.sent_s > AT_S + 60 and r.first_scheduled_ps is not None]
    assert {request.cached_tokens for request in late} == {2992}
    assert sum(r.prompt_tokens for r in late) / len(late) > 4500


def test_a_template_of_another_length_or_class_is_refused():
    with pytest.raises(ValueError, match="its template has 3000 tokens"):
        cluster(VolatileTemplate("chat", 3000)).advance(AT_S)
    with pytest.raises(ValueError, match="no class 'mail'"):
        cluster(MoreTexts("mail", 3)).advance(AT_S)
