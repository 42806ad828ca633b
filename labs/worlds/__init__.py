"""A lab's world: (spec, hypothesis, seed) gives a cluster, and the parameters that the seed drew for it."""

from labs.worlds.build import HEALTHY, Real, World, build, full_pool_step_s, hypothesis_of
from labs.worlds.fleet import Fleet
from labs.worlds.traffic import arrival_rate

__all__ = [
    "HEALTHY",
    "Fleet",
    "Real",
    "World",
    "arrival_rate",
    "build",
    "full_pool_step_s",
    "hypothesis_of",
]
