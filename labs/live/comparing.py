"""A comparison carried out: every run of a scenario on a real engine, and on the simulator with that engine's own step costs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from labs.instruments.signals import quantile
from labs.live import calibration, comparison, driving, iterations, servers
from labs.live.launching import launch_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from labs.live.boxes import Box
    from labs.live.comparison import Measured, Row, Run, Scenario
    from labs.simulator.config import EngineConfig

READY_WITHIN_S = 180.0
RUN_LIMIT_S = 900.0
type Tell = Callable[[float, str], None]


@dataclass(frozen=True)
class Compared:
    """One run on both backends."""

    run: Run
    fit: calibration.Fit
    """What a step of the live engine costs, measured on it right before and right after: a shared machine is not as fast at all times."""
    met: tuple[int, ...]
    """How many of a burst each of its first steps met, in the simulator too."""
    simulated: Measured
    live: Measured
    rows: tuple[Row, ...]

    @property
    def holds(self) -> bool:
        return all(each.holds for each in self.rows)


@dataclass(frozen=True)
class Comparison:
    """A scenario on both backends."""

    scenario: Scenario
    runs: tuple[Compared, ...]

    def told(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "scenario": self.scenario.name,
            "title": self.scenario.title,
            "runs": [
                {
                    "name": each.run.name,
                    "title": each.run.title,
                    "fit": {**asdict(each.fit), "jitter": spread_of(each.fit.jitter)},
                    "met": list(each.met),
                    "holds": each.holds,
                    "rows": [
                        {**asdict(row), "apart": row.apart, "holds": row.holds} for row in each.rows
                    ],
                }
                for each in self.runs
            ],
        }


def spread_of(jitter: Sequence[float]) -> dict[str, float]:
    """Return how measured decode steps spread around what was fitted: quantiles of their ratio."""
    shares = {"p5": 0.05, "p50": 0.5, "p95": 0.95, "p99": 0.99, "most": 1.0}
    return {name: round(quantile(jitter, share) or 0.0, 3) for name, share in shares.items()}


def compare(scenario: Scenario, box: Box, *, folder: Path, tell: Tell) -> Comparison:
    """Carry a comparison out: each run for as long as it takes, and half a minute of calibration on either side.

    Raises EngineError, OtherMetrics, TimeoutError.
    """
    found: list[Compared] = []
    for number, run in enumerate(scenario.runs):
        tell(number / len(scenario.runs), f"{run.name}: {run.title}")
        live, fit, met = _live(scenario, run, box, folder / f"run-{run.name}.log", tell)
        cost = fit.with_jitter(f"{scenario.name}:{run.name}")
        simulated = comparison.simulate(scenario, run, cost, met if scenario.is_exact else ())
        rows = comparison.rows(scenario, simulated, live)
        found.append(Compared(run, fit, tuple(met), simulated, live, tuple(rows)))
    return Comparison(scenario, tuple(found))


def _live(
    scenario: Scenario, run: Run, box: Box, log_path: Path, tell: Tell
) -> tuple[Measured, calibration.Fit, list[int]]:
    with engine_of(box, run.config, log_path, tell) as server:

        def calibrated() -> calibration.Seen:
            return calibration.measure(
                server.base_url, log_path, model=box.served_model_name, config=run.config, tell=tell
            )

        before = calibrated()
        tell(0.5, f"{run.name}: {run.title}")
        seen = log_path.stat().st_size
        drive = driving.drive(
            server.base_url, scenario.fresh(), model=box.served_model_name, limit_s=RUN_LIMIT_S
        )
        with log_path.open("rb") as log:
            log.seek(seen)
            steps = list(iterations.iterations(log.read().decode(errors="replace")))
        fit = calibration.fitted(calibration.joined([before, calibrated()]))
    met = comparison.met_by(steps, run, len(scenario.requests))
    return comparison.measured(drive, steps), fit, met


@contextmanager
def engine_of(
    box: Box, config: EngineConfig, log_path: Path, tell: Tell
) -> Iterator[servers.Server]:
    """Start an engine that logs its iterations, wait until it answers, and stop it at the end. Raises EngineError."""
    launch = launch_of(
        box,
        config,
        port=servers.free_port(),
        log_path=log_path,
        flags=[iterations.FLAG],
    )
    server = servers.start(launch)
    try:
        servers.wait_ready(server, within_s=READY_WITHIN_S, tell=tell)
        yield server
    finally:
        servers.stop(server)
