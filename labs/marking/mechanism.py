"""Mechanism (25 points): the one statement chosen, and the number asked with it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from labs.marking.constants import NEAR_MISS, STATEMENT_SHARE, WEIGHTS
from labs.marking.parts import Part, made_part


@dataclass(frozen=True, slots=True)
class Parameter:
    """The number that goes with a statement, as the world has it."""

    name: str
    unit: str
    truth: float
    """x₀, computed from the world over the window."""
    tolerance: float
    """Relative, as 0.1 for ±10 %, or in the parameter's unit if ``absolute``."""
    absolute: bool = False
    """Signed quantities and those that can be 0 declare an absolute tolerance."""

    def __post_init__(self) -> None:
        if not self.tolerance > 0 or not math.isfinite(self.tolerance):
            raise ValueError(f"{self.name}: the tolerance must be above 0: {self.tolerance}")
        if not math.isfinite(self.truth) or (not self.absolute and self.truth <= 0):
            raise ValueError(f"{self.name}: {self.truth} needs an absolute tolerance")


def parameter_share(parameter: Parameter, answer: float | None) -> float:
    """Return p: 1 to an error e of one tolerance, 2 − e to two, then 0.

    e = |ln(x/x₀)| / ln(1 + tol), or |x − x₀| / tol if absolute. No number, an infinite one,
    and one of 0 or below under a relative tolerance earn 0.
    """
    if answer is None or not math.isfinite(answer):
        return 0.0
    if parameter.absolute:
        error = abs(answer - parameter.truth) / parameter.tolerance
    elif answer <= 0:
        return 0.0
    else:
        error = abs(math.log(answer / parameter.truth)) / math.log1p(parameter.tolerance)
    return min(1.0, max(0.0, 2 - error))


def mechanism_credit(credit_of: Mapping[str, float], chosen: str | None) -> float:
    """Return the author's credit for a statement: 1 if accepted, at most ½ if near, else 0.

    Raises ValueError for a credit that is neither 1 nor between 0 and ½.
    """
    for name, credit in credit_of.items():
        if credit != 1 and not 0 <= credit <= NEAR_MISS:
            raise ValueError(
                f"statement {name}: a credit is 1 or at most {NEAR_MISS}, not {credit}"
            )
    return float(credit_of.get(chosen, 0.0)) if chosen is not None else 0.0


def mechanism_part(
    credit: float, *, parameter: Parameter | None = None, answer: float | None = None
) -> Part:
    """Return 25 · c, or with a parameter 25 · (0.7c + 0.3p) where p counts only if c = 1."""
    share, right = credit, 0.0
    if parameter is not None:
        right = parameter_share(parameter, answer) if credit == 1 else 0.0
        share = STATEMENT_SHARE * credit + (1 - STATEMENT_SHARE) * right
    if credit == 1:
        reason = "The statement you chose is what happens here."
    elif credit > 0:
        reason = f"The statement you chose is near: it earns {credit:.2f} of 1."
    else:
        reason = "The statement you chose is not what happens here."
    if parameter is not None and credit == 1:
        reason += _parameter_reason(parameter, answer, right)
    details = {
        "credit": credit,
        "parameter": right if parameter is not None else None,
        "answer": answer if answer is not None and math.isfinite(answer) else None,
        "truth": parameter.truth if parameter is not None else None,
    }
    return made_part("mechanism", WEIGHTS["mechanism"] * share, reason, details)


def _parameter_reason(parameter: Parameter, answer: float | None, right: float) -> str:
    unit = f" {parameter.unit}" if parameter.unit else ""
    truth = f"{parameter.name} is {parameter.truth:.3g}{unit}"
    if answer is None or not math.isfinite(answer):
        return f" You gave no number; {truth}."
    return f" You gave {answer:.3g}{unit}; {truth}, and yours earns {right:.2f} of 1."
