"""The worlds of the lab at their page, simulated once a session and copied for each test."""

import json
import pickle

import pytest

from labs import incident
from labs.catalogue import folder_of, labs

SLUG = "preemption-storm"
SERVED = ("metastable", "demand")


def admitted_seeds(hypothesis):
    """The admitted seeds of a world, in the pool's order."""
    record = json.loads((folder_of(SLUG) / "pool.json").read_text())
    return [each["seed"] for each in record["seeds"] if each["hypothesis"] == hypothesis]


@pytest.fixture(scope="session")
def spec():
    return labs()[SLUG]


@pytest.fixture(scope="session")
def seeds():
    """One admitted seed of each served world."""
    return {name: admitted_seeds(name)[0] for name in SERVED}


@pytest.fixture(scope="session")
def _pages():
    return {}


@pytest.fixture
def at_page(spec, seeds, _pages):
    """A fresh copy of a world at its page: ``at_page("demand")``; "healthy" and the rivals work too."""

    def copy(hypothesis="metastable"):
        if hypothesis not in _pages:
            seed = seeds.get(hypothesis, seeds["metastable"])
            world = incident.begin(spec, seed, hypothesis=hypothesis)
            _pages[hypothesis] = pickle.dumps(world, protocol=pickle.HIGHEST_PROTOCOL)
        return pickle.loads(_pages[hypothesis])  # noqa: S301  (our own bytes)

    return copy
