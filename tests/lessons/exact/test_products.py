import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons.exact.products import product


@given(st.integers(0, 9), st.integers(1, 200), st.integers(1, 70), st.integers(1, 150))
@settings(max_examples=20, deadline=None)
def test_tiles_make_the_whole_product(seed, rows, depth, columns):
    rng = np.random.Generator(np.random.PCG64(seed))
    left, right = rng.standard_normal((rows, depth)), rng.standard_normal((depth, columns))
    assert product(left, right) == pytest.approx(np.einsum("ik,kj->ij", left, right))


def test_nothing_times_nothing_is_nothing():
    assert product(np.zeros((0, 3)), np.zeros((3, 2))).shape == (0, 2)
    assert not product(np.zeros((2, 0)), np.zeros((0, 2))).any()
