"""A comparison carried out: a short calibration, then every run of a scenario on the simulator and on a real engine."""

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

AMPLE_BLOCKS = 1200
READY_WITHIN_S = 180.0
RUN_LIMIT_S = 900.0
_CALIBRATED = EngineConfig(
    num_gpu_blocks=AMPLE_BLOCKS,
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
    simulated: Measured
    live: Measured
    rows: tuple[Row, ...]

    @property
    def holds(self) -> bool:
        return all(each.holds for each in self.rows)


@dataclass(frozen=True)
class Comparison:
    """A scenario on both backends, with the costs that the simulator was given."""

    scenario: Scenario
    fit: calibration.Fit
    runs: tuple[Compared, ...]

    def told(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {
            "scenario": self.scenario.name,
            "title": self.scenario.title,
            "fit": {**asdict(self.fit), "jitter": spread_of(self.fit.jitter)},
            "runs": [
                {
                    "name": each.run.name,
                    "title": each.run.title,
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
    """Carry a comparison out: about a minute to calibrate, then each run for as long as it takes.

    Raises EngineError, OtherMetrics, TimeoutError.
    """
    config = replace(_CALIBRATED, block_size=box.block_size)
    with _engine(box, config, folder / "calibration.log", tell) as server:
        fit = calibration.calibrate(
            server.base_url, server.launch.log_path, model=box.served_model_name, tell=tell
        )
    found: list[Compared] = []
    for number, run in enumerate(scenario.runs):
        tell(number / len(scenario.runs), f"{run.name}: {run.title}")
        cost = fit.with_jitter(f"{scenario.name}:{run.name}")
        simulated = comparison.simulate(scenario, run, cost)
        live = _live(scenario, run, box, folder / f"run-{run.name}.log", tell)
        found.append(
            Compared(run, simulated, live, tuple(comparison.rows(scenario, simulated, live)))
        )
    return Comparison(scenario, fit, tuple(found))


def _live(scenario: Scenario, run: Run, box: Box, log_path: Path, tell: Tell) -> Measured:
    with _engine(box, run.config, log_path, tell) as server:
        seen = log_path.stat().st_size
        drive = driving.drive(
            server.base_url, scenario.fresh(), model=box.served_model_name, limit_s=RUN_LIMIT_S
        )
        with log_path.open("rb") as log:
            log.seek(seen)
            steps = list(iterations.iterations(log.read().decode(errors="replace")))
    return comparison.measured(drive, steps)


@contextmanager
def _engine(box: Box, config: EngineConfig, log_path: Path, tell: Tell) -> Iterator[servers.Server]:
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
