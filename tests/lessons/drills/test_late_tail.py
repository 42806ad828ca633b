"""Drill 1.2's evidence against formulas for its queues."""

from dataclasses import replace

import numpy as np
import pytest

from lessons.drills.evidence.late_tail import (
    PREFILL_MS,
    PROMPT_TOKENS,
    Case,
    _case,
    admitted_s,
    observe,
    run,
    waits,
)
from lessons.exact.queueing import Service, pollaczek_khinchine_s, sojourn_quantile_s

MEAN_S = PROMPT_TOKENS * PREFILL_MS / 1e3


@pytest.mark.parametrize("cv2", [0.3, 2.7])
def test_hours_of_the_queue_agree_with_pollaczek_and_khinchine(cv2):
    hours = [run(Case(seed, 4.0, cv2=cv2, front_s=1e-6)) for seed in range(12)]
    served = Service(MEAN_S, cv2)
    waited = np.concatenate([hour.queue_s for hour in hours])
    assert waited.mean() == pytest.approx(pollaczek_khinchine_s(4.0, served), rel=0.08)
    ttft = np.concatenate([hour.ttft_s for hour in hours])
    assert np.quantile(ttft, 0.99) == pytest.approx(sojourn_quantile_s(4.0, served, 0.99), rel=0.1)


def test_one_place_is_one_server():
    rng = np.random.default_rng(1)
    came, takes = np.cumsum(rng.exponential(1, 500)), rng.exponential(0.7, 500)
    assert np.allclose(admitted_s(came, takes, 1) - came, waits(came, takes))


def test_documents_on_replicas_of_their_own_make_no_chat_wait():
    case = _case("documents", 3)
    mixed, alone = run(case), run(replace(case, documents_share=0.0))
    chats = mixed.ttft_s[~mixed.own_lane]
    assert np.quantile(chats, 0.99) <= np.quantile(alone.ttft_s, 0.99) * 1.01


def test_the_load_says_the_same_of_every_world():
    for seed in range(3):
        loads = [
            observe(world, seed).values["load_percent"]
            for world in ("spread", "bursts", "pool", "pictures", "documents")
        ]
        assert max(loads) - min(loads) < 5
        assert max(loads) < 67


def test_random_arrivals_vary_as_much_as_their_mean_and_groups_more():
    assert observe("spread", 4).values["dispersion"] == pytest.approx(1, abs=0.2)
    assert observe("bursts", 4).values["dispersion"] > 3
