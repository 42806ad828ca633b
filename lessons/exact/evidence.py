"""What a reading is worth: from the odds of suspects before it to the odds after it, and bits a minute."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

type Shares = Mapping[str, float]
"""A name -> a probability."""


def doubt(shares: Shares) -> float:
    """Return the entropy of a distribution over suspects, bits: 1 for two that are equally likely.

    Raises ValueError if the shares do not add up to 1 or one is negative.
    """
    if abs(math.fsum(shares.values()) - 1) > 1e-9 or min(shares.values()) < 0:  # noqa: PLR2004  (rounding)
        raise ValueError(f"shares add up to 1 and none is negative: {dict(shares)}")
    return -math.fsum(share * math.log2(share) for share in shares.values() if share)


def after(prior: Shares, likelihood: Shares) -> dict[str, float]:
    """Return the shares after a reading that each suspect would have given with ``likelihood``: Bayes' rule.

    Raises ValueError if no suspect could have given it.
    """
    joint = {name: share * likelihood[name] for name, share in prior.items()}
    whole = math.fsum(joint.values())
    if whole <= 0:
        raise ValueError("no suspect gives this reading: one is missing from the list")
    return {name: value / whole for name, value in joint.items()}


def worth(prior: Shares, positive: Shares) -> float:
    """Return the doubt that a reading with two outcomes takes away on average, bits (the mutual information).

    ``positive`` is how often each suspect gives the first outcome; the other has the rest.
    """
    found = doubt(prior)
    for likelihood in (positive, {name: 1 - share for name, share in positive.items()}):
        chance = math.fsum(prior[name] * likelihood[name] for name in prior)
        if chance > 0:
            found -= chance * doubt(after(prior, likelihood))
    return max(0.0, found)


def worth_a_minute(prior: Shares, positive: Shares, *, cost_s: float) -> float:
    """Return :func:`worth` over the minutes that the reading takes, bits a minute. Raises ValueError for no time."""
    if cost_s <= 0:
        raise ValueError(f"a reading takes time, not {cost_s} s")
    return worth(prior, positive) * 60 / cost_s
