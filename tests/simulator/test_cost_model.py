import pytest

from labs.simulator.cost_model import (
    CostModel,
    ProfileError,
    kv_bytes_per_token,
    load_profile,
    profile,
)

MS = 1_000_000_000
ATLAS = profile("atlas-70b")
LLAMA = profile("llama-70b")


def test_opt_13b_matches_the_figure_in_the_paper():
    # Kwon et al. 2023 (PagedAttention), section 3: 800 KiB a token.
    assert kv_bytes_per_token(layers=40, kv_heads=40, head_dim=128, dtype_bytes=2) == 800 * 1024


def test_llama_70b_takes_320_kib_a_token_and_80_on_one_of_four_ranks():
    # Llama 3.1 70B config.json: 80 layers, 8 key-value heads of 128; BF16.
    assert kv_bytes_per_token(layers=80, kv_heads=8, head_dim=128, dtype_bytes=2) == 320 * 1024
    per_rank = kv_bytes_per_token(layers=80, kv_heads=2, head_dim=128, dtype_bytes=2)
    assert per_rank == LLAMA.kv_bytes_per_token == 80 * 1024


def test_a_dimension_below_1_is_refused():
    with pytest.raises(ValueError, match="kv_heads=0"):
        kv_bytes_per_token(layers=80, kv_heads=0, head_dim=128, dtype_bytes=2)


def test_atlas_holds_114_688_tokens_and_steps_in_45_ms_when_full():
    cost = ATLAS.cost_model()
    assert ATLAS.usable_blocks * ATLAS.block_size == 114_688
    assert ATLAS.num_gpu_blocks() == 7169
    took = cost.step_ps(kv_tokens=112_000, prefill_tokens=0, sequences=40, tokens=40)
    assert took == pytest.approx(45 * MS, rel=1e-6)
    chunk = cost.step_ps(kv_tokens=0, prefill_tokens=512, sequences=1, tokens=512)
    assert chunk == (22 + 512 * 0.035) * MS


def test_fp8_kv_holds_twice_the_tokens_and_reads_half_the_bytes():
    assert ATLAS.num_gpu_blocks(fp8_kv=True) - 1 == 2 * 7168
    plain, fp8 = ATLAS.cost_model(), ATLAS.cost_model(fp8_kv=True)
    assert fp8.per_kv_token_ps == pytest.approx(plain.per_kv_token_ps / 2, abs=1)


@pytest.mark.parametrize(
    ("batch", "ms"), [(1, 14.9), (8, 16.1), (32, 17.1), (64, 19.4), (128, 23.2)]
)
def test_llama_decode_steps_are_within_3_percent_of_the_published_grid(batch, ms):
    # AISimulate 0.13, vLLM 0.24 data, h100_sxm, BF16, TP4, about 1,100 tokens of context.
    took = LLAMA.cost_model().step_ps(
        kv_tokens=1100 * batch, prefill_tokens=0, sequences=batch, tokens=batch
    )
    assert took / MS == pytest.approx(ms, rel=0.03)


def test_llama_holds_458_752_tokens():
    assert LLAMA.usable_blocks * LLAMA.block_size == 458_752


@pytest.mark.parametrize("name", ["atlas-70b", "llama-70b"])
def test_every_number_of_a_profile_has_a_source(name):
    sources = profile(name).sources
    assert len(sources) == 14
    assert all(sources.values())


def test_a_slower_cost_is_the_same_shape():
    cost = ATLAS.cost_model()
    assert cost.scaled(1.0) is cost
    assert cost.scaled(2.0).base_ps == 44 * MS
    assert cost.plus(base_ms=1.0, per_token_ms=0.5).per_token_ps == MS // 2
    with pytest.raises(ValueError, match="factor"):
        cost.scaled(0.0)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('name = "llama-70b"', "", "name"),
        ("[base_ms]\nvalue = 15.20", "[base_ms]\nvalue = true", "base_ms.value"),
        ("[base_ms]\nvalue = 15.20", '[base_ms]\nvalue = "15"', "base_ms.value"),
        ("[base_ms]\nvalue = 15.20", "[base_ms]\nvalue = -1", "base_ms.value"),
        ("[base_ms]\nvalue = 15.20", "[base_ms]\nvalue = 1.0", "weight_read_ms"),
        ("[base_ms]", "[bass_ms]", "bass_ms"),
        ("value = 28672", "value = 28672.5", "usable_blocks.value"),
        ('source = "vLLM\'s default on GPUs"', 'source = ""', "block_size.source"),
        ('name = "llama-70b"', 'name = "llama', "cannot be read"),
    ],
)
def test_a_bad_profile_is_refused_by_file_and_key(tmp_path, old, new, key):
    from labs.simulator.cost_model import PROFILES_DIR

    text = (PROFILES_DIR / "llama-70b.toml").read_text()
    assert old in text
    path = tmp_path / "bad.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ProfileError, match=key) as caught:
        load_profile(path)
    assert str(path) in str(caught.value)


def test_a_profile_that_is_not_there_is_refused_by_its_path():
    with pytest.raises(ProfileError, match=r"no-such\.toml"):
        profile("no-such")


def test_the_cost_is_linear_in_each_of_its_terms():
    cost = CostModel(1, 0, 2, 3, 5, 7)
    assert (
        cost.step_ps(kv_tokens=10, prefill_tokens=100, sequences=1000, tokens=10_000)
        == 1 + 20 + 300 + 5000 + 70_000
    )


SLOW = ((1, 100), (4, 400), (8, 400), (9, 1000))
FAST = ((1, 10), (9, 90))


def test_collectives_are_linear_between_their_knots():
    cost = CostModel(0, 0, 0, 0, collectives=SLOW)
    assert [cost.collectives_ps(n) for n in (0, 1, 2, 4, 6, 8, 9)] == [
        100, 100, 200, 400, 400, 400, 1000,
    ]  # fmt: skip


def test_beyond_the_last_knot_the_last_slope_holds():
    assert CostModel(0, 0, 0, 0, collectives=SLOW).collectives_ps(11) == 1000 + 2 * 600


def test_collectives_that_the_terms_hold_already_add_nothing():
    plain = CostModel(1000, 0, 2, 3)
    told = CostModel(1000, 0, 2, 3, collectives=FAST, collectives_included=FAST)
    step = {"kv_tokens": 10, "prefill_tokens": 5, "sequences": 4, "tokens": 9}
    assert told.step_ps(**step) == plain.step_ps(**step)
    assert told.collectives_ps(9) == 90
    assert plain.collectives_ps(9) == 0


def test_slow_collectives_add_the_difference():
    slow = CostModel(1000, 0, 0, 0, collectives=SLOW, collectives_included=FAST)
    took = slow.step_ps(kv_tokens=0, prefill_tokens=0, sequences=4, tokens=4)
    assert took == 1000 + 400 - 40
    assert slow.scaled(2.0).added_ps(4) == 2 * slow.added_ps(4)
