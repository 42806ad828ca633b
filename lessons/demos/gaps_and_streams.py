"""One share of slow gaps, counted over gaps and over streams: 1 - (1 - q)^n of the streams meet one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from lessons.demos.demo import Demo, Number, Readout, Shown
from lessons.demos.numbers import plain, share, time
from lessons.demos.plots import Rule, Series, lines
from lessons.exact.percentiles import share_that_meets
from lessons.figures import Table

if TYPE_CHECKING:
    from lessons.figures import Plot

NORMAL_MS = 25
"""A gap that is not slow. Scenario constant: a decode step of a 70B under load."""
_P99 = 0.01
_LENGTHS = (1, 10, 50, 100, 200, 500, 1_000, 2_000)


def computed(*, slow_percent: float, slow_ms: int, tokens: int) -> Shown:
    """Return p99 over gaps and over streams, and the share of streams that meet a slow gap."""
    rate = slow_percent / 100
    met = share_that_meets(rate, tokens)
    over_gaps_ms = slow_ms if rate >= _P99 else NORMAL_MS
    over_streams_ms = slow_ms if met >= _P99 else NORMAL_MS
    half = math.log(0.5) / math.log1p(-rate)
    says = (
        f"The p99 over all gaps is {time(over_gaps_ms / 1e3)}, and {share(met)} of the streams have a gap of "
        f"{time(slow_ms / 1e3)}: one gap in {plain(round(1 / rate))} is slow, and an answer has {tokens:,} of them."
    )
    return Shown(
        says=says,
        readouts=(
            Readout("p99 over gaps", f"{over_gaps_ms:,}", "ms", "whosever they are"),
            Readout(
                "p99 over streams", f"{over_streams_ms:,}", "ms", "of each one's longest", "truth"
            ),
            Readout(
                "Streams with one",
                share(met).removesuffix(" %"),
                "%",
                f"half from {plain(math.ceil(half))} tokens on",
            ),
        ),
        plots=(_plot(rate, tokens),),
        table=Table(
            "Streams that meet a slow gap, by length of the answer",
            ("Tokens", "Streams, %"),
            [
                (f"{length:,}", share(share_that_meets(rate, length)).removesuffix(" %"))
                for length in sorted({*_LENGTHS, tokens})
            ],
        ),
        method=(
            f"1 − (1 − q)ⁿ, q the share of slow gaps, n the gaps of an answer; slow gaps fall at random, all others take "
            f"{NORMAL_MS} ms. Gaps that come in clusters hit fewer streams, more often."
        ),
    )


def _plot(rate: float, tokens: int) -> Plot:
    most = max(1_000, tokens)
    lengths = [round(most * n / 50) for n in range(51)]
    met = [100 * share_that_meets(rate, length) for length in lengths]
    return lines(
        "Streams with a slow gap",
        "% of streams",
        f"The share of streams with a slow gap rises from 0 to {met[-1]:.0f} % at {most:,} tokens; "
        f"at {tokens:,} it is {share(share_that_meets(rate, tokens))}.",
        [Series("streams", "c1", lengths, met)],
        x_title="tokens of an answer",
        y_range=(0, 110),
        rules=(
            Rule(tokens, "yours", is_vertical=True),
            Rule(100 * rate, "gaps", colour="edge"),
        ),
    )


DEMO = Demo(
    id="gaps-and-streams",
    title="One slow gap, by gaps and by streams",
    controls=(
        Number("slow_percent", "Slow gaps", "% of gaps", 0.01, 5, 0.01, 0.1),
        Number("slow_ms", "A slow gap takes", "ms", 50, 5_000, 50, 800),
        Number("tokens", "An answer has", "tokens", 1, 2_000, 1, 300),
    ),
    compute=computed,
)
