"""Randomness for exact computations: one generator of numpy for each purpose and seed."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np


def generator(purpose: str, seed: int | str) -> np.random.Generator:
    """Return the stream of random numbers of ``purpose`` for ``seed``; the same in any process.

    PCG64, seeded from a hash of both words that does not depend on the process, as Python's own would.
    """
    digest = blake2b(f"{purpose}:{seed}".encode(), digest_size=16).digest()
    return np.random.Generator(
        np.random.PCG64(np.random.SeedSequence(int.from_bytes(digest, "big")))
    )
