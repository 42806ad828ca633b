"""How long a step takes, and where the numbers come from."""

import tomllib
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from operator import itemgetter
from pathlib import Path

PROFILES_DIR = Path(__file__).parent / "profiles"
PS_PER_MS = 1_000_000_000


def kv_bytes_per_token(*, layers: int, kv_heads: int, head_dim: int, dtype_bytes: int) -> int:
    """Return the bytes that one token's keys and values take, over all layers.

    Keys and values are each ``[layers, kv_heads, head_dim]`` for one token: hence the 2. With
    grouped-query attention ``kv_heads`` is the number of key-value heads; of one tensor-parallel
    rank it is that number divided by the ranks.

    Raises ValueError if a dimension is below 1.

    Source: Kwon et al. 2023 (PagedAttention), section 3: 800 KiB a token for OPT-13B.
    """
    if min(layers, kv_heads, head_dim, dtype_bytes) < 1:
        message = (
            f"every dimension must be at least 1: {layers=} {kv_heads=} {head_dim=} {dtype_bytes=}"
        )
        raise ValueError(message)
    return 2 * layers * kv_heads * head_dim * dtype_bytes


class ProfileError(ValueError):
    """A profile that cannot be used; the message names the file and the key."""


type Knots = tuple[tuple[int, int], ...]
"""(tokens in the step, picoseconds), tokens rising; empty: nothing."""


def interpolate(knots: Knots, tokens: int) -> int:
    """Return the picoseconds at ``tokens``.

    Linear between two knots, in whole numbers; the first knot's value below it, the last slope above the last.
    """
    if not knots:
        return 0
    if tokens <= knots[0][0] or len(knots) == 1:
        return knots[0][1]
    high = min(bisect_left(knots, tokens, key=itemgetter(0)), len(knots) - 1)
    (x0, y0), (x1, y1) = knots[high - 1], knots[high]
    return y0 + (tokens - x0) * (y1 - y0) // (x1 - x0)


def _scaled(knots: Knots, factor: float) -> Knots:
    return tuple((tokens, round(took_ps * factor)) for tokens, took_ps in knots)


@dataclass(slots=True, frozen=True)
class CostModel:
    """Cost of a step in whole picoseconds: linear, so that sums over steps have a closed form.

    step = base + kv tokens x per_kv + prefill tokens x per_prefill + sequences x per_sequence
    + scheduled tokens x per_token + what collectives add, piecewise linear in the scheduled tokens.
    """

    base_ps: int
    """Every step: reading the weights, launching kernels, the scheduler."""
    weight_read_ps: int
    """The part of ``base_ps`` that reads the weights."""
    per_kv_token_ps: int
    per_prefill_token_ps: int
    per_sequence_ps: int = 0
    per_token_ps: int = 0
    """For any scheduled token."""
    collectives: Knots = ()
    """Time of all collectives of a step by the tokens scheduled in it."""
    collectives_included: Knots = ()
    """The part of ``collectives`` that the terms above hold already: a profile is fitted to steps with them."""

    def collectives_ps(self, tokens: int) -> int:
        """Return how much of a step with ``tokens`` tokens is collectives, picoseconds."""
        return interpolate(self.collectives, tokens)

    def added_ps(self, tokens: int) -> int:
        """Return what the collectives of a step add to the other terms, picoseconds: 0 on healthy links."""
        if self.collectives == self.collectives_included:
            return 0
        return interpolate(self.collectives, tokens) - interpolate(
            self.collectives_included, tokens
        )

    def step_ps(self, *, kv_tokens: int, prefill_tokens: int, sequences: int, tokens: int) -> int:
        """Return the time of one step in picoseconds."""
        return self.added_ps(tokens) + (
            self.base_ps
            + kv_tokens * self.per_kv_token_ps
            + prefill_tokens * self.per_prefill_token_ps
            + sequences * self.per_sequence_ps
            + tokens * self.per_token_ps
        )

    def scaled(self, factor: float) -> "CostModel":
        """Return this model with every cost multiplied by ``factor``; itself if that is 1."""
        if factor <= 0:
            raise ValueError(f"{factor=}: a step must take time")
        if factor == 1.0:
            return self
        return CostModel(
            base_ps=round(self.base_ps * factor),
            weight_read_ps=round(self.weight_read_ps * factor),
            per_kv_token_ps=round(self.per_kv_token_ps * factor),
            per_prefill_token_ps=round(self.per_prefill_token_ps * factor),
            per_sequence_ps=round(self.per_sequence_ps * factor),
            per_token_ps=round(self.per_token_ps * factor),
            collectives=_scaled(self.collectives, factor),
            collectives_included=_scaled(self.collectives_included, factor),
        )

    def plus(self, *, base_ms: float = 0.0, per_token_ms: float = 0.0) -> "CostModel":
        """Return this model with more time for every step and for every scheduled token, milliseconds."""
        return replace(
            self,
            base_ps=self.base_ps + round(base_ms * PS_PER_MS),
            per_token_ps=self.per_token_ps + round(per_token_ms * PS_PER_MS),
        )


@dataclass(slots=True, frozen=True)
class ModelProfile:
    """A model on its accelerators, per rank. Every number has its source in the TOML file."""

    name: str
    block_size: int
    usable_blocks: int
    """KV blocks of ``block_size`` tokens that a request can hold; the null block is not among them."""
    kv_bytes_per_token: int
    """Per rank, at the model's own KV type (2 bytes a number)."""
    weights_bytes: int
    """Per rank."""
    max_num_batched_tokens: int
    max_model_len: int
    tensor_parallel_size: int
    """Ranks: GPUs of one replica."""
    num_hidden_layers: int
    hidden_size: int
    base_ms: float
    weight_read_ms: float
    kv_ns_per_token: float
    prefill_ms_per_token: float
    sequence_ms: float
    sources: Mapping[str, str]
    """Key -> where its number comes from."""

    def num_gpu_blocks(self, *, fp8_kv: bool = False) -> int:
        """Return the size of the pool, null block included; FP8 KV holds twice the tokens."""
        return self.usable_blocks * (2 if fp8_kv else 1) + 1

    def cost_model(self, *, fp8_kv: bool = False) -> CostModel:
        """Return the cost of a step; FP8 KV halves the bytes read per token."""
        return CostModel(
            base_ps=round(self.base_ms * PS_PER_MS),
            weight_read_ps=round(self.weight_read_ms * PS_PER_MS),
            per_kv_token_ps=round(self.kv_ns_per_token * 1000 / (2 if fp8_kv else 1)),
            per_prefill_token_ps=round(self.prefill_ms_per_token * PS_PER_MS),
            per_sequence_ps=round(self.sequence_ms * PS_PER_MS),
        )


_INTEGERS = (
    "block_size",
    "usable_blocks",
    "kv_bytes_per_token",
    "weights_bytes",
    "max_num_batched_tokens",
    "max_model_len",
    "tensor_parallel_size",
    "num_hidden_layers",
    "hidden_size",
)
_NUMBERS = ("base_ms", "weight_read_ms", "kv_ns_per_token", "prefill_ms_per_token", "sequence_ms")


def load_profile(path: Path) -> ModelProfile:
    """Read a profile: ``name`` and, for each other key, a table of ``value`` and ``source``.

    Raises ProfileError, whose message names the file and the key, if the file cannot be read
    or parsed, a key is missing or unknown, or a value has no source, the wrong type or sign.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProfileError(f"{path}: cannot be read: {error}") from error
    name = data.pop("name", None)
    if not isinstance(name, str) or not name:
        raise ProfileError(f"{path}: name: must be a text")
    unknown = sorted(set(data) - set(_INTEGERS) - set(_NUMBERS))
    if unknown:
        raise ProfileError(f"{path}: {unknown[0]}: unknown key")
    values: dict[str, float] = {}
    sources: dict[str, str] = {}
    for key in (*_INTEGERS, *_NUMBERS):
        values[key], sources[key] = _number(path, key, data.get(key), whole=key in _INTEGERS)
    if values["weight_read_ms"] > values["base_ms"]:
        raise ProfileError(f"{path}: weight_read_ms: must not exceed base_ms")
    return ModelProfile(
        name=name,
        block_size=int(values["block_size"]),
        usable_blocks=int(values["usable_blocks"]),
        kv_bytes_per_token=int(values["kv_bytes_per_token"]),
        weights_bytes=int(values["weights_bytes"]),
        max_num_batched_tokens=int(values["max_num_batched_tokens"]),
        max_model_len=int(values["max_model_len"]),
        tensor_parallel_size=int(values["tensor_parallel_size"]),
        num_hidden_layers=int(values["num_hidden_layers"]),
        hidden_size=int(values["hidden_size"]),
        base_ms=values["base_ms"],
        weight_read_ms=values["weight_read_ms"],
        kv_ns_per_token=values["kv_ns_per_token"],
        prefill_ms_per_token=values["prefill_ms_per_token"],
        sequence_ms=values["sequence_ms"],
        sources=sources,
    )


def _number(path: Path, key: str, entry: object, *, whole: bool) -> tuple[float, str]:
    if not isinstance(entry, dict):
        raise ProfileError(f"{path}: {key}: must be a table of value and source")
    value, source = entry.get("value"), entry.get("source")
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        raise ProfileError(
            f"{path}: {key}.value: must be {'a whole number' if whole else 'a number'}"
        )
    if value < (1 if whole else 0):
        raise ProfileError(f"{path}: {key}.value: {value} is too small")
    if not isinstance(source, str) or not source.strip():
        raise ProfileError(f"{path}: {key}.source: must say where the number comes from")
    return value, source


@cache
def profile(name: str) -> ModelProfile:
    """Return the profile that ships under ``name``. Raises ProfileError if there is none."""
    return load_profile(PROFILES_DIR / f"{name}.toml")
