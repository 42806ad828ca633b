"""How long an all-reduce takes, by its bytes, its ranks and the way it goes; and what a step's collectives take.

The figures are in ``all_reduce.toml``, measured by others over four ranks. A curve is read as latency (its
least value) and a part that grows with the bytes. For another number of ranks that part scales as a
ring's bytes do, 2(n - 1)/n; for another number of NVLinks, inversely. Beyond the last row the last slope holds.
"""

from __future__ import annotations

import tomllib
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from labs.simulator.cost_model import Knots

MEASURED_RANKS = 4
MEASURED_LINKS = 18
"""NVLinks of each rank in the measured NVLink columns: H100 SXM, all in use."""
CUSTOM_MAX_BYTES = 8 * 2**20
"""Largest message of vLLM's custom all-reduce: its default buffer of 8 MiB. Source: vllm, CudaCommunicator."""
HOST_FACTOR = 2.0
"""Through host memory over through PCIe: the middle of 1.5 to 2.5, a judgement and no measurement; between two
GPUs NCCL issue 1264 has 371 GB/s with P2P and 37 without."""
BYTES_PER_NUMBER = 2
ALL_REDUCES_PER_LAYER = 2
"""After the attention's output projection and after the MLP (Shoeybi et al. 2019, Megatron-LM)."""
PS_PER_US = 1_000_000

type Curve = Literal["custom_graph", "nccl", "pairwise"]


@dataclass(slots=True, frozen=True)
class Route:
    """The way that a group's collectives go."""

    ranks: int
    links: int
    """NVLinks of a rank towards its group; 0: some pair has only PCIe between it."""
    custom: bool = True
    """vLLM's custom all-reduce is on. It needs NVLink between all, or no more than two ranks."""
    nccl_p2p: bool = True
    """NCCL may use P2P. The custom kernel does not ask NCCL's environment."""

    @property
    def uses_custom(self) -> bool:
        """True if vLLM's custom all-reduce takes the messages up to ``CUSTOM_MAX_BYTES``."""
        return self.custom and (self.links > 0 or self.ranks == 2)  # noqa: PLR2004  (a pair)


@cache
def _curves() -> dict[str, tuple[tuple[float, float], ...]]:
    text = (Path(__file__).parent / "all_reduce.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    return {
        name: tuple(zip(map(float, data["bytes"]), data[name]["us"], strict=True))
        for name in ("custom_graph", "nccl", "pairwise")
    }


def measured_bytes() -> tuple[int, ...]:
    """Return the sizes of message that were measured, bytes."""
    return tuple(int(n_bytes) for n_bytes, _ in _curves()["nccl"])


def _on_curve(curve: Curve, n_bytes: float, bandwidth_factor: float) -> float:
    """Return microseconds: the curve's latency, and the rest times ``bandwidth_factor``."""
    points = _curves()[curve]
    latency_us = min(us for _, us in points)
    if n_bytes <= points[0][0]:
        us = points[0][1]
    else:
        high = min(bisect_left(points, (n_bytes, 0.0)), len(points) - 1)
        (x0, y0), (x1, y1) = points[high - 1], points[high]
        us = y0 + (n_bytes - x0) * (y1 - y0) / (x1 - x0)
    return latency_us + (us - latency_us) * bandwidth_factor


def ring_share(ranks: int) -> float:
    """Return what a rank sends in a ring all-reduce, over the bytes of the message: 2(n - 1)/n."""
    return 2 * (ranks - 1) / ranks


def nccl_all_reduce_us(n_bytes: float, route: Route) -> float:
    """Return what NCCL's all-reduce takes, microseconds; it is what ``all_reduce_perf`` measures."""
    ring = ring_share(route.ranks) / ring_share(MEASURED_RANKS)
    if not route.nccl_p2p:
        return HOST_FACTOR * _on_curve("pairwise", n_bytes, ring)
    if not route.links:
        return _on_curve("pairwise", n_bytes, ring)
    return _on_curve("nccl", n_bytes, ring * MEASURED_LINKS / route.links)


def all_reduce_us(n_bytes: float, route: Route) -> float:
    """Return what one all-reduce of the engine takes, microseconds; 0 for a single rank.

    vLLM's custom kernel takes what it may; over NVLink the faster of it and NCCL is what the healthy column of
    the published table has. Between two GPUs on PCIe the custom kernel moves the same bytes
    over the same lanes as NCCL: NCCL's figure stands for both.
    """
    if route.ranks == 1:
        return 0.0
    custom = route.uses_custom and (route.nccl_p2p or n_bytes <= CUSTOM_MAX_BYTES)
    if not custom:
        return nccl_all_reduce_us(n_bytes, route)
    ring = ring_share(route.ranks) / ring_share(MEASURED_RANKS)
    if not route.links:
        return _on_curve("pairwise", n_bytes, ring)
    factor = ring * MEASURED_LINKS / route.links
    took_us = _on_curve("custom_graph", n_bytes, factor)
    return min(took_us, _on_curve("nccl", n_bytes, factor)) if route.nccl_p2p else took_us


@cache
def step_collectives(*, num_hidden_layers: int, hidden_size: int, route: Route) -> Knots:
    """Return (tokens, picoseconds) of all collectives of one step.

    A message is tokens x hidden size x 2 bytes; there are two all-reduces in each layer. Knots stand at the
    measured sizes, and on both sides of the largest message of the custom kernel.
    """
    if route.ranks == 1:
        return ()
    token_bytes = hidden_size * BYTES_PER_NUMBER
    limit = CUSTOM_MAX_BYTES // token_bytes
    tokens = {max(1, n_bytes // token_bytes) for n_bytes in measured_bytes()}
    if route.uses_custom and not route.nccl_p2p:
        tokens |= {limit, limit + 1}
    times = ALL_REDUCES_PER_LAYER * num_hidden_layers * PS_PER_US
    return tuple((n, round(times * all_reduce_us(n * token_bytes, route))) for n in sorted(tokens))


def sent_bytes(tokens: float, *, num_hidden_layers: int, hidden_size: int, ranks: int) -> float:
    """Return the bytes that one rank sends (and receives) for ``tokens`` tokens, by a ring."""
    message = tokens * hidden_size * BYTES_PER_NUMBER
    return ALL_REDUCES_PER_LAYER * num_hidden_layers * message * ring_share(ranks)
