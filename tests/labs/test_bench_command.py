"""The benchmark's loads are the same for everyone, and its verdicts follow from its figures."""

import math
from statistics import fmean, pstdev

import pytest

from benchmarks import public_loads
from labs.management.commands.bench_simulator import judged, lines

RESULT = {
    "load": "poisson", "requests": 20_000, "seed": 1, "simulated_s": 4000.0, "took_s": 0.8,
    "simulated_s_per_s": 5000, "peak_mib": 60, "steps": 9, "preemptions": 0, "ttft_p50_s": 0.1,
    "ttft_p95_s": 0.2, "tpot_p50_s": 0.02, "sha256": "ab", "version": "0.1.0", "python": "3.12",
}  # fmt: skip


def growth(*took):
    return [
        {**RESULT, "requests": count, "took_s": took_s}
        for count, took_s in zip((5_000, 10_000, 20_000), took, strict=True)
    ]


def test_the_poisson_load_is_what_it_is_said_to_be():
    requests = public_loads.poisson(4000, 1)
    assert requests[-1].arrival_s == pytest.approx(4000 / 5, rel=0.05)
    prompts = [math.log(request.prompt_tokens) for request in requests]
    assert fmean(prompts) == pytest.approx(6.6, abs=0.1)
    assert pstdev(prompts) == pytest.approx(0.8, abs=0.1)
    assert max(request.prompt_tokens for request in requests) == 3500
    assert max(request.max_tokens for request in requests) == 590


def test_the_azure_load_is_the_beginning_of_the_trace():
    requests = public_loads.azure(2000, 1)
    assert len(requests) == 2000
    assert 400 < requests[-1].arrival_s < 440
    assert public_loads.measure("azure", 40, 1)["sha256"]


def test_the_same_seed_gives_the_same_hash():
    first, again = (public_loads.measure("poisson", 60, 7) for _ in range(2))
    assert first["sha256"] == again["sha256"]
    assert first["sha256"] != public_loads.measure("poisson", 60, 8)["sha256"]
    assert first["ttft_p95_s"] > 0


def test_every_request_of_a_load_is_served_to_its_end():
    requests = public_loads.poisson(150, 2)
    public_loads.served(requests)
    assert all(request.finish_reason == "length" for request in requests)
    assert all(min(row) >= 0 for row in public_loads.rows(requests))


def test_verdicts_name_what_was_missed():
    good = judged([RESULT], growth(0.2, 0.4, 0.8))
    assert all(good.values())
    bad = judged([{**RESULT, "simulated_s_per_s": 1200, "peak_mib": 900}], growth(0.2, 0.5, 1.3))
    assert not any(bad.values())
    text = "\n".join(lines([RESULT], growth(0.2, 0.5, 1.3), bad))
    assert "MISSED no growth worse than linear" in text
    assert "sha256 ab" in text
