"""An engine's start on its GPUs: the phases in order, how long each takes, what it logs, and where it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labs.simulator.memory import messages
from labs.simulator.memory.ledger import (
    H100_SXM,
    Device,
    MemoryFlags,
    ModelShape,
    capture_sizes,
    ledger,
)
from labs.simulator.memory.messages import LogLine
from labs.simulator.memory.phases import (
    CAPTURE_S_EACH,
    COMPILE_CACHED_S,
    COMPILE_COLD_S,
    KV_SIZING_S,
    PROFILE_S,
    WARM_UP_S,
    WEIGHTS_GB_PER_S,
    Failure,
    Phase,
    StartUp,
)
from labs.simulator.memory.tensors import first_tensor_beyond, pages

if TYPE_CHECKING:
    from labs.simulator.memory.phases import Others, PhaseName


def start_up(
    shape: ModelShape,
    flags: MemoryFlags,
    device: Device = H100_SXM,
    *,
    others: Others = (),
    others_later: Others | None = None,
    compiled: bool = True,
    gpus: tuple[int, ...] | None = None,
) -> StartUp:
    """Start an engine on ``flags.tensor_parallel_size`` GPUs that ``others`` share, and return how it goes.

    ``others_later`` are those that hold memory once the pool has been sized (None: the same).
    ``gpus`` are the indices that messages name (None: 0, 1, ...). The slowest rank sets the time; the first one
    that fails ends it, and its message is the one that vLLM or torch would write.
    """
    start = _Start(shape, flags, device, others=others, others_later=others_later, gpus=gpus)
    return start.run(compiled=compiled)


class _Start:
    """A start under way: the clock, the phases and lines so far."""

    def __init__(
        self,
        shape: ModelShape,
        flags: MemoryFlags,
        device: Device,
        *,
        others: Others,
        others_later: Others | None,
        gpus: tuple[int, ...] | None,
    ) -> None:
        self.shape, self.flags, self.device = shape, flags, device
        self.ranks = range(flags.tensor_parallel_size)
        self.others = others
        self.others_later = others if others_later is None else others_later
        self.gpus = gpus or tuple(self.ranks)
        self.sums = ledger(shape, flags, device)
        self.now_s = 0.0
        self.phases: list[Phase] = []
        self.lines: list[LogLine] = []

    def run(self, *, compiled: bool) -> StartUp:
        failure = self._phases(compiled=compiled)
        if failure is not None:
            self._say(
                f"Worker_TP{failure.rank}",
                "ERROR",
                "multiproc_executor.py:953",
                f"{failure.error}: {failure.message}",
            )
            self._say(
                "APIServer",
                "ERROR",
                "utils.py:1431",
                "RuntimeError: Engine core initialization failed. See root cause above. "
                "Failed core proc(s): {'EngineCore': 1}",
            )
        return StartUp(
            ledger=self.sums,
            phases=tuple(self.phases),
            lines=tuple(self.lines),
            ready_after_s=self.now_s if failure is None else None,
            failure=failure,
        )

    def _phases(self, *, compiled: bool) -> Failure | None:
        return (
            self._device()
            or self._weights()
            or self._profile(COMPILE_CACHED_S if compiled else COMPILE_COLD_S)
            or self._kv()
            or self._graphs()
            or self._warm_up()
        )

    def _spend(self, name: PhaseName, seconds: float) -> None:
        self.phases.append(Phase(name, self.now_s, self.now_s + seconds))
        self.now_s += seconds

    def _say(self, who: str, level: str, source: str, text: str) -> None:
        self.lines.append(LogLine(self.now_s, who, level, source, text))

    def _held(self, rank: int, others: Others) -> int:
        return sum(other.n_bytes for other in others[rank]) if rank < len(others) else 0

    def _fail(self, phase: PhaseName, rank: int, message: str) -> Failure:
        return Failure(phase, rank, "ValueError", message, self.now_s)

    def _out_of_memory(
        self, phase: PhaseName, rank: int, *, tried: int, allocated: int, others: Others
    ) -> Failure:
        in_use = allocated + self.sums.cuda_context + self.sums.nccl
        message = messages.cuda_out_of_memory(
            tried=tried,
            gpu=self.gpus[rank],
            capacity=self.device.usable_bytes,
            free=self.device.usable_bytes - in_use - self._held(rank, others),
            in_use=in_use,
            allocated=allocated,
            reserved=allocated,
            others=others[rank] if rank < len(others) else (),
        )
        return Failure(phase, rank, "torch.OutOfMemoryError", message, self.now_s)

    def _device(self) -> Failure | None:
        self._say(
            "EngineCore",
            "INFO",
            "core.py:133",
            f"Initializing a V1 LLM engine (v0.32.0) with config: model='{self.shape.name}', "
            f"max_seq_len={self.flags.max_model_len}, tensor_parallel_size={self.flags.tensor_parallel_size}, "
            f"quantization={self.flags.quantization}, enforce_eager={self.flags.enforce_eager}, "
            f"kv_cache_dtype={self.flags.kv_cache_dtype}",
        )
        self._spend("device init", self.device.init_s)
        for rank in self.ranks:
            self._say(
                f"Worker_TP{rank}",
                "INFO",
                "parallel_state.py:2350",
                f"rank {rank} in world size {len(self.ranks)} is assigned as DP rank 0, PP rank 0, PCP rank 0, "
                f"TP rank {rank}, ETP rank {rank}, EP rank N/A, EPLB rank N/A",
            )
        self._spend("memory check", 0.0)
        for rank in self.ranks:
            free = self.device.usable_bytes - self.sums.cuda_context - self._held(rank, self.others)
            if free < self.sums.requested:
                text = messages.free_memory_on_device(
                    gpu=self.gpus[rank],
                    free=free,
                    total=self.device.usable_bytes,
                    utilization=self.flags.gpu_memory_utilization,
                    requested=self.sums.requested,
                )
                return self._fail("memory check", rank, text)
        return None

    def _weights(self) -> Failure | None:
        self._say(
            "Worker_TP0",
            "INFO",
            "",
            f"Starting to load model {self.shape.name}...",
        )
        outside = self.sums.cuda_context + self.sums.nccl
        for rank in self.ranks:
            room = self.device.usable_bytes - outside - self._held(rank, self.others)
            if self.sums.weights > room:
                # Parameters are made before a byte is read from disk: this fails at once.
                self._spend("weight load", 1.0)
                allocated, tried = first_tensor_beyond(self.shape, self.flags, room)
                return self._out_of_memory(
                    "weight load", rank, tried=tried, allocated=allocated, others=self.others
                )
        reading_s = len(self.ranks) * self.sums.weights / (WEIGHTS_GB_PER_S * 1e9)
        self._spend("weight load", reading_s)
        self._say(
            "Worker_TP0",
            "INFO",
            "",
            f"Loading weights took {reading_s:.2f} seconds",
        )
        self._say(
            "Worker_TP0",
            "INFO",
            "",
            f"Model loading took {messages.gib(self.sums.weights)} GiB memory and {reading_s + 0.6:.6f} seconds",
        )
        return None

    def _profile(self, compile_s: float) -> Failure | None:
        sums, flags = self.sums, self.flags
        if flags.enforce_eager:
            self._say(
                "EngineCore",
                "WARNING",
                "vllm.py:1703",
                "Enforce eager set, disabling torch.compile, CUDAGraphs, and JIT kernel warmup.",
            )
        compile_s = 0.0 if flags.enforce_eager else compile_s
        self._spend("profile", compile_s + PROFILE_S)
        needed = sums.weights + sums.activation_peak + sums.workspace
        for rank in self.ranks:
            room = self.device.usable_bytes - sums.cuda_context - sums.nccl
            if needed > room - self._held(rank, self.others):
                rows = min(flags.max_num_seqs, flags.max_num_batched_tokens)
                return self._out_of_memory(
                    "profile",
                    rank,
                    tried=pages(rows * self.shape.vocab * 8),
                    allocated=sums.weights + sums.workspace,
                    others=self.others,
                )
        if compile_s:
            self._say(
                "Worker_TP0",
                "INFO",
                "",
                f"torch.compile took {compile_s:.2f} s in total",
            )
        self._say(
            "Worker_TP0",
            "INFO",
            "",
            f"Initial profiling/warmup run took {PROFILE_S:.2f} s",
        )
        if sums.graphs_estimate:
            self._say(
                "Worker_TP0",
                "INFO",
                "",
                f"Estimated CUDA graph memory: {messages.gib(sums.graphs_estimate)} GiB total",
            )
        return None

    def _kv(self) -> Failure | None:
        sums, flags = self.sums, self.flags
        self._spend("kv sizing", KV_SIZING_S)
        self._say(
            "Worker_TP0",
            "INFO",
            "",
            f"Available KV cache memory: {messages.gib(sums.available_kv)} GiB",
        )
        if sums.available_kv <= 0:
            return self._fail("kv sizing", 0, messages.no_available_memory())
        if flags.num_gpu_blocks_override is not None:
            computed = sums.available_kv // (sums.kv_bytes_per_token * sums.block_size)
            self._say(
                "EngineCore",
                "INFO",
                "",
                f"Overriding num_gpu_blocks={computed} with num_gpu_blocks_override={flags.num_gpu_blocks_override}",
            )
        block = sums.kv_bytes_per_token * sums.block_size
        needed = -(-flags.max_model_len // sums.block_size) * block
        available = max(sums.kv_cache, 0)
        if needed > available:
            text = messages.to_serve_at_least_one(
                max_model_len=flags.max_model_len,
                needed=needed,
                available=available,
                estimated_len=available // block * sums.block_size,
            )
            return self._fail("kv sizing", 0, text)
        self._say(
            "EngineCore",
            "INFO",
            "kv_cache_utils.py:2327",
            f"GPU KV cache size: {sums.kv_tokens:,} tokens, Maximum concurrency for {flags.max_model_len:,} tokens "
            f"per request: {sums.kv_tokens / flags.max_model_len:.2f}x",
        )
        return None

    def _graphs(self) -> Failure | None:
        sums = self.sums
        sizes = len(capture_sizes(self.flags))
        took_s = CAPTURE_S_EACH * sizes
        self._spend("graph capture", took_s)
        before = sums.weights + sums.kv_cache + sums.workspace
        for rank in self.ranks:
            room = self.device.usable_bytes - sums.cuda_context - sums.nccl - before
            room -= self._held(rank, self.others_later)
            if sums.cuda_graphs + sums.activation_peak > room:
                return self._out_of_memory(
                    "graph capture",
                    rank,
                    tried=pages(max(sums.cuda_graphs // max(1, sizes), sums.activation_peak // 4)),
                    allocated=before + min(sums.cuda_graphs, max(0, room)),
                    others=self.others_later,
                )
        if not sizes:
            return None
        self._say(
            "Worker_TP0",
            "INFO",
            "",
            f"Graph capturing finished in {took_s:.0f} secs, took {messages.gib(sums.cuda_graphs)} GiB",
        )
        off = abs(sums.cuda_graphs - sums.graphs_estimate)
        self._say(
            "Worker_TP0",
            "INFO",
            "",
            f"CUDA graph pool memory: {messages.gib(sums.cuda_graphs)} GiB (actual), "
            f"{messages.gib(sums.graphs_estimate)} GiB (estimated), difference: {messages.gib(off)} GiB "
            f"({100 * off / max(sums.cuda_graphs, 1):.1f}%).",
        )
        return None

    def _warm_up(self) -> Failure | None:
        sums = self.sums
        self._spend("warm-up", WARM_UP_S)
        for rank in self.ranks:
            if sums.free < self._held(rank, self.others_later):
                return self._out_of_memory(
                    "warm-up",
                    rank,
                    tried=pages(sums.late // 8),
                    allocated=sums.allocated,
                    others=self.others_later,
                )
        init_s = sum(
            phase.to_s - phase.from_s
            for phase in self.phases
            if phase.name in ("profile", "kv sizing", "graph capture", "warm-up")
        )
        self._say(
            "EngineCore",
            "INFO",
            "core.py:402",
            f"init engine (profile, create kv cache, warmup model) took {init_s:.2f} s",
        )
        self._say(
            "APIServer", "INFO", "entry.py:140", "Starting vLLM server on http://0.0.0.0:8000"
        )
        return None
