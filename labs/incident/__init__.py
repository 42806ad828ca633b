"""An incident being handled: a world, the learner's clock, and what has been changed.

``begin`` brings a world to its page; ``perform`` carries one command out on it. Both are pure in the sense that
matters: the same spec, seed and commands give the same outcomes, in any process, so an attempt can be rebuilt
from its log. What the learner does to the world is an **operation** (a plain dict); the twins that marking needs
apply the same operations at their own times.
"""

from labs.incident.changes import (
    CHANGE_VERBS,
    apply,
    carry_out,
    cost_key,
    describe,
    target_of,
    why_not,
    with_flags,
)
from labs.incident.gauges import Gauges, alarm_now, alarm_series, gauges, kept, promises, users_hurt
from labs.incident.pages import at_page, page_bytes, spec_key
from labs.incident.perform import begin, perform, price, waking
from labs.incident.state import Change, Incident, Operation, Outcome, Progress, advance, clock

__all__ = [
    "CHANGE_VERBS",
    "Change",
    "Gauges",
    "Incident",
    "Operation",
    "Outcome",
    "Progress",
    "advance",
    "alarm_now",
    "alarm_series",
    "apply",
    "at_page",
    "begin",
    "carry_out",
    "clock",
    "cost_key",
    "describe",
    "gauges",
    "kept",
    "page_bytes",
    "perform",
    "price",
    "promises",
    "spec_key",
    "target_of",
    "users_hurt",
    "waking",
    "why_not",
    "with_flags",
]
