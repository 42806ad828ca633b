import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons.exact.retrieval import KEY_FORMATS, Haystack, margin, perplexity, recall, with_noise

SHORT, LONG = 512, 8_192


def of(key_format, seed=0, lengths=(SHORT, 2_048, LONG), **rest):
    return recall(key_format, lengths, seed=seed, **rest)


@pytest.mark.parametrize(
    "key_format", ["bf16", "fp8 per tensor", "fp8 per token", "int4 per channel"]
)
@pytest.mark.parametrize("seed", range(3))
def test_formats_whose_steps_fit_each_channel_find_every_needle(key_format, seed):
    assert [one.found for one in of(key_format, seed)] == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("seed", range(3))
def test_a_scale_for_each_token_loses_needles_to_an_outlier_channel_and_more_of_them_with_length(
    seed,
):
    found = [one.found for one in of("int4 per token", seed)]
    assert 0.5 < found[0] < 0.95
    assert found == sorted(found, reverse=True)
    assert found[-1] < found[0]


def test_without_an_outlier_channel_a_scale_for_each_token_loses_nothing():
    even = Haystack(outlier_channels=0)
    assert [one.found for one in of("int4 per token", haystack=even)] == [1.0, 1.0, 1.0]


def test_noise_does_not_grow_with_length():
    for key_format, noise in (
        ("fp8 per tensor", 0.027),
        ("int4 per token", 0.63),
        ("int4 per channel", 0.18),
    ):
        found = of(key_format)
        assert found[-1].noise == pytest.approx(noise, rel=0.06)
        assert found[0].noise == pytest.approx(found[-1].noise, rel=0.25)


def test_the_margin_shrinks_with_the_logarithm_of_the_length():
    exact = of("bf16")
    for one in exact:
        # The loss of a needle with margin m is ln(1 + e^-m).
        assert one.loss == pytest.approx(math.log1p(math.exp(-margin(12.0, one.length))), rel=0.15)
    assert margin(12.0, 32_768) == pytest.approx(1.10, abs=0.005)


def test_needles_are_lost_about_where_the_margin_ends():
    weak = Haystack(score=7.0)
    found = recall("bf16", (64, 4_096), seed=1, haystack=weak)
    assert margin(7.0, 64) > 0 > margin(7.0, 4_096)
    assert (found[0].found, found[1].found) == (1.0, 0.0)


@pytest.mark.parametrize(("noise", "spread"), [(0.8, 0.0), (1.3, 0.0), (0.0, 0.8), (0.5, 0.5)])
def test_the_closed_form_with_noise_is_what_drawn_scores_give(noise, spread):
    rng, length, trials = np.random.default_rng(1), 8_192, 1_500
    needles = 10.5 + noise * rng.standard_normal(trials) + spread * rng.standard_normal(trials)
    deviation = math.sqrt(1 + noise**2)
    total = np.array([np.exp(deviation * rng.standard_normal(length)).sum() for _ in range(trials)])
    drawn = needles - np.log(total)
    closed = with_noise(10.5, length, noise=noise, spread=spread)
    assert (drawn > 0).mean() == pytest.approx(closed.found, abs=0.04)
    assert np.log1p(np.exp(-drawn)).mean() == pytest.approx(closed.loss, rel=0.1)


def test_without_noise_a_needle_is_found_while_its_margin_lasts():
    assert with_noise(12.0, 32_768).found == 1.0
    assert with_noise(10.0, 32_768).found == 0.0
    assert with_noise(12.0, 2_048).loss == pytest.approx(math.log1p(math.exp(-margin(12.0, 2_048))))
    with pytest.raises(ValueError, match="deviation"):
        with_noise(12.0, 512, noise=-1)


def test_perplexity_averages_the_loss_away():
    far = {key_format: of(key_format)[-1].loss for key_format in ("bf16", "int4 per token")}
    assert far["int4 per token"] > 10 * far["bf16"]
    before, after = (perplexity(1.9, far[name], 0.002) for name in ("bf16", "int4 per token"))
    assert after / before - 1 < 0.005
    with pytest.raises(ValueError, match="share"):
        perplexity(1, 1, 2)


@given(st.floats(0, 5), st.floats(0, 5), st.floats(0, 1))
def test_a_perplexity_lies_between_those_of_its_parts(near, far, share):
    found = perplexity(near, far, share)
    assert math.exp(min(near, far)) * (1 - 1e-9) <= found <= math.exp(max(near, far)) * (1 + 1e-9)


def test_one_seed_makes_one_haystack():
    assert of("int4 per token", 5, (SHORT,)) == of("int4 per token", 5, (SHORT,))
    assert len(KEY_FORMATS) == 6
    with pytest.raises(ValueError, match="keys"):
        recall("bf16", (), seed=0)
