"""The engine's /metrics against what vLLM 0.32 printed (captures/metrics_vllm_0_32.txt)."""

from itertools import pairwise
from pathlib import Path

import pytest

from labs.instruments.prometheus import metrics_text
from tests.labs.instruments.exposition import read

CAPTURE = read((Path(__file__).parent / "captures" / "metrics_vllm_0_32.txt").read_text())
HISTOGRAMS = [name for name, family in CAPTURE.items() if family.kind == "histogram"]


@pytest.fixture
def families(at_page):
    return read(metrics_text(at_page("metastable").view))


def test_every_family_is_one_of_vllms_with_its_help_and_type(families):
    ours = {name: (family.help, family.kind) for name, family in families.items()}
    theirs = {name: (family.help, family.kind) for name, family in CAPTURE.items()}
    assert ours == {name: theirs[name] for name in ours}
    assert set(theirs) == set(ours)


def test_every_series_has_vllms_labels(families):
    for name, family in families.items():
        theirs = {(sample, *sorted(labels)) for sample, labels, _ in CAPTURE[name].samples}
        ours = {(sample, *sorted(labels)) for sample, labels, _ in family.samples}
        # Of the cache's many settings only those that this course speaks of are printed.
        assert ours <= theirs or name == "vllm:cache_config_info", name


def test_the_reasons_of_finished_requests_are_vllms(families):
    def reasons(found):
        return [
            labels["finished_reason"]
            for _, labels, _ in found["vllm:request_success_total"].samples
        ]

    assert reasons(families) == reasons(CAPTURE)


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_buckets_are_vllms_and_cumulative(families, name):
    def bounds(found):
        return [labels["le"] for sample, labels, _ in found[name].samples if "le" in labels]

    counts = [value for _, labels, value in families[name].samples if "le" in labels]
    total = next(value for sample, _, value in families[name].samples if sample.endswith("_count"))
    assert bounds(families) == bounds(CAPTURE)
    assert all(one <= next_ for one, next_ in pairwise(counts))
    assert counts[-1] == total > 0


def test_the_pool_is_described_as_it_is(at_page):
    world = at_page("metastable")
    ((_, labels, value),) = read(metrics_text(world.view))["vllm:cache_config_info"].samples
    assert value == 1
    assert int(labels["num_gpu_blocks"]) == world.fleet.pool_blocks + 1
    assert int(labels["kv_cache_size_tokens"]) == world.fleet.pool_blocks * 16
    theirs = CAPTURE["vllm:cache_config_info"].samples[0][1]
    assert set(labels) <= set(theirs)


def test_the_preemption_counter_lags_behind_what_happened(at_page):
    samples = at_page("metastable").world.cluster.engines[0].samples
    assert all(sample.preemptions_reported <= sample.preemptions for sample in samples)
    behind = [s.preemptions - s.preemptions_reported for s in samples if s.t_s > -300]
    assert max(behind) > 0
    reported = read(metrics_text(at_page("metastable").view))["vllm:num_preemptions_total"]
    assert reported.samples[0][2] == samples[-1].preemptions_reported
