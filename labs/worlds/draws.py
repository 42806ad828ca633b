"""What a seed draws: the nuisances of its worlds, the same in each of them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from labs.specs import Range


class Draws:
    """The nuisances of one seed: each name has a stream of its own, so that adding one changes no other."""

    def __init__(self, slug: str, seed: int) -> None:
        self.seed = seed
        self._key = f"{slug}:{seed}"

    def stream(self, name: str) -> random.Random:
        """Return a stream of randomness that is the name's own."""
        return random.Random(f"draw:{name}:{self._key}")

    def uniform(self, name: str, span: Range) -> float:
        return self.stream(name).uniform(*span)

    def choice[T](self, name: str, values: Sequence[T]) -> T:
        return self.stream(name).choice(values)
