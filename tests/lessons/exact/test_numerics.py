import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons.exact.numerics import (
    FLOAT8,
    bfloat16,
    float8,
    float8_values,
    relative_error,
    scales,
    through_float8,
    through_int4,
)

FORMATS = ["e4m3", "e5m2"]
floats = st.floats(width=32, allow_nan=False, allow_infinity=False)


def one(value):
    return np.array([value], dtype=np.float32)


def of_bits(bits):
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def nearest_even(value, values):
    """Return the nearest of ``values``, sorted from 0 on; of two equally near the one at an even place."""
    exact, best = abs(Fraction(float(value))), None
    for place, candidate in enumerate(values):
        off = abs(Fraction(float(candidate)) - exact)
        if best is None or off < best[0] or (off == best[0] and place % 2 == 0):
            best = (off, candidate)
    return best[1] * (1 if value >= 0 else -1)


@given(floats)
def test_bfloat16_is_the_nearest_of_its_two_neighbours(value):
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    low, high = bits & 0xFFFF0000, (bits & 0xFFFF0000) + 0x10000
    low_value, high_value = of_bits(low), of_bits(high)
    found = float(bfloat16(one(value))[0])
    if abs(high_value) == float("inf"):
        assert found in {low_value, high_value}
        return
    below = abs(Fraction(value) - Fraction(low_value))
    above = abs(Fraction(high_value) - Fraction(value))
    even = low_value if (low >> 16) % 2 == 0 else high_value
    expected = low_value if below < above else high_value if above < below else even
    assert found == expected


@given(st.lists(floats, max_size=20))
def test_rounding_to_bfloat16_twice_is_rounding_once(values):
    rounded = bfloat16(np.array(values, dtype=np.float32))
    assert bfloat16(rounded).tobytes() == rounded.tobytes()


def test_bfloat16_keeps_what_is_no_number_and_goes_to_infinity():
    found = bfloat16(np.array([np.nan, np.inf, -np.inf, 3.4e38, 257, 259, -0.0], dtype=np.float32))
    assert np.isnan(found[0])
    assert found[1:6].tolist() == [np.inf, -np.inf, np.inf, 256, 260]
    assert np.signbit(found[6])
    # A NaN whose payload is all ones would overflow into a zero if it were only rounded.
    assert np.isnan(bfloat16(np.array([0x7FFFFFFF], dtype=np.uint32).view(np.float32))[0])
    assert np.isnan(float8(np.array([0x7FFFFFFF], dtype=np.uint32).view(np.float32))[0])


@pytest.mark.parametrize("name", FORMATS)
def test_the_largest_and_the_least_are_those_of_the_format(name):
    values = float8_values(name)
    finite = values[np.isfinite(values)]
    assert finite.max() == FLOAT8[name].largest
    assert finite[finite > 0].min() == FLOAT8[name].smallest
    assert np.isnan(values).sum() == {"e4m3": 2, "e5m2": 6}[name]
    assert np.isinf(values).sum() == {"e4m3": 0, "e5m2": 2}[name]


@pytest.mark.parametrize("name", FORMATS)
def test_every_value_of_a_format_rounds_to_itself(name):
    values = float8_values(name)
    finite = values[np.isfinite(values)]
    assert np.array_equal(float8(finite, name), finite)


@pytest.mark.parametrize("name", FORMATS)
def test_halfway_between_two_values_the_even_code_wins(name):
    values = float8_values(name)[:128]
    finite = values[np.isfinite(values)]
    halves = (finite[:-1].astype(np.float64) + finite[1:]) / 2
    even = np.where(np.arange(len(halves)) % 2 == 0, finite[:-1], finite[1:])
    assert np.array_equal(float8(halves.astype(np.float32), name), even)


@pytest.mark.parametrize("name", FORMATS)
@given(
    value=st.one_of(
        st.floats(-500, 500, width=32), st.floats(-0.015625, 0.015625, width=32), floats
    )
)
def test_float8_is_the_nearest_value_and_saturates(name, value):
    values = float8_values(name)[:128]
    finite = [float(v) for v in values if np.isfinite(v)]
    assert float(float8(one(value), name)[0]) == nearest_even(value, finite)


def test_what_is_too_large_is_clamped_or_is_not_a_number():
    large = np.array([448, 463.9, 464, 480, np.inf, -1e9], dtype=np.float32)
    assert float8(large).tolist() == [448, 448, 448, 448, 448, -448]
    # 464 is halfway to the next step, whose code is the one of NaN: the even code below it keeps it.
    raw = float8(large, saturate=False)
    assert raw[:3].tolist() == [448, 448, 448]
    assert np.isnan(raw[3:]).all()
    wide = float8(
        np.array([57_344, 61_439, 61_440, np.nan], dtype=np.float32), "e5m2", saturate=False
    )
    assert wide[:3].tolist() == [57_344, 57_344, np.inf]
    assert np.isnan(wide[3])


def test_a_shared_scale_lets_a_neighbour_change_what_a_row_becomes():
    rng = np.random.Generator(np.random.PCG64(0))
    row = rng.standard_normal((1, 4_096)).astype(np.float32)
    quiet = np.concatenate([row, row])
    loud = quiet.copy()
    loud[1, 0] = 60.0
    together = [through_float8(m, "tensor")[0] for m in (quiet, loud)]
    alone = [through_float8(m, "token")[0] for m in (quiet, loud)]
    assert not np.array_equal(*together)
    assert np.array_equal(*alone)
    # It drifts; it does not get worse.
    errors = [relative_error(row[0], kept) for kept in together]
    assert errors[0] == pytest.approx(errors[1], rel=0.1)
    assert errors[0] == pytest.approx(0.0255, abs=0.002)


def test_a_scale_that_grows_by_a_power_of_two_changes_almost_nothing():
    rng = np.random.Generator(np.random.PCG64(1))
    row = rng.standard_normal((1, 4_096)).astype(np.float32)
    greatest = float(np.abs(row).max())
    drift = []
    for factor in (1.0, 8.0, 7.5):
        loud = np.concatenate([row, np.zeros_like(row)])
        loud[1, 0] = greatest * factor
        drift.append(through_float8(loud, "tensor")[0])
    assert relative_error(drift[0], drift[1]) < 1e-3
    assert relative_error(drift[0], drift[2]) > 1e-2


@given(
    st.sampled_from(["tensor", "channel", "token"]),
    st.integers(1, 6),
    st.integers(1, 6),
    st.integers(0, 99),
)
def test_int4_is_never_off_by_more_than_half_a_step(granularity, tokens, channels, seed):
    rng = np.random.Generator(np.random.PCG64(seed))
    matrix = rng.standard_normal((tokens, channels)).astype(np.float32)
    scale = scales(matrix, 7, granularity)
    kept = through_int4(matrix, granularity)
    assert (np.abs(kept - matrix) <= scale / 2 * 1.0001).all()
    # The greatest of each group comes back.
    assert np.abs(kept).max() == pytest.approx(np.abs(matrix).max(), rel=1e-6)


def test_a_group_of_zeros_stays_zero():
    zeros = np.zeros((2, 3), dtype=np.float32)
    assert not through_int4(zeros, "token").any()
    assert not through_float8(zeros, "channel").any()


def test_what_is_no_matrix_is_refused():
    with pytest.raises(ValueError, match="matrix"):
        scales(np.zeros(3, dtype=np.float32), 7, "token")
    with pytest.raises(ValueError, match="relative"):
        relative_error(np.zeros(2, dtype=np.float32), np.ones(2, dtype=np.float32))
