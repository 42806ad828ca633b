import pytest

from lessons.quantities import (
    ATLAS,
    GIB,
    LLAMA,
    SHOWN,
    admission,
    allowed_gib,
    arrivals_per_s,
    ledger,
    live_tokens,
    over_by,
    step_ms,
    weight_read_ms,
)


@pytest.mark.parametrize(
    ("prompt", "max_tokens", "status", "completion"),
    [
        (1000, 500, 200, 24),  # a live vLLM 0.32.0: silently clamped
        (10, 5000, 400, 0),
        (1100, 5, 400, 0),
        (10, 0, 400, 0),
        (10, 20, 200, 20),
    ],
)
def test_vllm_refuses_a_count_that_is_too_large_alone_and_clamps_the_sum(
    prompt, max_tokens, status, completion
):
    answer = admission(prompt_tokens=prompt, max_tokens=max_tokens, context_window=1024)
    assert (answer.status, answer.completion_tokens) == (status, completion)


def test_a_request_that_fits_is_over_by_nothing():
    assert over_by(prompt_tokens=7400, max_tokens=1200, context_window=8192) == 408
    assert over_by(prompt_tokens=10, max_tokens=10, context_window=8192) == 0


def test_one_pool_holds_four_times_the_tokens_where_a_token_costs_a_quarter():
    atlas = live_tokens(pool_bytes=35 * GIB, bytes_per_token=ATLAS.kv_bytes_per_token)
    llama = live_tokens(pool_bytes=35 * GIB, bytes_per_token=LLAMA.kv_bytes_per_token)
    assert (atlas, llama) == (114_688, 458_752)
    assert atlas == ATLAS.usable_blocks * ATLAS.block_size
    assert llama == LLAMA.usable_blocks * LLAMA.block_size


def test_the_ledger_adds_up_to_what_the_engine_may_take():
    assert sum(line.gib for line in ledger()) == pytest.approx(allowed_gib())
    # What the page shows adds up as printed, to the last digit.
    printed = [
        float(SHOWN[f"{name}_gib"])
        for name in ("weights", "activations", "graphs", "context", "pool")
    ]
    assert sum(printed) == pytest.approx(float(SHOWN["allowed_gib"]), abs=1e-9)
    assert float(SHOWN["device_gib"]) * float(SHOWN["fraction"]) == pytest.approx(
        float(SHOWN["allowed_gib"])
    )


def test_a_full_pool_makes_the_step_of_the_card():
    assert step_ms(kv_tokens=112_000) == pytest.approx(45.0)
    assert step_ms(kv_tokens=112_000, prefill_tokens=512) == pytest.approx(62.92)


def test_the_floor_of_a_step_is_one_read_of_the_weights():
    assert weight_read_ms(35e9) == pytest.approx(10.45, abs=0.01)


def test_what_waits_has_come_since_the_oldest():
    assert arrivals_per_s(waiting=47, oldest_s=1.1) == pytest.approx(42.7, abs=0.1)


def test_normal_reservations_are_those_of_the_card():
    assert (SHOWN["reserved_090_gb"], SHOWN["reserved_092_gb"]) == ("73.4", "75.1")
