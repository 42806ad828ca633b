"""Every number that the specification of marks fixes. Nothing else in the room holds one.

Seconds are incident seconds, bits are log base 2, shares are 0 to 1, weights are points.
"""

from __future__ import annotations

from typing import Final

# Worlds and priors.

HEALTHY: Final = "healthy"
"""Name of the world in which the alarm is false."""

HEALTHY_PRIOR: Final = 0.2
"""Share of the prior that a healthy hypothesis gets if the author states none."""

TABLE_SEEDS: Final = 40
"""Seeds a world has in a published lab's information table."""

DRAFT_SEEDS: Final = 20
"""Seeds a world has in a draft's table."""

DEFAULT_GRID_S: Final = (0, 300, 600, 1200)
"""Grid times of a table, in seconds after the page."""

# The estimator.

LARGEST_SET: Final = 3
"""Most signals in a set whose information is estimated, and most instruments in a best set."""

BANDWIDTH_FACTOR: Final = 1.06
"""Silverman's factor: bandwidth of a normal kernel in units of the standard deviation."""

UNEQUAL_KERNEL: Final = 0.05
"""Vote of a run whose category differs from the reading's, or where one of the two is absent."""

PRIOR_MIX: Final = 0.02
"""Epsilon: share of the prior mixed into every posterior, so that no world is ever ruled out."""

CONFIDENCE_QUANTILE: Final = 0.975
"""Quantile of Student's t behind every half width: a two-sided 95 % interval."""

COUNTED_BITS: Final = 0.10
"""An estimate below this many bits counts as no information."""

ATTENTION_S: Final = 15
"""Seconds that reading one distinct signal is worth. Never charged to the clock."""

# Economy.

NEAR_BEST: Final = 0.8
"""Share of the best value per minute that earns the whole of F."""

TOLD_SHARE: Final = 0.9
"""Share of what the reference's readings tell of a pair that earns the whole of that rival."""

BUDGET_FACTOR: Final = 3
"""Default budget, in units of the dearest reference play's seconds."""

FALSE_FIX_SHARE: Final = 0.25
"""Share of the economy part that one false fix costs."""

MOVES_RHO: Final = 0.1
"""A change that improves the mean restored share by less than this did nothing."""

WASTE_SHARE: Final = 0.95
"""The cheapest readings with this share of the information are what the rest is waste against."""

# Scope and localisation.

SCOPE_RIGHT: Final = 6
"""Points for saying rightly that there is a fault."""

SCOPE_SLOS: Final = 4
"""Points for naming the service-level objectives that are hurt."""

NEARNESS: Final = (1.0, 0.5, 0.25)
"""Kappa: credit of a name 0, 1 and 2 hops from the truth. Farther or unconnected earns 0."""

MOST_NAMES: Final = 3
"""More names than this earn nothing."""

# Mechanism.

STATEMENT_SHARE: Final = 0.7
"""Share of the mechanism part that the statement earns where a parameter is asked for too."""

NEAR_MISS: Final = 0.5
"""Most credit of a statement that is near without being accepted."""

# Evidence.

MOST_CITATIONS: Final = 6
"""More citations than this earn nothing."""

SHOWS_LEVEL: Final = 0.05
"""Largest p value, against the healthy runs, of a reading that shows something."""

RULES_OUT_BITS: Final = 2.0
"""Least log likelihood ratio, truth over rival, of a reading that rules the rival out."""

NO_CAUSE_SHARE: Final = 0.4
"""Most of the evidence part that is earned without a cause link and half the mechanism."""

CAUSE_CREDIT: Final = 0.5
"""Least mechanism credit with which a cause link counts as one."""

# Mitigation.

WORST_OCTAVES: Final = 8.0
"""Octaves over its limit beyond which a request cannot be worse off."""

RHO_RANGE: Final = (-0.5, 1.0)
"""Bounds of the restored share of one objective."""

COLLATERAL_FACTOR: Final = 5.0
"""Excess collateral times this is the share of the part that is lost."""

COLLATERAL_ALLOWANCE: Final = 0.02
"""Collateral over the untouched world that is forgiven."""

IDLE_SHARE: Final = 0.1
"""Share of the part that one idle change costs."""

IDLE_FLOOR: Final = 0.5
"""Idle changes never cost more than down to this share."""

PARTIAL_SHARE: Final = 0.5
"""Most of the part that is earned while the cause stands or an objective is missed."""

MOST_CHANGES_RERUN: Final = 4
"""Distinct changes still in force that are re-run alone and left out."""

WINDOW_PARTS: Final = 3
"""Equal parts of the window, in each of which every objective must hold."""

WINDOW_FLOOR_S: Final = 900
"""Shortest window over which a mitigation is judged."""

WINDOW_LIFETIMES: Final = 5
"""Request lifetimes that the window holds at least."""

WINDOW_PERIODS: Final = 2
"""Fault periods that the window holds at least."""

# Healthy controls.

LOOKED_ENOUGH: Final = 0.8
"""R at which silence earns all that silence can earn."""

HEALTHY_CHANGE_SHARE: Final = {"none": 1.0, "reverted": 0.5, "left": 0.25, "more": 0.0}
"""Share of a healthy control's mitigation part by what was changed."""

# Parts and total.

WEIGHTS: Final = {
    "scope": 10,
    "localisation": 20,
    "mechanism": 25,
    "evidence": 15,
    "mitigation": 20,
    "economy": 10,
}
"""Points of each part, in the order of the page."""

PASS_TOTAL: Final = 70
"""Least total of a pass."""

PASS_HALVES: Final = ("mechanism", "mitigation", "evidence")
"""Parts of which a pass needs at least half each."""

ATTEMPT_WEIGHTS: Final = (1.0, 0.9, 0.8, 0.7)
"""What an improvement is worth at the first attempt, the second, … The last weight goes on."""

# Predictions, which never enter a mark.

CONFIDENCE_LEVELS: Final = (50, 70, 90)
"""Percentages that a learner may give a prediction."""

HIT_FACTOR: Final = 1.25
"""A value within this factor of the truth, either way, is a hit."""

RANGE_PENALTY: Final = 10.0
"""Score per octave by which the truth lies outside an 80 % range: 2 / (1 - 0.8)."""

WILSON_QUANTILE: Final = 0.95
"""Quantile of the normal behind the 90 % interval of a calibration level."""

STRIP_LEVEL_MINIMUM: Final = 5
"""A level with fewer predictions shows dots and no interval."""

STRIP_MINIMUM: Final = 20
"""Predictions in all before the strip, or a word, is shown."""

WORD_Z: Final = 1.96
"""Standard errors by which confidence must exceed hits before a word says so."""

BAND_TOPS: Final = (39.0, 54.0, 69.0, 84.0, 100.0)
"""Upper end of each band in which two graders' marks are compared."""
