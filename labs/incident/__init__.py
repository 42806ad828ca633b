"""An incident being handled: a world, the learner's clock, and what has been changed.

``begin`` brings a world to its page; ``perform`` carries one command out on it. Both are pure in the sense that
matters: the same spec, seed and commands give the same outcomes, in any process, so an attempt can be rebuilt
from its log. What the learner does to the world is an **operation** (a plain dict); the twins that marking needs
apply the same operations at their own times.
"""

from labs.incident.changes import CHANGE_VERBS, apply, carry_out, describe, why_not, with_flags
from labs.incident.gauges import Gauges, gap_now, gauges, ttft_series, users_hurt, verification
from labs.incident.perform import VERIFY_S, begin, perform, price
from labs.incident.state import Change, Incident, Operation, Outcome, Progress, advance, clock

__all__ = [
    "CHANGE_VERBS",
    "VERIFY_S",
    "Change",
    "Gauges",
    "Incident",
    "Operation",
    "Outcome",
    "Progress",
    "advance",
    "apply",
    "begin",
    "carry_out",
    "clock",
    "describe",
    "gap_now",
    "gauges",
    "perform",
    "price",
    "ttft_series",
    "users_hurt",
    "verification",
    "why_not",
    "with_flags",
]
