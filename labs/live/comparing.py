"""A comparison carried out: every run of a scenario on a real engine, and on the simulator with that engine's own step costs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from labs.instruments.signals import quantile
from labs.live import calibration, comparison, driving, iterations, servers
from labs.live.launching import launch_of
from labs.simulator.config import EngineConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from labs.live.boxes import Box
    from labs.live.comparison import Measured, Row, Run, Scenario

READY_WITHIN_S = 180.0
RUN_LIMIT_S = 900.0
AMPLE = EngineConfig(
    num_gpu_blocks=1200,
    max_num_seqs=64,
    max_num_batched_tokens=2048,
    block_size=32,
    max_model_len=1024,
)

type Tell = Callable[[float, str], None]


@dataclass(frozen=True)
class Compared:
    """One run on both backends."""

    run: Run
    fit: calibration.Fit
    """What a step of the live engine costs, as fast as it was right before and right after: a shared machine is not as fast at all times."""
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
    """Return how measured decode steps spread around what was fitted: quantiles of what they took beyond it, ms."""
    shares = {"p5": 0.05, "p50": 0.5, "p95": 0.95, "p99": 0.99, "most": 1.0}
    return {name: round(quantile(jitter, share) or 0.0, 3) for name, share in shares.items()}


def compare(scenario: Scenario, box: Box, *, folder: Path, tell: Tell) -> Comparison:
    """Carry a comparison out: half a minute to fit costs, then each run for as long as it takes, its engine measured on either side.

    Raises EngineError, OtherMetrics, TimeoutError.
    """
    ample = replace(AMPLE, block_size=box.block_size)
    with engine_of(box, ample, folder / "calibration.log", tell) as server:
        shape = calibration.fitted(_measured(server, box, ample, tell))
    found: list[Compared] = []
    for number, run in enumerate(scenario.runs):
        tell(number / len(scenario.runs), f"{run.name}: {run.title}")
        live, fit, met = _live(
            scenario, run, box, folder / f"run-{run.name}.log", shape=shape, tell=tell
        )
        cost = fit.with_jitter(f"{scenario.name}:{run.name}")
        simulated = comparison.simulate(scenario, run, cost, met)
        rows = comparison.rows(scenario, simulated, live)
        found.append(Compared(run, fit, tuple(met), simulated, live, tuple(rows)))
    return Comparison(scenario, tuple(found))


def _live(
    scenario: Scenario,
    run: Run,
    box: Box,
    log_path: Path,
    *,
    shape: calibration.Fit,
    tell: Tell,
) -> tuple[Measured, calibration.Fit, list[int]]:
    with engine_of(box, run.config, log_path, tell) as server:
        before = _measured(server, box, run.config, tell)
        tell(0.5, f"{run.name}: {run.title}")
        seen = log_path.stat().st_size
        drive = driving.drive(
            server.base_url, scenario.fresh(), model=box.served_model_name, limit_s=RUN_LIMIT_S
        )
        with log_path.open("rb") as log:
            log.seek(seen)
            steps = list(iterations.iterations(log.read().decode(errors="replace")))
        after = _measured(server, box, run.config, tell)
    fit = calibration.paced(shape, calibration.joined([before, after]))
    # Of requests that come one by one there are no groups.
    met = comparison.met_by(steps, run, len(scenario.requests)) if scenario.is_exact else []
    return comparison.measured(drive, steps), fit, met


def _measured(
    server: servers.Server, box: Box, config: EngineConfig, tell: Tell
) -> calibration.Seen:
    return calibration.measure(
        server.base_url,
        server.launch.log_path,
        model=box.served_model_name,
        config=config,
        tell=tell,
    )


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
