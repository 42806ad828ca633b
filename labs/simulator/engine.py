"""The engine: a scheduler, a clock and a cost model (signatures first; the body follows)."""

from collections.abc import Callable

from labs.simulator.cost_model import CostModel
from labs.simulator.request import Request
from labs.simulator.scheduler import EngineConfig
from labs.simulator.telemetry import Sample, StepRecord


class Engine:
    """One model replica. Picklable; deterministic; advanced in simulated seconds."""

    samples: list[Sample]
    requests: list[Request]
    config: EngineConfig
    cost: CostModel
    now_s: float
    slowdown: float
    waiting: tuple[Request, ...]
    running: tuple[Request, ...]
    num_free_blocks: int
    num_used_blocks: int
    num_leaked_blocks: int
    kv_cache_usage_perc: float
    on_step: Callable[[StepRecord], None] | None

    def __init__(
        self,
        config: EngineConfig,
        cost: CostModel,
        *,
        start_s: float = 0.0,
        sample_every_s: float = 5.0,
        closed_form: bool = True,
    ) -> None: ...

    def submit(self, request: Request) -> None: ...
    def advance(self, until_s: float) -> None: ...
    def restart(self, config: EngineConfig, cost: CostModel, *, down_s: float) -> None: ...
    def abort(self, request: Request) -> None: ...
    def leak(self, n_blocks: int) -> int: ...
    def set_cost(self, cost: CostModel) -> None: ...
