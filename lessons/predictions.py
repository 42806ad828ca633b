"""What the predictions ask, and how each answer is computed. Pure; drives labs.simulator.

A question's ``compute`` is a generator: :class:`~lessons.simulations.Progress` while it runs, and
a :class:`~lessons.reveals.Reveal` at the end. The same code gives the same bytes; :func:`code_version` names it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from courseware.served import remembered, tree
from lessons import (
    figures,
    measuring_reveals,
    playbook_reveals,
    reveals,
    simulated_reveals,
    storm_reveals,
    walked_reveals,
    walking,
    walkthroughs,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lessons.guesses import Axes, Kind
    from lessons.reveals import Reveal
    from lessons.simulations import Steps

CONFIDENCES = (50, 60, 70, 80, 90)
"""Per cent."""


@dataclass(frozen=True)
class Question:
    """Something to predict."""

    key: str
    unit: str
    """Of a number; empty for the other kinds."""
    compute: Callable[[], Steps[Reveal]]
    facts: frozenset[str] = frozenset()
    """Names of the facts that the explanation may use."""
    is_long: bool = False
    """True: a worker computes it, since it takes longer than a page may (0.3 s)."""
    is_charted: bool = False
    """True: its reveal draws a chart."""
    highest: float = 1e9
    whole: bool = False
    kind: Kind = "number"
    options: tuple[str, ...] = ()
    """Keys of what a choice or an order offers: a letter, then letters, digits and hyphens."""
    axes: Axes | None = None
    """Of a sketch."""


_CAP_FACTS = {
    f"{name}_{cap}"
    for name in ("p95", "p95_least", "p95_most", "gap", "preemptions", "kv", "waiting", "rate")
    for cap in (28, 40)
}

_EVICTED_FACTS = {f"blocks_{name}" for name in storm_reveals.STREAMS}

QUESTIONS: Mapping[str, Question] = MappingProxyType(
    {
        question.key: question
        for question in (
            Question(
                "arrivals-implied", "requests a second", reveals.arrivals_implied,
                frozenset({"rate", "sustained", "lifetime", "times"}),
            ),
            Question(
                "clamped-tokens", "tokens", reveals.clamped_tokens,
                frozenset({"status", "room", "asked", "short"}), whole=True,
            ),
            Question(
                "pool-atlas", "tokens", reveals.pool_atlas,
                frozenset({"tokens", "blocks", "decimal", "decimal_off", "sequences", "other"}), whole=True,
            ),
            Question(
                "pool-llama", "tokens", reveals.pool_llama,
                frozenset({"tokens", "blocks", "decimal", "decimal_off", "sequences", "other"}), whole=True,
            ),
            Question(
                "double-arrivals", "times", simulated_reveals.double_arrivals,
                frozenset({"ratio", "low", "high", "low_running", "high_running", "running_ratio"}),
                is_charted=True, highest=1000,
            ),
            Question(
                "cap-28", "seconds", simulated_reveals.cap,
                frozenset({*_CAP_FACTS, "wanted", "wanted_share", "worse", "seeds"}),
                is_long=True, is_charted=True, highest=100_000,
            ),
            Question(
                "drain-30", "per cent", simulated_reveals.drain,
                frozenset({"streams", "done", "cut", "last", "share"}),
                is_charted=True, highest=100,
            ),
            Question(
                "base-rate", "per cent", playbook_reveals.base_rate,
                frozenset({"right", "wrong", "flagged", "share", "twice"}), highest=100,
            ),
            Question(
                "panel-recovers", "minutes", playbook_reveals.panel_recovers,
                frozenset({"waiting", "empty", "recovered", "now", "five", "served"}),
                is_charted=True, highest=1000,
            ),
            Question(
                "profile-left-on", "times", playbook_reveals.profile_left_on,
                frozenset({"at_once", "factor", "before", "after", "few", "many"}),
                is_charted=True, highest=100,
            ),
            Question(
                "pool-tp2", "tokens", playbook_reveals.pool_tp2,
                frozenset({
                    "tokens", "four", "times", "weights", "pool", "kib", "other", "allowed", "sequences",
                }), whole=True,
            ),
            Question(
                "gate-false-alarm", "per cent", playbook_reveals.gate_false_alarm,
                frozenset({"once", "one_in", "five", "spread", "needed"}), highest=100,
            ),
            Question(
                "who-is-evicted", "", storm_reveals.evicted,
                frozenset({*_EVICTED_FACTS, "second", "gap", "recomputed", "came"}),
                kind="choice", options=storm_reveals.STREAMS,
            ),
            Question(
                "graphs-in-order", "", storm_reveals.graphs_in_order,
                frozenset({"running", "kv", "preemptions", "ttft", "seeds", "same", "head_start"}),
                kind="order", options=storm_reveals.GRAPHS,
            ),
            Question(
                "after-the-burst", "", storm_reveals.after_the_burst,
                frozenset({"kv_before", "kv_burst", "waiting", "full_until", "full_after", "times"}),
                kind="sketch", axes=storm_reveals.BURST_AXES,
            ),
            Question(
                "stall-by-schedule", "seconds", measuring_reveals.stall_by_schedule,
                frozenset({
                    "p99", "requests", "late", "share", "longest", "shortest", "beyond",
                    "recorded_late", "recorded_share",
                }),
                highest=1000,
            ),
            Question(
                "streams-with-a-gap", "per cent", measuring_reveals.streams_with_a_gap,
                frozenset({"met", "spared", "mean", "each", "half"}),
                highest=100,
            ),
            Question(
                "walk-cap", "seconds", walked_reveals.capped,
                frozenset({"capped", "page", "untouched", "gap_page", "gap_capped"}),
                is_long=True, highest=100_000,
            ),
            Question(
                "walk-starts", "starts", walked_reveals.starts_after,
                frozenset({"later", "page", "target"}), is_long=True, highest=1000, whole=True,
            ),
            Question(
                "walk-gap", "ms", walked_reveals.tail_after,
                frozenset({"after", "page", "mixed", "gap_after"}), is_long=True, highest=100_000,
            ),
        )
    }
)  # fmt: skip


@remembered
def code_version() -> str:
    """Return a digest of everything that an answer follows from: these modules, worlds, profiles, walkthroughs."""
    here = Path(__file__).parent
    files = [
        *(
            here / name
            for name in (
                "predictions.py",
                "reveals.py",
                "simulated_reveals.py",
                "storm_reveals.py",
                "guesses.py",
                "figures.py",
                "simulations.py",
                "quantities.py",
                "playbook_quantities.py",
                "playbook_reveals.py",
                "measuring_quantities.py",
                "measuring_reveals.py",
                "demos/coordinated_omission.py",
                "walked_reveals.py",
            )
        ),
        *sorted((here / "exact").glob("*.py")),
        *walking.sources(),
        *sorted((tree().lessons / walked_reveals.PLAYBOOK).glob(f"*/{walkthroughs.FILE}")),
    ]
    return walking.digest_of(files)[:16]


def all_computations() -> dict[str, Callable[[], Steps[Any]]]:
    """Return everything that can be computed, by the name under which its answer is kept."""
    found: dict[str, Callable[[], Steps[Any]]] = {
        f"prediction:{key}": question.compute for key, question in QUESTIONS.items()
    }
    for key, figure in figures.FIGURES.items():
        if figure.compute is not None:
            found[f"figure:{key}"] = figure.compute
    return found


def result_of(steps: Steps[Any]) -> Any:
    """Run a computation to its end and return what it computed."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return stop.value
