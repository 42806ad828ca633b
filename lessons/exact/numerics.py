"""Small floating-point formats, exactly: bfloat16 by its bits, float8 as its 256 values, INT4 by scale.

All arrays are numpy's; a rounded array stays float32, each element being a value that the format has. Rounding is to
the nearest value, of two equally near the one with an even last bit. Inputs are float32: a float64 would
have to be rounded twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    type Floats = NDArray[np.float32]
    type Codes = NDArray[np.uint8]

type Float8 = Literal["e4m3", "e5m2"]
SIGN_BIT = 0x80
"""Of a code of 8 bits."""
type Granularity = Literal["tensor", "channel", "token"]
"""What shares a scale in a matrix of shape (tokens, channels): all of it, one column, one row."""


def bfloat16(values: Floats) -> Floats:
    """Return ``values`` rounded to bfloat16: float32's sign and exponent, 8 significant bits. Any shape.

    What lies beyond the largest, 3.39e38, becomes infinite; NaN stays NaN. 10 million values take 0.1 s.
    """
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    # Half of the last place kept, less one if that place is even.
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    found = rounded.view(np.float32)
    return np.where(np.isnan(values), np.float32(np.nan), found)


@dataclass(frozen=True)
class Float8Format:
    """A format of 8 bits: sign, exponent, mantissa."""

    exponent_bits: int
    mantissa_bits: int
    largest: float
    infinite: bool
    """True: it has infinities, and several NaN. False: beyond the largest there is only NaN."""

    @property
    def bias(self) -> int:
        """What is subtracted from a stored exponent."""
        return (1 << (self.exponent_bits - 1)) - 1

    @property
    def smallest(self) -> float:
        """The least value above 0, a subnormal; subnormals are its multiples."""
        return float(2.0 ** (1 - self.bias - self.mantissa_bits))


FLOAT8: dict[Float8, Float8Format] = {
    "e4m3": Float8Format(4, 3, 448.0, infinite=False),
    "e5m2": Float8Format(5, 2, 57_344.0, infinite=True),
}
"""Source: Micikevicius et al. 2022, FP8 formats for deep learning, table 1; e4m3 is torch's float8_e4m3fn."""


@cache
def float8_values(name: Float8) -> Floats:
    """Return the value of each of the 256 codes, shape (256,), read-only; codes of NaN are NaN."""
    found = FLOAT8[name]
    codes = np.arange(256)
    mantissa = codes & ((1 << found.mantissa_bits) - 1)
    exponent = (codes >> found.mantissa_bits) & ((1 << found.exponent_bits) - 1)
    normal = exponent > 0
    significand = mantissa / (1 << found.mantissa_bits) + normal
    values = significand * np.exp2(np.where(normal, exponent, 1) - found.bias)
    top = (1 << found.exponent_bits) - 1
    if found.infinite:
        values = np.where(exponent == top, np.where(mantissa == 0, np.inf, np.nan), values)
    else:
        last = mantissa == (1 << found.mantissa_bits) - 1
        values = np.where((exponent == top) & last, np.nan, values)
    signed = np.where(codes & SIGN_BIT, -values, values).astype(np.float32)
    signed.flags.writeable = False
    return signed


def float8(values: Floats, name: Float8 = "e4m3", *, saturate: bool = True) -> Floats:
    """Return ``values`` rounded to a format of 8 bits. Any shape; 4 million values take 0.1 s.

    With ``saturate``, what lies beyond the largest value becomes the largest: engines clamp before they convert.
    Without, it becomes infinite in e5m2 and NaN in e4m3, once it would round beyond; so does infinity. NaN stays NaN.
    """
    found = FLOAT8[name]
    given = np.asarray(values, dtype=np.float32)
    bits = np.ascontiguousarray(given).view(np.uint32)
    drop = np.uint32(23 - found.mantissa_bits)
    one, keep = np.uint32(1), np.uint32(0xFFFFFFFF)
    half_less = (one << (drop - one)) - one
    normal = ((bits + half_less + ((bits >> drop) & one)) & (keep << drop)).view(np.float32)
    # Below the least normal value the steps are all alike.
    step = np.float32(found.smallest)
    least_normal = np.float32(2.0 ** (1 - found.bias))
    small = np.abs(given) < least_normal
    rounded = np.where(small, np.rint(np.where(small, given, 0) / step) * step, normal)
    rounded = np.where(np.isnan(given), np.float32(np.nan), rounded)
    if saturate:
        largest = np.float32(found.largest)
        return np.minimum(np.maximum(rounded, -largest), largest).astype(np.float32)
    beyond = np.copysign(np.float32(np.inf if found.infinite else np.nan), given)
    return np.where(np.abs(rounded) > found.largest, beyond, rounded).astype(np.float32)


# ---------------------------------------------------------------------------- quantization


def scales(matrix: Floats, largest: float, granularity: Granularity) -> Floats:
    """Return the scale of each group of ``matrix`` (tokens, channels): its greatest magnitude over ``largest``.

    The shape broadcasts to the matrix: (1, 1), (1, channels) or (tokens, 1). A group of zeros has scale 1.
    Raises ValueError for anything but a matrix with elements.
    """
    if matrix.ndim != 2 or not matrix.size:  # noqa: PLR2004  (tokens, channels)
        raise ValueError(f"a matrix of tokens and channels is needed, not shape {matrix.shape}")
    axis = {"tensor": (0, 1), "channel": (0,), "token": (1,)}[granularity]
    greatest = np.abs(matrix).max(axis=axis, keepdims=True)
    return np.where(greatest > 0, greatest / np.float32(largest), np.float32(1)).astype(np.float32)


def through_float8(
    matrix: Floats, granularity: Granularity = "tensor", name: Float8 = "e4m3"
) -> Floats:
    """Return ``matrix`` (tokens, channels) as it comes back from float8 with a scale of its own for each group."""
    scale = scales(matrix, FLOAT8[name].largest, granularity)
    return float8(matrix / scale, name) * scale


INT4_LARGEST = 7
"""Symmetric INT4: whole numbers from -7 to 7; -8 is not used."""


def through_int4(matrix: Floats, granularity: Granularity = "channel") -> Floats:
    """Return ``matrix`` (tokens, channels) as it comes back from symmetric INT4 with a scale for each group."""
    scale = scales(matrix, INT4_LARGEST, granularity)
    return np.clip(np.rint(matrix / scale), -INT4_LARGEST, INT4_LARGEST) * scale


def relative_error(exact: Floats, rounded: Floats) -> float:
    """Return the root mean square of the error over that of the exact values. Raises ValueError if those are all 0."""
    power = float(np.mean(np.square(exact, dtype=np.float64)))
    if power == 0:
        raise ValueError("an error is relative to something")
    difference = exact.astype(np.float64) - rounded
    return float(np.sqrt(np.mean(np.square(difference)) / power))
