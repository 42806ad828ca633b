"""Boxes: the GPUs of a node, and what the driver says of them. One TOML file each, every number with its source."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

BOXES_DIR = Path(__file__).parent / "boxes"


class BoxError(ValueError):
    """A box that cannot be used; the message names the file and the key."""


@dataclass(slots=True, frozen=True)
class Slot:
    """Where one GPU sits."""

    bus_id: str
    numa_node: int
    cpu_affinity: str


@dataclass(slots=True, frozen=True)
class Box:
    """A node's GPUs. All GPUs are alike; their index is their place in ``gpus``."""

    name: str
    gpu_name: str
    memory_mib: int
    power_cap_w: int
    idle_power_w: int
    max_sm_clock_mhz: int
    memory_clock_mhz: int
    pcie_gen: int
    pcie_width: int
    nvlink_gb_s: float
    """One link, one direction."""
    memory_gb_s: int
    """Peak of HBM."""
    bf16_tflops: float
    """Peak, dense, at the highest clock."""
    temperature_base_c: float
    temperature_c_per_w: float
    """A GPU at P watts has base + P times this, degrees Celsius."""
    gpus: tuple[Slot, ...]
    nvlink_pairs: tuple[tuple[int, int], ...]
    """Pairs of GPUs that are joined, the lower index first."""
    links_per_pair: int

    @property
    def links_per_gpu(self) -> int:
        """NVLinks of a GPU that lead somewhere."""
        return sum(self.links_per_pair for pair in self.nvlink_pairs if 0 in pair)


_INTEGERS = (
    "memory_mib",
    "power_cap_w",
    "idle_power_w",
    "max_sm_clock_mhz",
    "memory_clock_mhz",
    "pcie_gen",
    "pcie_width",
    "memory_gb_s",
)
_NUMBERS = ("bf16_tflops", "nvlink_gb_s", "temperature_base_c", "temperature_c_per_w")


def load_box(path: Path) -> Box:
    """Read a box. Raises BoxError, whose message names the file and the key, for one that cannot be used."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BoxError(f"{path}: cannot be read: {error}") from error
    name = data.get("name")
    if not isinstance(name, str) or not name:
        raise BoxError(f"{path}: name: must be a text")
    gpus, nvlink = _table(path, data, "gpus"), _table(path, data, "nvlink")
    try:
        slots = tuple(
            Slot(*slot)
            for slot in zip(gpus["bus_id"], gpus["numa_node"], gpus["cpu_affinity"], strict=True)
        )
        pairs = tuple((min(pair), max(pair)) for pair in nvlink["pairs"])
        links = int(nvlink["links"])
    except (KeyError, TypeError, ValueError) as error:
        raise BoxError(f"{path}: gpus or nvlink: {error}") from error
    if any(not 0 <= gpu < len(slots) for pair in pairs for gpu in pair):
        raise BoxError(f"{path}: nvlink.pairs: names a GPU that is not there")
    integers = {key: int(_value(path, data, key, int)) for key in _INTEGERS}
    bf16_tflops, nvlink_gb_s, base_c, c_per_w = (
        float(_value(path, data, key, float)) for key in _NUMBERS
    )
    return Box(
        name=name,
        gpu_name=str(_value(path, data, "gpu_name", str)),
        gpus=slots,
        nvlink_pairs=pairs,
        links_per_pair=links,
        bf16_tflops=bf16_tflops,
        nvlink_gb_s=nvlink_gb_s,
        temperature_base_c=base_c,
        temperature_c_per_w=c_per_w,
        **integers,
    )


def _table(path: Path, data: dict[str, Any], key: str) -> dict[str, Any]:
    entry = data.get(key)
    if not isinstance(entry, dict):
        raise BoxError(f"{path}: {key}: must be a table")
    source = entry.get("source")
    if not isinstance(source, str) or not source.strip():
        raise BoxError(f"{path}: {key}.source: must say where it comes from")
    return entry


def _value(path: Path, data: dict[str, Any], key: str, kind: type) -> Any:
    value = _table(path, data, key).get("value")
    if isinstance(value, bool) or not isinstance(value, kind):
        raise BoxError(f"{path}: {key}.value: must be of type {kind.__name__}")
    return value


@cache
def box(name: str) -> Box:
    """Return the box that ships under ``name``. Raises BoxError if there is none."""
    return load_box(BOXES_DIR / f"{name}.toml")
