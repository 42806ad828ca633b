"""Drill 4.6: a matrix-vector kernel at half of the data sheet's bandwidth. Closed forms: Little's law, sectors, waves, launch.

Time = launch + bytes moved ÷ bandwidth, wave by wave; bandwidth = min(what a copy reaches, in flight ÷ latency), and the
few blocks of a last wave have little in flight. Caches are cold, as ncu leaves them. Scenario constants: a copy reaches 89 to 93 % of the sheet, loaded memory answers after 570 to 640 ns, a launch
takes 1.5 to 2 µs, the calm kernel has four loads of 16 bytes in each of 4 × 128 threads. Nothing was timed on a GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lessons.drills.evidence import Observed
from lessons.exact.draws import generator
from lessons.exact.roofline import (
    H100_SXM,
    Accelerator,
    bandwidth_in_flight,
    in_flight_bytes,
    last_wave,
    needed_in_flight,
    wave_share,
)

if TYPE_CHECKING:
    from labs.marking.table import Value

H100_PCIE = Accelerator("NVIDIA H100 PCIe", 2.0e12, 756e12, 1513e12, 114)
"""Source: 114 SMs and 2 TB/s, docs.nvidia.com/launchpad/ai/h100-mig/latest/h100-mig-gpu.html; FLOP from the data sheet, dense."""
BLOCKS_PER_SM, THREADS, LOAD_BYTES = 4, 128, 16
HIDDEN = 8_192
GRID = 8 * 132 * BLOCKS_PER_SM
"""Blocks of eight whole waves."""
LEAST_ROWS = 128 * 400
SECTORS_OF_A_LOAD = 16
"""32 lanes of 16 bytes are 512 bytes, in sectors of 32."""


@dataclass(frozen=True)
class Case:
    """One world: a kernel, its matrix and its card."""

    card: Accelerator
    rows: int
    loads: int
    """Independent loads of a thread."""
    sector_factor: float
    """Sectors fetched over sectors used."""
    blocks: int
    copy_share: float
    """Of the sheet's bandwidth that a plain copy reaches."""
    latency_s: float
    launch_s: float
    occupancy: float
    sheet: Accelerator = H100_SXM
    """What the dashboard divides by."""

    @property
    def n_bytes(self) -> int:
        """Of the matrix, BF16."""
        return 2 * self.rows * HIDDEN

    @property
    def in_flight(self) -> int:
        """Bytes on one SM."""
        return in_flight_bytes(
            blocks_per_sm=BLOCKS_PER_SM,
            threads=THREADS,
            loads_per_thread=self.loads,
            bytes_per_load=LOAD_BYTES,
        )

    @property
    def waves(self) -> float:
        """Waves of the grid."""
        return self.blocks / (self.card.sms * BLOCKS_PER_SM)

    @property
    def copy_bytes_per_s(self) -> float:
        return self.copy_share * self.card.hbm_bytes_per_s

    @property
    def moved_s(self) -> float:
        """Return the time in which memory works: whole waves, then a last one with what its few blocks have in flight."""
        places = self.card.sms * BLOCKS_PER_SM
        asked = bandwidth_in_flight(self.card, self.in_flight, latency_s=self.latency_s)
        wave_bytes = places * self.n_bytes * self.sector_factor / self.blocks
        wave_s = wave_bytes / min(asked, self.copy_bytes_per_s)
        return (self.blocks // places + self.last_wave) * wave_s

    @property
    def last_wave(self) -> float:
        """Time of the last, partly filled wave over that of a full one; 0 if there is none."""
        return last_wave(
            self.blocks,
            self.card,
            self.in_flight,
            blocks_per_sm=BLOCKS_PER_SM,
            latency_s=self.latency_s,
            bytes_per_s=self.copy_bytes_per_s,
        )

    @property
    def took_s(self) -> float:
        return self.launch_s + self.moved_s

    @property
    def over_roofline(self) -> float:
        """Time over the matrix's bytes at the sheet's bandwidth."""
        return self.took_s * self.sheet.hbm_bytes_per_s / self.n_bytes

    @property
    def dram_share(self) -> float:
        """Bytes that memory moved, of what this card's sheet has."""
        moved = self.n_bytes * self.sector_factor / self.took_s
        return moved / self.card.hbm_bytes_per_s


def _case(world: str, seed: int) -> Case:
    rng = generator("drill-4.6", seed)
    copy_share = float(rng.uniform(0.89, 0.93))
    latency = float(rng.uniform(570, 640)) * 1e-9
    launch = float(rng.uniform(1.5, 2.0)) * 1e-6
    rows = 128 * int(rng.integers(400, 449))
    sectors = float(rng.uniform(1.5, 1.75))
    tail = 528 + int(rng.integers(4, 25))
    few_rows = 64 * int(rng.integers(8, 11))
    calm = Case(H100_SXM, rows, 4, 1.0, GRID, copy_share, latency, launch, rng.uniform(96, 100))
    match world:
        case "one_load":
            return replace(calm, loads=1)
        case "strided":
            return replace(calm, sector_factor=sectors)
        case "tail":
            return replace(calm, blocks=tail)
        case "small":
            return replace(calm, rows=few_rows, blocks=1056)
        case "card":
            # As many whole waves as on the other card.
            whole = 8 * H100_PCIE.sms * BLOCKS_PER_SM
            return replace(calm, card=H100_PCIE, blocks=whole)
    raise KeyError(world)


def _changed(case: Case, fix: str) -> Case:
    match fix:
        case "unroll":
            return replace(case, loads=4)
        case "layout":
            return replace(case, sector_factor=1.0)
        case "grid":
            return replace(case, blocks=8 * case.card.sms * BLOCKS_PER_SM)
        case "merge":
            # Small products of one input become one; a large one has nobody to join.
            small = case.rows < LEAST_ROWS
            return replace(case, rows=LEAST_ROWS, blocks=GRID) if small else case
        case "leave":
            return replace(case, sheet=case.card)
    raise KeyError(fix)


def observe(world: str, seed: int, fix: str | None = None) -> Observed:
    """Return what a world reads. A fix changes the kernel, its matrix, or what it is divided by. Takes under 1 ms."""
    case = _case(world, seed)
    if fix is not None:
        case = _changed(case, fix)
    sectors = SECTORS_OF_A_LOAD * case.sector_factor
    used = wave_share(case.blocks, case.card, blocks_per_sm=BLOCKS_PER_SM, last=case.last_wave)
    values: dict[str, Value] = {
        "over_roofline": case.over_roofline,
        "in_flight_bytes": float(case.in_flight),
        "dram_share": case.dram_share,
        "sectors": sectors,
        "places_used": used,
        "duration_us": case.took_s * 1e6,
        "copy_tb_s": case.copy_bytes_per_s / 1e12,
        "occupancy": case.occupancy,
    }
    prints = {
        "in-flight": (
            f"{BLOCKS_PER_SM} blocks x {THREADS} threads x {case.loads} x {LOAD_BYTES} B = {case.in_flight:,} B on one SM",
            f"{H100_SXM.hbm_bytes_per_s / 1e12:.2f} TB/s x 600 ns / {H100_SXM.sms} SMs = {needed_in_flight(H100_SXM):,.0f} B",
        ),
        "memory": (
            f"dram__throughput.avg.pct_of_peak_sustained_elapsed  {100 * case.dram_share:.1f} %",
            f"sectors per request, global loads                  {sectors:.1f} (16 B a lane: {SECTORS_OF_A_LOAD})",
        ),
        "grid": (
            f"launch__grid_size {case.blocks}; launch__waves_per_multiprocessor {case.waves:.2f}",
            f"places in use over the kernel's time, from that and the bytes in flight: {100 * used:.0f} %",
        ),
        "duration": (f"gpu__time_duration.sum {case.took_s * 1e6:.1f} us",),
        "copy": (
            f"device-to-device copy, read plus write: {case.copy_bytes_per_s / 1e12:.2f} TB/s",
        ),
        "occupancy": (f"achieved occupancy: {case.occupancy:.0f} % of what the launch allows",),
    }
    return Observed(values, prints)
